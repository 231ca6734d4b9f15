//! What an estimator answers.

use heapless::Vec;

use super::moments::NearAndFar;
use crate::Error;
use crate::math::{Log2, LogSum, float};
#[cfg(feature = "std")]
use crate::model::NUMBERS;
use crate::model::{Model, error_unit, numbers};
use crate::rows::Query;
use crate::search::{Candidate, Work};

/// A class with its probability.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// let answer = zhat::exact::<2>(&model, &query)?;
/// let zhat::Ranked { class, p, .. } = answer.top[0];
/// assert!(class == 2 && p > 0.5);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Ranked {
    /// The class.
    pub class: u32,
    /// Its score, the logarithm of its unnormalised probability.
    pub score: Log2,
    /// Its probability.
    pub p: f32,
}

/// The top classes and the partition function.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
/// let answer = zhat::Classifier::new(model)?.classify::<5>(&query, &mut [0; 591])?;
/// for (place, best) in answer.top.iter().enumerate() {
///     match answer.interval(place) {
///         Some((low, high)) => println!("class {}: p {:.3}, {low:.3} to {high:.3}", best.class, best.p),
///         None => println!("class {}: p {:.3}, the query is not like the calibration", best.class, best.p),
///     }
/// }
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Prediction<const K: usize> {
    /// The best classes, best first; equal scores in the order of the classes.
    pub top: Vec<Ranked, K>,
    /// What it cost.
    pub work: Work,
    /// The share of the probability that was not scored but predicted.
    pub far_share: f32,
    calibrated: Calibrated,
    z: LogSum,
    /// [`Query::fingerprint`] of what was asked.
    query: u32,
    frontier_words: u32,
    overflowed: bool,
}

/// Whether a query is like those that the model was calibrated with, or why that is not known.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
/// use zhat::{Classifier, Familiarity};
///
/// let classifier = Classifier::new(model)?;
/// let hurried = classifier.with_budget(classifier.budget().with_cap(200))?;
/// let answer = hurried.classify::<1>(&query, &mut [0; 591])?;
/// assert_eq!(answer.familiarity(), Familiarity::OtherBudget);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Familiarity {
    /// The query is like the calibration queries.
    Familiar,
    /// The query is unlike them: the answer may be far off.
    Unfamiliar,
    /// The model has no calibration: it was built without queries, or with too few.
    NotCalibrated,
    /// The search followed links of more or fewer rows, had a smaller cap or a larger ε than the stored budget, or the
    /// file lost its links: such answers were not measured.
    OtherBudget,
    /// The scratch memory was too small for the whole search: such answers were not measured.
    ShortMemory,
    /// The search was [stopped](crate::Classifier::classify_until) before its end: such answers were not measured.
    Stopped,
}

/// How an answer was found, compared with those that the calibration was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// By all rows.
    Exact,
    /// By the stored budget.
    Stored,
    /// By a budget that is the stored one or more in every respect.
    MoreWork,
    /// Otherwise, for this reason.
    NotMeasured(Familiarity),
}

impl<const K: usize> Prediction<K> {
    pub(crate) fn exact(top: &[Candidate], z: LogSum, work: Work, model: &Model<'_>, query: &Query) -> Self {
        let top = ranked(top, &z);
        let calibrated = Calibrated::new(model, query, &z, Basis::Exact, all_but_best(&top));
        let query = query.fingerprint();
        Self { top, work, far_share: 0.0, calibrated, z, query, frontier_words: 0, overflowed: false }
    }

    /// Out of line: what it needs of the stack is not there while the search runs.
    #[inline(never)]
    pub(crate) fn estimated(
        top: &[Candidate],
        z: LogSum,
        fields: &NearAndFar,
        model: &Model<'_>,
        query: &Query,
        basis: Basis,
    ) -> Self {
        let far_share = z.share_of_sum(&fields.far);
        Self {
            top: ranked(top, &z),
            work: fields.work,
            far_share,
            // The far share was measured with the stored budget.
            calibrated: Calibrated::new(model, query, &z, basis, (basis == Basis::Stored).then_some(far_share)),
            z,
            query: query.fingerprint(),
            frontier_words: fields.frontier_words as u32,
            overflowed: fields.overflowed,
        }
    }

    /// Returns ln Z.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// let answer = zhat::exact::<1>(&model, &query)?;
    /// let best = answer.top[0];
    /// assert!((best.score.to_nats() - answer.log_z() - best.p.ln()).abs() < 1e-4);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn log_z(&self) -> f32 {
        self.z.ln()
    }

    /// Z in full, for C.
    #[cfg(feature = "capi")]
    pub(crate) fn z(&self) -> LogSum {
        self.z
    }

    /// Returns the numbers that tell whether a query of this norm and likeness is familiar.
    #[cfg(feature = "std")]
    pub(crate) fn numbers(&self, norm: f32, likeness: f32, is_exact: bool) -> [f32; NUMBERS] {
        let share = if is_exact { all_but_best(&self.top) } else { Some(self.far_share) };
        numbers(norm, self.z.rough_log2(), share, likeness)
    }

    /// Returns the energy, −ln Z: large where the input is like nothing the layer was trained on.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// let answer = zhat::exact::<1>(&model, &query)?;
    /// assert_eq!(answer.energy(), -answer.log_z());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn energy(&self) -> f32 {
        -self.log_z()
    }

    /// Returns lower and upper end of the interval around the probability of the class at a place of the list.
    ///
    /// It holds the probability that the float layer, as it was given to the builder, assigns to that class, for 95 %
    /// of the queries that are like those of the calibration: rounding and estimate are both allowed for.
    ///
    /// `None` if
    /// - the list has no such place,
    /// - the query is not familiar, or that is not known: see [`Prediction::familiarity`],
    /// - the budget is not exactly the stored one, even if it allows more work: the intervals were measured with that
    ///   budget. Answers of [`exact`](crate::exact) have intervals of their own.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # use zhat::language::Context;
    /// # let context = Context::from_bytes(zhat::doc_file("models/next_word.context"), 64)?;
    /// # let words = Context::words::<9>(model.names().expect("words"), "of the united")?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &context.query::<64, 128>(&model, &words)?)?;
    /// let answer = zhat::Classifier::new(model)?.classify::<1>(&query, &mut [0; 591])?;
    /// let (low, high) = answer.interval(0).expect("a familiar query");
    /// assert!(low < answer.top[0].p && answer.top[0].p < high);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn interval(&self, place: usize) -> Option<(f32, f32)> {
        let Calibrated { familiarity: Familiarity::Familiar, has_intervals: true, margins: [first, others], .. } =
            self.calibrated
        else {
            return None;
        };
        let p = self.top.get(place)?.p;
        let margin = if place == 0 { first } else { others };
        let factor = float::exp(margin * error_unit(self.far_share, p));
        Some((p / factor, (p * factor).min(1.0)))
    }

    /// Returns whether the query is like those that the model was calibrated with. The answer to an unfamiliar query may
    /// be far off, and has no interval.
    ///
    /// `None` if that is not known; [`Prediction::familiarity`] says why:
    /// - the model was built without queries, or with too few,
    /// - the budget has a smaller cap, a larger ε or other links than the stored one, or the file lost its links,
    /// - the scratch memory was too small for the search ([`Prediction::overflowed`]).
    ///
    /// With a larger cap or a smaller ε than the stored ones the far share says nothing, since it was measured with
    /// those: the query is judged by its norm, ln Z and the linear function alone.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # use zhat::language::Context;
    /// # let context = Context::from_bytes(zhat::doc_file("models/next_word.context"), 64)?;
    /// # let words = Context::words::<9>(model.names().expect("words"), "of the united")?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &context.query::<64, 128>(&model, &words)?)?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// let answer = classifier.classify::<1>(&query, &mut [0; 591])?;
    /// assert_eq!(answer.is_familiar(), Some(true));
    ///
    /// let zeros = zhat::QueryBuffer::<64>::new(&model, &[0.0; 64])?;
    /// assert_eq!(classifier.classify::<1>(&zeros, &mut [0; 591])?.is_familiar(), Some(false));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn is_familiar(&self) -> Option<bool> {
        self.calibrated.is_familiar()
    }

    /// Returns whether the query is familiar, or why that is not known.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
    /// use zhat::{Classifier, Familiarity};
    ///
    /// let classifier = Classifier::new(model)?;
    /// let answer = classifier.classify::<1>(&query, &mut [0; 430])?;
    /// assert_eq!(answer.familiarity(), Familiarity::ShortMemory); // `Scratch::<591>` is enough
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn familiarity(&self) -> Familiarity {
        self.calibrated.familiarity
    }

    /// Returns whether the energy of the query is above the stored threshold, as that of an input that is none of the
    /// classes would be; `None` where [`Prediction::is_familiar`] is.
    ///
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
    /// let answer = zhat::Classifier::new(model)?.classify::<1>(&query, &mut [0; 591])?;
    /// assert_eq!(answer.is_rejected(), Some(false));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn is_rejected(&self) -> Option<bool> {
        self.calibrated.is_familiar().map(|_| self.energy() > self.calibrated.reject_energy)
    }

    /// Returns the words for nodes that the search used.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// let answer = zhat::Classifier::new(model)?.classify::<1>(&query, &mut [0; 74])?;
    /// assert!(answer.frontier_words() as usize <= model.scratch_words());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn frontier_words(&self) -> u32 {
        self.frontier_words
    }

    /// Returns whether the memory had no room for all nodes that the budget would have reached. The answer is within the
    /// budget, but its error was not measured: it is larger than with [`Model::scratch_words`], and there is no interval.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// assert!(!classifier.classify::<1>(&query, &mut [0; 591])?.overflowed());
    /// assert!(classifier.classify::<1>(&query, &mut [0; 430])?.overflowed());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Computes the probability of any class, for the query that was classified: one more dot product.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// use zhat::{Error, QueryBuffer};
    ///
    /// let answer = zhat::exact::<1>(&model, &query)?;
    /// let all: f32 = (0..4).map(|class| answer.probability(&model, &query, class)).sum::<Result<f32, _>>()?;
    /// assert!((all - 1.0).abs() < 1e-5);
    ///
    /// let other = QueryBuffer::<4>::new(&model, &[0.5, -1.0, 1.0])?;
    /// assert_eq!(answer.probability(&model, &other, 0), Err(Error::OtherQuery));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchClass`]; [`Error::NoQuery`] or [`Error::OtherModel`] for the query; [`Error::OtherQuery`] if the
    /// answer is to another query or of another model, as far as 32 bits of a hash can tell.
    pub fn probability(&self, model: &Model<'_>, query: &Query, class: usize) -> Result<f32, Error> {
        query.check(model)?;
        if query.fingerprint() != self.query {
            return Err(Error::OtherQuery);
        }
        let row = model.row_of_class(class).ok_or(Error::NoSuchClass)?;
        Ok(self.z.share(model.rows().score(row, query)))
    }
}

/// What the model's calibration says about an answer.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Calibrated {
    familiarity: Familiarity,
    has_intervals: bool,
    reject_energy: f32,
    /// The margin of the first class and of the others, to be multiplied with [`error_unit`].
    margins: [f32; 2],
}

impl Calibrated {
    /// Judges an answer by the share of Z that is least known: the far share, or all but the best class where all rows
    /// were scored.
    #[inline(never)]
    fn new(model: &Model<'_>, query: &Query, z: &LogSum, basis: Basis, share: Option<f32>) -> Self {
        let mut judged = Self {
            familiarity: Familiarity::NotCalibrated,
            has_intervals: false,
            reject_energy: 0.0,
            margins: [0.0; 2],
        };
        let Some((calibration, likeness)) = model.calibration(query, basis == Basis::Exact) else {
            return judged;
        };
        judged.familiarity = match basis {
            Basis::NotMeasured(reason) => reason,
            Basis::Exact | Basis::Stored | Basis::MoreWork => {
                let norm = query.norm();
                judged.has_intervals = basis != Basis::MoreWork;
                judged.reject_energy = calibration.reject_energy;
                judged.margins = calibration.margins(norm);
                let numbers = numbers(norm, z.rough_log2(), share, likeness);
                if calibration.is_familiar(norm, numbers) { Familiarity::Familiar } else { Familiarity::Unfamiliar }
            }
        };
        judged
    }

    fn is_familiar(&self) -> Option<bool> {
        match self.familiarity {
            Familiarity::Familiar => Some(true),
            Familiarity::Unfamiliar => Some(false),
            _ => None,
        }
    }
}

/// Returns the share of Z that the best class leaves; `None` if no class was asked for.
fn all_but_best(top: &[Ranked]) -> Option<f32> {
    top.first().map(|best| 1.0 - best.p)
}

fn ranked<const K: usize>(top: &[Candidate], z: &LogSum) -> Vec<Ranked, K> {
    let (mut ranked, whole) = (Vec::new(), z.whole());
    for &Candidate { class, score } in top {
        // The list that they are from has the same capacity. (Collecting would panic where it had not.)
        let _ = ranked.push(Ranked { class, score, p: whole.share(score) });
    }
    ranked
}
