//! Z(q) and the top classes: one module for each method.
//!
//! Each method splits the rows into those that it scores (the near field) and those that it only summarises (the far
//! field). Each takes (model, query, parameters, head, generator, memory), as far as it needs them, and returns an
//! [`Estimate`]. [`Classifier`](crate::Classifier) is [`moments()`] with the top classes and an interval, and most
//! programs need nothing else.
//!
//! | method | near field | far field | cost in rows | instructions |
//! |---|---|---|---|---|
//! | [`exact`] | all rows | nothing | N | 1 065 143 |
//! | [`uniform`] | nothing | l samples | l | 119 490 |
//! | [`nmimps`] | a [`Head`] of k rows | nothing | retrieval | 85 508 |
//! | [`mimps`] | a head of k rows | l samples of the rest | retrieval + l | 95 078 |
//! | [`mince`] | a head of k rows, as data | l samples, as noise | retrieval + l | 136 184 |
//! | [`fmbe()`] | nothing | a table of P random features | about P | |
//! | [`moments()`] | the rows that a search scores | predictions of the unopened nodes | the budget | 72 438 |
//! | [`moments_with_samples`] | the rows that a search scores | l samples, drawn by the predictions | the budget | 241 307 |
//! | [`self_normalised`] | nothing | nothing | 0 | 0 |
//!
//! Instructions are the mean on a Cortex-M4F (QEMU, `./ci.sh device`) for N = 10 000 rows of 64 columns and, except for
//! `exact`, a work of 4 % of N, k = l = 40. A head is [`retrieve`]d from the tree. To measure an estimator apart from
//! the index, take an `OracleHead` instead.
//!
//! ```
//! # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
//! # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
//! use zhat::estimators::{HeadBuffer, mimps, moments, retrieve};
//! use zhat::{Budget, exact};
//!
//! let (budget, mut scratch) = (Budget::new(60), [0; 120]);
//! let truth = exact::<1>(&model, &query)?.log_z();
//! let by_moments = moments(&model, &query, &budget, &mut scratch)?.log_z();
//!
//! let mut buffer = HeadBuffer::<10>::new();
//! let head = retrieve(&model, &query, &budget, &mut scratch, &mut buffer)?;
//! let mut rng = rand_pcg::Pcg32::new(1, 1);
//! let by_samples = mimps(&model, &query, 40, &head, &mut rng, &mut scratch)?.log_z();
//! println!("{truth:.3}: {by_moments:.3} by moments, {by_samples:.3} by samples");
//! # Ok::<(), zhat::Error>(())
//! ```

pub(crate) mod draw;
mod exact;
mod fmbe;
pub(crate) mod head;
mod known;
mod mince;
pub(crate) mod moments;
#[cfg(feature = "std")]
mod oracle;
mod paper;
mod prediction;
mod reweighted;
mod sampling;
mod sets;

pub use draw::Drawn;
pub use exact::exact;
pub(crate) use exact::{exact_up_to, exact_z};
pub use fmbe::fmbe;
#[cfg(feature = "std")]
pub(crate) use fmbe::{Gaussians, Signs};
pub use head::{Head, HeadBuffer, retrieve};
pub use mince::mince;
#[doc(hidden)]
pub use mince::mince_by_newton;
pub(crate) use moments::z_of_zero_query;
pub use moments::{moments, moments_with_samples};
#[cfg(feature = "std")]
pub use oracle::{Oracle, OracleHead, RetrievalError};
pub use paper::{mimps, nmimps, self_normalised, uniform};
pub(crate) use prediction::Basis;
pub use prediction::{Familiarity, Prediction, Ranked};
pub use sets::LabelSet;
#[cfg(feature = "capi")]
pub(crate) use {known::known_of, sets::set_of};

pub use crate::search::Candidate;

use crate::math::{Log2, LogSum};
use crate::search::Work;

/// An estimate of Z, its cost and, if the method can tell, its standard error.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// use rand_pcg::Pcg32;
/// use zhat::estimators::uniform;
///
/// let estimate = uniform(&model, &query, 3, &mut Pcg32::new(1, 1), &mut [0])?;
/// let error = estimate.standard_error.expect("of three samples");
/// println!("ln Z is {:.2}, give or take {:.0} % of Z", estimate.log_z(), 100.0 * error);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Estimate {
    /// Ẑ, as a sum in the log domain. Empty if the method had no terms.
    pub z: LogSum,
    /// The work, the retrieval of the head included.
    pub work: Work,
    /// The estimated standard deviation of Ẑ, as a share of Ẑ: zero if the estimate is exact, `None` if the method is
    /// not a sample mean or had fewer than two samples. It reflects only what was sampled: it cannot show a heavy row
    /// that no sample hit.
    pub standard_error: Option<f32>,
    /// The number of a solver's steps; zero for methods without one.
    pub iterations: u32,
}

impl Estimate {
    pub(super) fn exact(z: LogSum, work: Work) -> Self {
        Self { z, work, standard_error: Some(0.0), iterations: 0 }
    }

    /// Wraps a sum without a standard error.
    pub(super) fn plain(z: LogSum, work: Work) -> Self {
        Self { z, work, standard_error: None, iterations: 0 }
    }

    /// Returns ln Ẑ; −∞ if the estimate is empty.
    pub fn log_z(&self) -> f32 {
        self.z.ln()
    }

    /// Returns the probability of a class with this score.
    ///
    /// ```
    /// use zhat::{Log2, estimators::self_normalised};
    ///
    /// assert!((self_normalised().probability(Log2::from_nats(0.25_f32.ln())) - 0.25).abs() < 1e-4);
    /// ```
    pub fn probability(&self, score: Log2) -> f32 {
        self.z.share(score)
    }
}
