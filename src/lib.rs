//! Calibrated probabilities for large-vocabulary classifiers, without scoring every class.
//!
//! A layer of N rows and a query go in; the top classes with their probabilities come out. The modules follow the
//! data: [`model`] opens a model file, [`rows`] quantises the query and scores rows with the
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
mod hint;
pub mod kernels;
pub mod language;
mod log;
pub mod math;
pub mod model;
pub mod rows;
pub mod search;
pub mod tree;

#[cfg(doc)]
pub mod guide;
#[cfg(feature = "std")]
pub mod host;

pub use classifier::Classifier;
pub use error::Error;
pub use estimators::{Prediction, Ranked, exact};
#[cfg(feature = "std")]
#[doc(hidden)]
pub use host::doc_example;
pub use model::{Budget, Model};
pub use rows::{Query, QueryBuffer};
pub use search::{Candidate, Scratch, Work, seen_words};
