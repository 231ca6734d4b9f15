//! What runs on a host only: from a weight matrix to a model file, and the evidence about it.

pub mod build;
pub mod cost;
pub mod describe;
mod doc_example;
mod error;
pub mod evaluate;
pub mod export;
mod fmbe;
mod generate;
mod grid;
pub mod import;
pub mod io;
mod linear;
pub mod lm;
pub mod make;
mod matrix;
pub mod measure;
#[cfg(feature = "cli")]
pub mod plots;
mod quantise;
pub mod reproduce;
mod temperature;
pub mod warnings;

#[doc(hidden)]
pub use doc_example::{doc_example, doc_file};
pub use error::BuildError;
pub use fmbe::with_fmbe;
pub use generate::{Kind, Layer};
pub use matrix::Matrix;
pub use quantise::{Compensation, QuantisedRows, flat_model};
pub use temperature::fit_temperature;
