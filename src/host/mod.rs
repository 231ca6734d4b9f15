//! What runs on a host only: from a weight matrix to a model file, and the evidence about it.

mod matrix;
pub use matrix::Matrix;
