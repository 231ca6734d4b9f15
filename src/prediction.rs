//! What an estimator answers.

use heapless::Vec;

use crate::Error;
use crate::estimators::top::Candidate;
use crate::format::Model;
use crate::math::{Log2, LogSum};
use crate::rows::Query;

/// A class with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
pub struct Prediction<const K: usize> {
    /// The best classes, best first; equal scores in the order of the classes.
    pub top: Vec<Ranked, K>,
    /// Z.
    z: LogSum,
}

impl<const K: usize> Prediction<K> {
    pub(crate) fn new(top: &[Candidate], z: LogSum) -> Self {
        let ranked = top.iter().map(|&Candidate { class, score }| Ranked {
            class,
            score,
            p: z.share(score),
        });
        Self {
            top: ranked.take(K).collect(),
            z,
        }
    }

    /// ln Z.
    pub fn log_z(&self) -> f32 {
        self.z.ln()
    }

    /// The probability of any class: one more dot product.
    ///
    /// # Errors
    /// [`Error::NoSuchClass`].
    pub fn probability(
        &self,
        model: &Model<'_>,
        query: &Query,
        class: usize,
    ) -> Result<f32, Error> {
        let row = model.row_of_class(class).ok_or(Error::NoSuchClass)?;
        Ok(self.z.share(model.rows().score(row, query)))
    }
}
