//! What an estimator answers.

use heapless::Vec;

use super::moments::NearAndFar;
use crate::Error;
use crate::math::{Log2, LogSum, float};
use crate::model::{Model, Settings};
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
    /// The interval's half width in ln Z, for 95 % of the queries; zero where the answer is exact.
    pub margin: f32,
    z: LogSum,
    frontier_words: u32,
    overflowed: bool,
}

impl<const K: usize> Prediction<K> {
    pub(crate) fn exact(top: &[Candidate], z: LogSum, work: Work) -> Self {
        Self { top: ranked(top, &z), work, far_share: 0.0, margin: 0.0, z, frontier_words: 0, overflowed: false }
    }

    pub(crate) fn estimated(top: &[Candidate], z: LogSum, fields: &NearAndFar, settings: &Settings) -> Self {
        let far_share = z.share_of_sum(&fields.far);
        Self {
            top: ranked(top, &z),
            work: fields.work,
            far_share,
            margin: settings.margin(far_share),
            z,
            frontier_words: fields.frontier_words as u32,
            overflowed: fields.overflowed,
        }
    }

    /// ln Z.
    pub fn log_z(&self) -> f32 {
        self.z.ln()
    }

    /// −ln Z: large where the input is like nothing the layer was trained on.
    pub fn energy(&self) -> f32 {
        -self.log_z()
    }

    /// Lower and upper end of the stored 95 % interval around a probability of this prediction.
    pub fn interval(&self, p: f32) -> (f32, f32) {
        let factor = float::exp(self.margin);
        (p / factor, (p * factor).min(1.0))
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

fn ranked<const K: usize>(top: &[Candidate], z: &LogSum) -> Vec<Ranked, K> {
    let mut ranked = Vec::new();
    for &Candidate { class, score } in top {
        // The list that they are from has the same capacity. (Collecting would panic where it had not.)
        let _ = ranked.push(Ranked { class, score, p: z.share(score) });
    }
    ranked
}
