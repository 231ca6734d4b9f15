//! The output layer of a network, ready for the builder.

use crate::host::Matrix;

/// The output layer of a network.
#[derive(Clone, Debug)]
pub struct OutputLayer {
    /// One row for each class.
    pub weights: Matrix,
    /// One bias for each class.
    pub biases: Vec<f32>,
    /// For a layer whose inputs are int8 in the network: how to read them.
    pub input: Option<InputScale>,
    /// One line for people: what was taken, and what behind it is ignored.
    pub taken: String,
}

/// How a quantised network's int8 activations are to be read: `(value − zero_point) · scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputScale {
    /// What a step is worth.
    pub scale: f32,
    /// The value that stands for zero.
    pub zero_point: i8,
}
