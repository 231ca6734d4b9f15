//! Z(q) and the top classes: one module for each method.
//!
//! Each is a split into rows that are scored (the near field) and rows that are only summarised (the far field), and
//! each takes (model, query, parameters, head, generator, memory), as far as it needs them, to an [`Estimate`].
//! [`Classifier`](crate::Classifier) is [`moments()`] with the top classes and an interval: what most programs want.
//!
//! | method | near field | far field | cost in rows | instructions |
//! |---|---|---|---|---|
//! | [`exact`] | all rows | nothing | N | 1 065 143 |
//! | [`uniform`] | nothing | l samples | l | 119 490 |
//! | [`nmimps`] | a [`Head`] of k rows | nothing | retrieval | 85 508 |
//! | [`mimps`] | a head of k rows | l samples of the rest | retrieval + l | 95 078 |
//! | [`mince`] | a head of k rows, as data | l samples, as noise | retrieval + l | 136 184 |
//! | [`fmbe()`] | nothing | a table of P random features | about P | |
//! | [`moments()`] | what a search scores | predictions of the unopened nodes | the budget | 72 438 |
//! | [`moments_with_samples`] | what a search scores | l samples, drawn by the predictions | the budget | 241 307 |
//! | [`self_normalised`] | nothing | nothing | 0 | 0 |
//!
//! Instructions are the mean on a Cortex-M4F (QEMU, `./ci.sh device`) for N = 10 000 rows of 64 columns and, but for `exact`, a work
//! of 4 % of N, k = l = 40. A head is [`retrieve`]d from the tree, or, to see what an estimator is worth apart from the index, an
//! `OracleHead`.
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

mod best_heap;
mod deviation;
pub(crate) mod draw;
mod estimate;
mod exact;
mod fmbe;
pub(crate) mod head;
mod mimps;
mod mince;
pub(crate) mod moments;
mod nmimps;
#[cfg(feature = "std")]
mod oracle;
mod prediction;
mod random;
pub(crate) mod samples;
mod self_normalised;
mod sort;
mod tail;
mod uniform;
mod zero_query;

pub use draw::Drawn;
pub use estimate::Estimate;
pub use exact::exact;
pub(crate) use exact::{exact_up_to, exact_z};
#[cfg(feature = "std")]
pub(crate) use fmbe::features as fmbe_features;
pub use fmbe::fmbe;
pub use head::{Head, HeadBuffer, retrieve};
pub use mimps::mimps;
pub use mince::mince;
#[doc(hidden)]
pub use mince::mince_by_newton;
pub use moments::moments;
pub use nmimps::nmimps;
#[cfg(feature = "std")]
pub use oracle::{Oracle, OracleHead, RetrievalError};
pub use prediction::{Prediction, Ranked};
pub use samples::moments_with_samples;
pub use self_normalised::self_normalised;
pub use uniform::uniform;
pub(crate) use zero_query::z_of_zero_query;

pub use crate::search::Candidate;
