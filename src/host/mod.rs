//! What runs on a host only: from a weight matrix to a model file, and the evidence about it.

mod error;
pub mod io;
mod matrix;
mod quantise;

pub use error::BuildError;
pub use matrix::Matrix;
pub use quantise::{QuantisedRows, flat_model};
