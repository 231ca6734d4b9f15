//! What the values behind a layer mean: scores, probabilities, or something else.
//!
//! A value is described by its [`Form`] and by the [`Affine`] map that leads from the layer's own scores s to the scores
//! u that it stands for, u_i = factor_i · s_i + bias_i. Operators that keep the answer a softmax of such scores change one
//! or the other, exactly; any other operator is an error, with the reason as a sentence without its subject. Both kinds of
//! network files are read into this.

use std::rc::Rc;

/// A share of the answer that an ε in a file may move: far below what a probability is read with.
const NEGLIGIBLE: f64 = 1e-4;
/// A score that is so far below the others stands for a class that is masked.
const MASKED: f64 = -1e4;

/// One number for all classes, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PerClass {
    All(f64),
    Each(Vec<f64>),
}

impl PerClass {
    /// Takes the values of a constant; equal ones are one.
    pub fn new(values: Vec<f64>) -> Self {
        match values.first() {
            Some(&first) if values.iter().all(|&value| value == first) => Self::All(first),
            _ => Self::Each(values),
        }
    }

    pub fn at(&self, class: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values.get(class).copied().unwrap_or(f64::NAN),
        }
    }

    pub fn is(&self, value: f64) -> bool {
        matches!(self, Self::All(all) if *all == value)
    }

    fn all(&self) -> Option<f64> {
        match self {
            Self::All(value) => Some(*value),
            Self::Each(_) => None,
        }
    }

    fn least(&self) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    fn any(&self, holds: impl Fn(f64) -> bool) -> bool {
        match self {
            Self::All(value) => holds(*value),
            Self::Each(values) => values.iter().any(|&value| holds(value)),
        }
    }

    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::All(value) => Self::All(f(*value)),
            Self::Each(values) => Self::Each(values.iter().map(|&value| f(value)).collect()),
        }
    }

    pub fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::All(a), Self::All(b)) => Self::All(f(*a, *b)),
            (Self::Each(a), Self::All(b)) => Self::Each(a.iter().map(|&a| f(a, *b)).collect()),
            (Self::All(a), Self::Each(b)) => Self::Each(b.iter().map(|&b| f(*a, b)).collect()),
            (Self::Each(a), Self::Each(b)) => Self::Each(a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()),
        }
    }

    /// Returns the values of some classes.
    fn picked(&self, classes: &[usize]) -> Self {
        match self {
            Self::All(value) => Self::All(*value),
            Self::Each(_) => Self::Each(classes.iter().map(|&class| self.at(class)).collect()),
        }
    }
}

/// Scores made of the layer's own ones, class by class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Affine {
    /// The layer's rows that are the classes, if not all in their order.
    pub rows: Option<Vec<usize>>,
    pub factor: PerClass,
    pub bias: PerClass,
}

impl Affine {
    fn identity() -> Self {
        Self { rows: None, factor: PerClass::All(1.0), bias: PerClass::All(0.0) }
    }

    fn scaled(&self, by: &PerClass) -> Self {
        // A masked class stays masked: −∞ · 0 is not a score.
        let times = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a * b };
        Self { rows: self.rows.clone(), factor: self.factor.zip(by, times), bias: self.bias.zip(by, times) }
    }

    fn plus(&self, more: &PerClass) -> Self {
        Self { bias: self.bias.zip(more, |a, b| a + b), ..self.clone() }
    }
}

/// What the numbers of a value are, with u the scores of its affine map and p their softmax.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// u_i, plus something that is the same for all classes of a query.
    Scores(Shift),
    /// ln p_i.
    LogP,
    /// p_i.
    P,
    /// p_i times something that is the same for all classes of a query; the sum over the classes is at least this.
    Weights { least: f64 },
    /// One number a query, of which nothing else is used.
    PerQuery,
    /// max u.
    Max,
    /// Σ of the weights that another value holds: the number of that value.
    Sum { of: usize, least: f64 },
    /// ln Σ exp of the scores that another value holds.
    LogSum { of: usize },
    /// 1 / Σ.
    OneBySum { of: usize },
    /// Which classes are the best: nothing that follows matters.
    Choice,
    /// The scores or the p of the best classes.
    Best,
}

/// What was added to scores, the same for all classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    None,
    /// Minus their maximum.
    Max,
    /// Anything.
    Any,
    /// They were logarithms of probabilities before: the network's author may read them as such.
    WasLogP,
}

/// What a value behind the layer means.
#[derive(Clone, Debug)]
pub(super) struct Meaning {
    pub affine: Rc<Affine>,
    pub form: Form,
    /// The number of this value; those that hold the same numbers share it.
    pub id: usize,
    /// For scores after an exponential: the number of the value that was raised.
    pub raised: Option<usize>,
}

type Known<T> = Result<T, String>;

/// Reductions over the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Sum,
    Max,
    LogSumExp,
    Other,
}

impl Meaning {
    /// Returns the layer's own scores.
    pub fn of_layer(id: usize) -> Self {
        Self { affine: Rc::new(Affine::identity()), form: Form::Scores(Shift::None), id, raised: None }
    }

    fn new(affine: Affine, form: Form, id: usize) -> Self {
        Self { affine: Rc::new(affine), form, id, raised: None }
    }

    /// Another form of the same scores.
    fn as_form(&self, form: Form, id: usize) -> Self {
        Self { affine: self.affine.clone(), form, id, raised: None }
    }

    /// Returns whether it is of the classes of a query, one number for each.
    pub fn is_by_class(&self) -> bool {
        matches!(self.form, Form::Scores(_) | Form::LogP | Form::P | Form::Weights { .. })
    }

    /// Returns whether it is one number for all classes of a query.
    fn is_per_query(&self) -> bool {
        !self.is_by_class() && !matches!(self.form, Form::Choice | Form::Best)
    }

    /// Returns what a value at the end of a network says about p.
    pub fn answer(&self) -> Known<Answer> {
        match self.form {
            Form::P => Ok(Answer::Probabilities),
            Form::LogP => Ok(Answer::LogProbabilities),
            Form::Scores(Shift::WasLogP) => Err(
                "hands out logarithms of probabilities that were scaled or shifted: neither they nor their exponentials are the \
                 logarithms of probabilities that sum to one"
                    .into(),
            ),
            Form::Scores(_) => Ok(Answer::Scores),
            Form::Weights { .. } => {
                Err("changes probabilities, and nothing divides them by their sum after it: they do not sum to one".into())
            }
            Form::Choice | Form::Best => Ok(Answer::Choice),
            _ => Err("hands out one number for all classes, not a probability for each".into()),
        }
    }

    /// Applies a softmax over the classes.
    pub fn softmax(&self, id: usize) -> Known<Self> {
        match self.form {
            Form::Scores(_) | Form::LogP => Ok(self.as_form(Form::P, id)),
            Form::P | Form::Weights { .. } => Err("is a softmax of probabilities, which are no scores".into()),
            _ => Err("is a softmax of something other than scores of the classes".into()),
        }
    }

    pub fn log_softmax(&self, id: usize) -> Known<Self> {
        self.softmax(id).map(|p| p.as_form(Form::LogP, id))
    }

    /// Adds a constant.
    pub fn plus(&self, more: &PerClass, id: usize) -> Known<Self> {
        let masked = |shift| Self::new(masked(self.affine.plus(more)), Form::Scores(shift), id);
        match self.form {
            _ if more.is(0.0) => Ok(self.clone()),
            Form::Scores(shift) => Ok(masked(match (shift, more) {
                (Shift::None, _) => Shift::None,
                // Less the maximum of the scores before.
                (Shift::Max, _) => Shift::Any,
                (shift, _) => shift,
            })),
            Form::LogP => Ok(masked(Shift::WasLogP)),
            Form::P if more.all().is_some_and(|more| (0.0..=1e-6).contains(&more)) => Ok(self.clone()),
            Form::P | Form::Weights { .. } => {
                Err("adds to probabilities, which are then not a softmax of scores".into())
            }
            Form::Sum { least, .. } if more.all().is_some_and(|more| (0.0..=NEGLIGIBLE * least).contains(&more)) => {
                Ok(self.clone())
            }
            Form::Sum { .. } => Err("adds to a sum of probabilities that may be as small".into()),
            Form::Choice | Form::Best => Err("computes with the best classes alone".into()),
            _ => Ok(self.as_form(Form::PerQuery, id)),
        }
    }

    /// Multiplies by a constant.
    pub fn times(&self, by: &PerClass, id: usize) -> Known<Self> {
        match self.form {
            _ if by.is(1.0) => Ok(self.clone()),
            Form::Scores(shift) => {
                if shift != Shift::None && by.all().is_none() {
                    return Err("multiplies scores class by class after something else was added to all of them".into());
                }
                let shift = if shift == Shift::Max { Shift::Any } else { shift };
                Ok(Self::new(self.affine.scaled(by), Form::Scores(shift), id))
            }
            Form::LogP if by.all().is_some() => Ok(Self::new(self.affine.scaled(by), Form::Scores(Shift::WasLogP), id)),
            Form::LogP => Err("multiplies logarithms of probabilities class by class".into()),
            Form::P | Form::Weights { .. } => {
                let least = if let Form::Weights { least } = self.form { least } else { 1.0 };
                if by.any(|value| value.is_nan() || value < 0.0) {
                    return Err("multiplies probabilities by something negative".into());
                }
                if by.is(0.0) {
                    return Err("multiplies probabilities by zero".into());
                }
                let affine = self.affine.plus(&by.map(f64::ln));
                Ok(Self::new(affine, Form::Weights { least: least * by.least() }, id))
            }
            Form::Choice | Form::Best => Err("computes with the best classes alone".into()),
            _ => Ok(self.as_form(Form::PerQuery, id)),
        }
    }

    /// Raises to a constant power.
    pub fn power(&self, exponent: f64, id: usize) -> Known<Self> {
        match self.form {
            _ if exponent == 1.0 => Ok(self.clone()),
            Form::P | Form::Weights { .. } if exponent > 0.0 && exponent.is_finite() => {
                let affine = self.affine.scaled(&PerClass::All(exponent));
                Ok(Self::new(affine, Form::Weights { least: 0.0 }, id))
            }
            Form::Sum { of, .. } if exponent == -1.0 => Ok(self.as_form(Form::OneBySum { of }, id)),
            _ => Err("raises to a power, which is no softmax of scores".into()),
        }
    }

    pub fn exp(&self, id: usize) -> Known<Self> {
        match self.form {
            Form::LogP => Ok(self.as_form(Form::P, id)),
            Form::Scores(shift) => {
                let least = if shift == Shift::Max { 1.0 } else { 0.0 };
                Ok(Self { raised: Some(self.id), ..self.as_form(Form::Weights { least }, id) })
            }
            _ => Err("is an exponential of something other than scores".into()),
        }
    }

    pub fn ln(&self, id: usize) -> Known<Self> {
        match self.form {
            Form::P => Ok(self.as_form(Form::LogP, id)),
            Form::Weights { .. } => Ok(self.as_form(Form::Scores(Shift::WasLogP), id)),
            Form::Sum { of, .. } => Ok(self.as_form(Form::LogSum { of: self.raised.unwrap_or(of) }, id)),
            _ => Err("is a logarithm of something other than probabilities".into()),
        }
    }

    /// Keeps values between two limits.
    pub fn clipped(&self, low: f64, high: f64, classes: usize) -> Known<Self> {
        let keeps = match self.form {
            Form::P => low * classes as f64 <= 10.0 * NEGLIGIBLE && high >= 1.0 - NEGLIGIBLE,
            Form::Sum { least, .. } => low <= least.max(0.0) && high == f64::INFINITY,
            Form::Scores(_) | Form::LogP => low == f64::NEG_INFINITY && high == f64::INFINITY,
            Form::Weights { .. } => low <= 0.0 && high == f64::INFINITY,
            _ => false,
        };
        let what = match self.form {
            Form::Sum { .. } => "limits a sum of probabilities that may be as small",
            _ => "limits values, which is no softmax of scores where they are cut off",
        };
        if keeps { Ok(self.clone()) } else { Err(what.into()) }
    }

    /// Puts a constant in the place of some classes.
    pub fn replaced(&self, replaced: &[bool], by: &PerClass, id: usize) -> Known<Self> {
        let zero = |class: usize| by.at(class) == 0.0;
        let low = |class: usize| by.at(class) <= MASKED;
        let each = |f: &dyn Fn(usize) -> f64| PerClass::Each((0..replaced.len()).map(f).collect());
        let every = |holds: &dyn Fn(usize) -> bool| (0..replaced.len()).all(|class| !replaced[class] || holds(class));
        let out = || each(&|class| if replaced[class] { f64::NEG_INFINITY } else { 0.0 });
        match self.form {
            Form::Scores(_) | Form::LogP if every(&low) => self.plus(&out(), id),
            Form::Scores(Shift::None) => {
                let kept = each(&|class| f64::from(!replaced[class]));
                let put = each(&|class| if replaced[class] { by.at(class) } else { 0.0 });
                Ok(Self::new(self.affine.scaled(&kept).plus(&put), Form::Scores(Shift::None), id))
            }
            Form::P | Form::Weights { .. } if every(&zero) => {
                Ok(Self::new(self.affine.plus(&out()), Form::Weights { least: 0.0 }, id))
            }
            _ => Err("puts constants in the place of some values".into()),
        }
    }

    /// Takes some classes only, in this order.
    pub fn picked(&self, classes: &[usize], id: usize) -> Known<Self> {
        let Affine { rows, factor, bias } = &*self.affine;
        let rows = classes.iter().map(|&class| rows.as_ref().map_or(class, |rows| rows[class])).collect();
        let affine = Affine { rows: Some(rows), factor: factor.picked(classes), bias: bias.picked(classes) };
        match self.form {
            Form::Scores(shift) => {
                Ok(Self::new(affine, Form::Scores(if shift == Shift::Max { Shift::Any } else { shift }), id))
            }
            Form::P | Form::Weights { .. } => Ok(Self::new(affine, Form::Weights { least: 0.0 }, id)),
            Form::LogP => Ok(Self::new(affine, Form::Scores(Shift::WasLogP), id)),
            _ => Err("takes a part of something other than classes".into()),
        }
    }

    /// Reduces over the classes.
    pub fn reduced(&self, reduction: Reduction, id: usize) -> Known<Self> {
        let form = match (reduction, self.form) {
            (Reduction::Max, Form::Scores(_)) => Form::Max,
            (Reduction::Max, Form::P | Form::LogP) => Form::Best,
            (Reduction::Sum, Form::P) => Form::Sum { of: self.id, least: 1.0 },
            (Reduction::Sum, Form::Weights { least }) => Form::Sum { of: self.id, least },
            (Reduction::LogSumExp, Form::Scores(_) | Form::LogP) => Form::LogSum { of: self.id },
            (_, Form::Scores(_) | Form::LogP | Form::P | Form::Weights { .. }) => Form::PerQuery,
            _ => return Err("reduces something other than the classes".into()),
        };
        Ok(Self { raised: self.raised, ..self.as_form(form, id) })
    }

    /// This value plus or minus another one of the layer: its classes and a number that is the same for all of them.
    pub fn plus_value(&self, other: &Self, sign: f64, id: usize) -> Known<Self> {
        let different = || Err("joins two values of the layer in a way that is no softmax of scores".into());
        match (self.form, other.form) {
            (Form::Scores(_) | Form::LogP, Form::LogSum { of }) if sign < 0.0 && of == self.id => {
                Ok(self.as_form(Form::LogP, id))
            }
            (Form::Scores(Shift::None), Form::Max) if sign < 0.0 && other.affine == self.affine => {
                Ok(self.as_form(Form::Scores(Shift::Max), id))
            }
            (Form::Scores(shift), _) if other.is_per_query() => {
                let shift = if shift == Shift::WasLogP { shift } else { Shift::Any };
                Ok(self.as_form(Form::Scores(shift), id))
            }
            (Form::LogP, _) if other.is_per_query() => Ok(self.as_form(Form::Scores(Shift::WasLogP), id)),
            _ if self.is_per_query() && other.is_per_query() => Ok(self.as_form(Form::PerQuery, id)),
            _ => different(),
        }
    }

    /// This value divided by another one of the layer.
    pub fn by_value(&self, other: &Self, id: usize) -> Known<Self> {
        match (self.form, other.form) {
            (Form::P | Form::Weights { .. }, Form::Sum { of, .. }) if of == self.id => Ok(self.as_form(Form::P, id)),
            (Form::P | Form::Weights { .. }, Form::Sum { .. }) => Ok(self.as_form(Form::Weights { least: 0.0 }, id)),
            _ => Err("divides by something other than the sum of the same values".into()),
        }
    }

    /// This value times another one of the layer.
    pub fn times_value(&self, other: &Self, id: usize) -> Known<Self> {
        match (self.form, other.form) {
            (Form::P | Form::Weights { .. }, Form::OneBySum { of }) if of == self.id => Ok(self.as_form(Form::P, id)),
            _ => Err("multiplies values of the layer with each other".into()),
        }
    }

    /// Divides by the sum over the classes.
    pub fn normalised(&self, id: usize) -> Known<Self> {
        match self.form {
            Form::P | Form::Weights { .. } => Ok(self.as_form(Form::P, id)),
            _ => Err("normalises something other than probabilities".into()),
        }
    }

    /// Chooses the classes that are best by this value, or their values.
    pub fn best(&self, form: Form, id: usize) -> Known<Self> {
        match self.is_by_class() {
            true => Ok(self.as_form(form, id)),
            false => Err("chooses by something other than the classes".into()),
        }
    }
}

/// Biases that no score makes up for are −∞: the class is masked.
fn masked(affine: Affine) -> Affine {
    /// Far beyond scores that anything can be said about.
    const HOPELESS: f64 = -1e6;
    let PerClass::Each(biases) = &affine.bias else { return affine };
    let most = biases.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bias = affine.bias.map(|bias| if bias - most <= HOPELESS { f64::NEG_INFINITY } else { bias });
    Affine { bias, ..affine }
}

/// What a network's output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Scores,
    Probabilities,
    LogProbabilities,
    /// The best classes only.
    Choice,
}

/// Picks among a network's outputs the first that says most about p; the error names two of which each is a softmax, but not
/// of the same scores.
pub(super) fn best(outputs: &[(Answer, &Affine)]) -> Result<Option<usize>, (usize, usize)> {
    let rank = |answer: Answer| match answer {
        Answer::Probabilities => 0,
        Answer::LogProbabilities => 1,
        Answer::Scores | Answer::Choice => 2,
    };
    let Some(best) = (0..outputs.len()).min_by_key(|&at| rank(outputs[at].0)) else { return Ok(None) };
    let differs = |(answer, affine): &(Answer, &Affine)| rank(*answer) < 2 && *affine != outputs[best].1;
    match outputs.iter().position(differs) {
        Some(other) => Err((best, other)),
        None => Ok(Some(best)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> Meaning {
        Meaning::of_layer(0)
    }

    fn vector() -> PerClass {
        PerClass::new(vec![1.0, 2.0, 0.0, 0.5])
    }

    #[test]
    fn probabilities_times_a_vector_are_biases_once_they_are_normalised() {
        let p = scores().softmax(1).unwrap();
        let weighted = p.times(&vector(), 2).unwrap();
        assert!(weighted.answer().unwrap_err().contains("do not sum to one"));
        let sum = weighted.reduced(Reduction::Sum, 3).unwrap();
        let done = weighted.by_value(&sum, 4).unwrap();
        assert_eq!(done.answer(), Ok(Answer::Probabilities));
        assert_eq!(done.affine.bias, vector().map(f64::ln));
        // Divided by the sum of something else they are not.
        assert!(weighted.by_value(&p.reduced(Reduction::Sum, 5).unwrap(), 6).unwrap().answer().is_err());
    }

    #[test]
    fn a_softmax_by_hand_is_one() {
        let less = scores().plus_value(&scores().reduced(Reduction::Max, 1).unwrap(), -1.0, 2).unwrap();
        let raised = less.exp(3).unwrap();
        assert!(raised.answer().is_err());
        let sum = raised.reduced(Reduction::Sum, 4).unwrap();
        // The sum is at least one: a small ε does not matter, a large one does.
        assert!(sum.plus(&PerClass::All(1e-9), 5).is_ok() && sum.plus(&PerClass::All(0.1), 5).is_err());
        assert_eq!(raised.by_value(&sum, 6).unwrap().answer(), Ok(Answer::Probabilities));
        let log = less.plus_value(&sum.ln(7).unwrap(), -1.0, 8).unwrap();
        assert_eq!(log.answer(), Ok(Answer::LogProbabilities));
    }

    #[test]
    fn what_is_no_softmax_of_scores_is_refused() {
        let p = scores().softmax(1).unwrap();
        assert!(p.softmax(2).is_err());
        assert!(p.plus(&vector(), 2).is_err());
        assert!(p.times(&PerClass::All(100.0), 2).unwrap().answer().is_err());
        assert!(p.times(&PerClass::new(vec![1.0, -1.0, 1.0, 1.0]), 2).is_err());
        assert!(p.clipped(0.1, 0.9, 4).is_err() && p.clipped(0.0, 1.0, 4).is_ok());
        assert!(scores().log_softmax(1).unwrap().times(&PerClass::All(0.5), 2).unwrap().answer().is_err());
        assert!(scores().clipped(0.0, f64::INFINITY, 4).is_err());
    }

    #[test]
    fn scores_shifted_for_a_query_are_not_scaled_class_by_class() {
        let less = scores().plus_value(&scores().reduced(Reduction::Max, 1).unwrap(), -1.0, 2).unwrap();
        assert!(less.times(&vector(), 3).is_err());
        assert!(less.times(&PerClass::All(0.5), 3).is_ok());
        assert!(scores().times(&vector(), 3).is_ok());
    }

    #[test]
    fn a_mask_is_a_bias_of_minus_infinity() {
        let by = PerClass::All(-1e9);
        let masked = scores().replaced(&[false, true, false, false], &by, 1).unwrap();
        assert_eq!(masked.affine.bias.at(1), f64::NEG_INFINITY);
        assert_eq!(masked.affine.factor, PerClass::All(1.0));
        let added = scores().plus(&PerClass::new(vec![0.0, -1e9, 0.0, 0.0]), 1).unwrap();
        assert_eq!(added.affine.bias.at(1), f64::NEG_INFINITY);
    }
}
