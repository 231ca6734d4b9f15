//! What an estimator answers.

use heapless::Vec;

use super::moments::NearAndFar;
use crate::Error;
use crate::math::{Log2, LogSum, float};
#[cfg(feature = "std")]
use crate::model::NUMBERS;
use crate::model::{Model, numbers, unit};
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
    trusted: Trusted,
    z: LogSum,
    frontier_words: u32,
    overflowed: bool,
}

impl<const K: usize> Prediction<K> {
    pub(crate) fn exact(top: &[Candidate], z: LogSum, work: Work, model: &Model<'_>, query: &Query) -> Self {
        let top = ranked(top, &z);
        let trusted = Trusted::of(model, query, &z, Some(all_but_best(&top)), 0.0);
        Self { top, work, far_share: 0.0, trusted, z, frontier_words: 0, overflowed: false }
    }

    /// `measured` are model and query, unless the search had less of a budget than what was measured.
    ///
    /// Out of line: what it needs of the stack is not there while the search runs.
    #[inline(never)]
    pub(crate) fn estimated(
        top: &[Candidate],
        z: LogSum,
        fields: &NearAndFar,
        measured: Option<(&Model<'_>, &Query)>,
    ) -> Self {
        let far_share = z.share_of_sum(&fields.far);
        Self {
            top: ranked(top, &z),
            work: fields.work,
            far_share,
            trusted: measured
                .map_or(Trusted::default(), |(model, query)| Trusted::of(model, query, &z, None, far_share)),
            z,
            frontier_words: fields.frontier_words as u32,
            overflowed: fields.overflowed,
        }
    }

    /// ln Z.
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

    /// What tells whether a query of this norm and likeness is familiar.
    #[cfg(feature = "std")]
    pub(crate) fn numbers(&self, norm: f32, likeness: f32, is_exact: bool) -> [f32; NUMBERS] {
        let share = if is_exact { all_but_best(&self.top) } else { self.far_share };
        numbers(norm, self.z.rough_log2(), share, likeness)
    }

    /// −ln Z: large where the input is like nothing the layer was trained on.
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

    /// Lower and upper end of the interval around the probability of the class at a place of the list.
    ///
    /// It holds the probability that the float layer, as it was given to the builder, assigns to that class, for 95 %
    /// of the queries that are like those of the calibration: rounding and estimate are both allowed for. `None` if the
    /// model was built with too few queries to tell, if the query is not familiar, or if the list has no such place.
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
        let Trusted { is_familiar: Some(true), scales: [first, others], .. } = self.trusted else {
            return None;
        };
        let p = self.top.get(place)?.p;
        let scale = if place == 0 { first } else { others };
        let factor = float::exp(scale * unit(self.far_share, p));
        Some((p / factor, (p * factor).min(1.0)))
    }

    /// Whether the query is like those that the model was measured with; `None` if it was built with too few to tell.
    /// The answer to an unfamiliar query may be far off, and has no interval.
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
        self.trusted.is_familiar
    }

    /// Whether the energy of the query is above the stored threshold, as that of an input that is none of the classes
    /// would be; `None` if the model has no threshold.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
    /// let answer = zhat::Classifier::new(model)?.classify::<1>(&query, &mut [0; 591])?;
    /// assert_eq!(answer.is_rejected(), Some(false));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn is_rejected(&self) -> Option<bool> {
        self.trusted.is_familiar.map(|_| self.energy() > self.trusted.reject_energy)
    }

    /// Words for nodes that the search used.
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

    /// Whether the memory had no room for all nodes that the budget would have reached. The answer is right, but not as
    /// sharp as with [`Model::scratch_words`].
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

    /// The probability of any class: one more dot product.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// let answer = zhat::exact::<1>(&model, &query)?;
    /// let all: f32 = (0..4).map(|class| answer.probability(&model, &query, class)).sum::<Result<f32, _>>()?;
    /// assert!((all - 1.0).abs() < 1e-5);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchClass`]; [`Error::NoQuery`] or [`Error::OtherModel`] for the query.
    pub fn probability(&self, model: &Model<'_>, query: &Query, class: usize) -> Result<f32, Error> {
        query.check(model)?;
        let row = model.row_of_class(class).ok_or(Error::NoSuchClass)?;
        Ok(self.z.share(model.rows().score(row, query)))
    }
}

/// What the model's calibration says about an answer: nothing but `None` where it can't tell.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Trusted {
    is_familiar: Option<bool>,
    reject_energy: f32,
    /// What the unit of an error is multiplied with for the margin of the first class, and of the others.
    scales: [f32; 2],
}

impl Trusted {
    /// `rest` is all but the best class where all rows were scored.
    #[inline(never)]
    fn of(model: &Model<'_>, query: &Query, z: &LogSum, rest: Option<f32>, far_share: f32) -> Self {
        let Some((judge, likeness)) = model.judge(query, rest.is_some()) else {
            return Self::default();
        };
        let norm = query.norm();
        let numbers = numbers(norm, z.rough_log2(), rest.unwrap_or(far_share), likeness);
        Self {
            is_familiar: Some(judge.is_familiar(norm, &numbers)),
            reject_energy: judge.reject_energy(),
            scales: judge.scales(norm),
        }
    }
}

/// The share of Z that the best class leaves.
fn all_but_best(top: &[Ranked]) -> f32 {
    top.first().map_or(1.0, |best| 1.0 - best.p)
}

fn ranked<const K: usize>(top: &[Candidate], z: &LogSum) -> Vec<Ranked, K> {
    let (mut ranked, whole) = (Vec::new(), z.whole());
    for &Candidate { class, score } in top {
        // The list that they are from has the same capacity. (Collecting would panic where it had not.)
        let _ = ranked.push(Ranked { class, score, p: whole.share(score) });
    }
    ranked
}
