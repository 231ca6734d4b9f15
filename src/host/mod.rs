//! What runs on a host only: from a weight matrix to a model file, and the evidence about it.

pub mod build;
mod error;
mod fmbe;
mod generate;
pub mod io;
mod linear;
mod matrix;
pub mod measure;
mod quantise;

pub use error::BuildError;
pub use fmbe::with_fmbe;
pub use generate::{Kind, Layer};
pub use matrix::Matrix;
pub use quantise::{Compensation, QuantisedRows, flat_model};
