//! Z(q) and the top classes: one module for each method.
//!
//! Each is a split into rows that are scored (the near field) and rows that are only summarised (the far field), and
//! each takes (model, query, parameters, head, generator, memory), as far as it needs them, to an [`Estimate`].
//!
//! | method | near field | far field | cost in rows |
//! |---|---|---|---|
//! | [`exact`] | all rows | nothing | N |
//! | [`uniform`] | nothing | l samples | l |
//! | [`nmimps`] | a [`Head`] of k rows | nothing | retrieval |
//! | [`mimps`] | a head of k rows | l samples of the rest | retrieval + l |
//! | [`mince`] | a head of k rows, as data | l samples, as noise | retrieval + l |
//! | [`fmbe()`] | nothing | a table of P random features | about P |
//! | [`moments()`] | what a search scores | predictions of the unopened nodes | the budget |
//! | [`moments_with_samples`] | what a search scores | l samples, drawn by the predictions | the budget |
//! | [`self_normalised`] | nothing | nothing | 0 |
//!
//! A head is [`retrieve`]d from the tree, or, to see what an estimator is worth apart from the index, an
//! `OracleHead`.

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
