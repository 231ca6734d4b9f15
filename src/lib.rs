//! Calibrated probabilities for large-vocabulary classifiers, without scoring every class.
//!
//! A layer of N rows and a query go in; the top classes with their probabilities come out. [`Classifier`] is the one type
//! that most programs need.
//!
//! # Layers
//! The modules from the bottom up, along the path of a query. Each uses only those before it, in the order of this table,
//! which `tests/layers.rs` reads: the source can be read from top to bottom.
//!
//! | module | what is there |
//! |---|---|
//! | `error`, `log`, `hint` | [`Error`], log points and hints to the compiler: for everybody |
//! | `math` | [`Log2`], a logarithm in fixed point, and [`LogSum`], a sum of exponentials that cannot overflow |
//! | `kernels` | dot products of int8 rows with an int16 query, where the time goes |
//! | `rows` | the [`Query`], quantised, and the [`RowTable`] that scores it |
//! | `tree` | nodes over the rows: how much mass each is predicted to hold, and what is certain about it |
//! | [`model`] | the model file: [`Model`] checks it once, and is views of its rows and its tree |
//! | `search` | best-first search within a [`Budget`]: rows that matter are scored, the rest stays a prediction |
//! | [`estimators`] | Z from both, by several methods, and the [`Prediction`] |
//! | `classifier`, [`language`] | [`Classifier`]; the query of a language model from the words before |
//! | `host`, `capi`, `cli` | what runs on a host only (feature `std`); functions for C; the command |
//! | `guide` | pages to read |
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(target_endian = "big")]
compile_error!("zhat reads its little-endian model file in place: big-endian targets are not supported");

#[cfg(feature = "alloc")]
extern crate alloc;

mod error;
mod hint;
mod log;

mod kernels;
mod math;
mod rows;
mod tree;

pub mod model;

mod search;

pub mod estimators;

mod classifier;
pub mod language;

#[cfg(feature = "capi")]
pub mod capi;
#[cfg(feature = "std")]
pub mod host;

#[cfg(doc)]
pub mod guide;

pub use classifier::Classifier;
pub use error::Error;
pub use estimators::{Prediction, Ranked, exact};
#[cfg(feature = "std")]
#[doc(hidden)]
pub use host::doc_example;
pub use math::{Log2, LogSum};
#[cfg(feature = "alloc")]
pub use model::ModelBuf;
pub use model::{Budget, Model, Names, Settings};
pub use rows::{Query, QueryBuffer, RowTable, query_words};
pub use search::{Candidate, Scratch, Work, scratch_words, seen_words};

// They are in signatures: a user has the version that fits.
pub use heapless;
pub use rand_core;

/// What the tests, examples and benches of this package reach into. It is outside of semantic versioning: any release may
/// change it.
#[doc(hidden)]
pub mod internal {
    pub use crate::estimators::mince_by_newton;
    pub use crate::kernels::{dot, dot_picked, dot_rows, pair, query_slot, weights};
    pub use crate::math::{SmallFloat, exp2_fraction};
    pub use crate::rows::Indices;
    pub use crate::tree::{Span, Tree};
}
