//! Calibrated probabilities for large-vocabulary classifiers, without scoring every class.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod error;
pub use error::Error;

#[cfg(feature = "std")]
pub mod host;
