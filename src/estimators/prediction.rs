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
    pub fn log_z(&self) -> f32 {
        self.z.ln()
    }

    /// What tells whether a query of this norm and likeness is familiar.
    #[cfg(feature = "std")]
    pub(crate) fn numbers(&self, norm: f32, likeness: f32, is_exact: bool) -> [f32; NUMBERS] {
        let share = if is_exact { all_but_best(&self.top) } else { self.far_share };
        numbers(norm, self.z.rough_log2(), share, likeness)
    }

    /// −ln Z: large where the input is like nothing the layer was trained on.
    pub fn energy(&self) -> f32 {
        -self.log_z()
    }

    /// Lower and upper end of the interval around the probability of the class at a place of the list.
    ///
    /// It holds the probability that the float layer, as it was given to the builder, assigns to that class, for 95 % of the
    /// queries that are like those of the calibration: rounding and estimate are both allowed for. `None` if the model was
    /// built with too few queries to tell, if the query is not familiar, or if the list has no such place.
    pub fn interval(&self, place: usize) -> Option<(f32, f32)> {
        let Trusted { is_familiar: Some(true), scales: [first, others], .. } = self.trusted else {
            return None;
        };
        let p = self.top.get(place)?.p;
        let scale = if place == 0 { first } else { others };
        let factor = float::exp(scale * unit(self.far_share, p));
        Some((p / factor, (p * factor).min(1.0)))
    }

    /// Whether the query is like those that the model was measured with; `None` if it was built with too few to tell. The
    /// answer to an unfamiliar query may be far off, and has no interval.
    pub fn is_familiar(&self) -> Option<bool> {
        self.trusted.is_familiar
    }

    /// Whether the energy of the query is above the stored threshold, as that of an input that is none of the classes would
    /// be; `None` if the model has no threshold.
    pub fn is_rejected(&self) -> Option<bool> {
        self.trusted.is_familiar.map(|_| self.energy() > self.trusted.reject_energy)
    }

    /// Words for nodes that the search used.
    pub fn frontier_words(&self) -> u32 {
        self.frontier_words
    }

    /// Whether the memory had no room for all nodes that the budget would have reached. The answer is right, but not as
    /// sharp as with [`Model::scratch_words`].
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// The probability of any class: one more dot product.
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
