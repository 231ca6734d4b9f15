//! Calibrated probabilities for large-vocabulary classifiers, without scoring every class.
//!
//! A layer of N rows and a query go in; the top classes with their probabilities come out. The modules follow the
//! data: [`format`](mod@format) opens a model file, [`rows`] quantises the query and scores rows with the
//! [`kernels`], [`math`] adds exponentials, [`estimators`] make the answer. What runs on a host only is in `host`.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(target_endian = "big")]
compile_error!("zhat reads its little-endian model file in place: big-endian targets are not supported");

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "capi")]
pub mod capi;
mod classifier;
mod error;
pub mod estimators;
pub mod format;
mod hint;
pub mod kernels;
pub mod language;
mod log;
pub mod math;
mod prediction;
pub mod rows;
pub mod search;
pub mod tree;

#[cfg(doc)]
pub mod guide;
#[cfg(feature = "std")]
pub mod host;

pub use classifier::Classifier;
pub use error::Error;
pub use estimators::{Candidate, exact};
pub use format::Model;
pub use prediction::{Prediction, Ranked};
pub use rows::{Query, QueryBuffer};
pub use search::{Budget, Scratch, Work, seen_words};
