//! From frames to a query: a small convolutional and recurrent network that hears every frame once.
//!
//! ```text
//! frames, each 10 ms → less the mean so far → stem 5 × 40 → c, every second one → ReLU
//!   → six blocks: nine taps of each channel, ReLU, a matrix, plus the block's input, ReLU; the third halves the rate
//!   → GRU → (its state, mean of its inputs so far) → matrix → query
//! ```
//!
//! Weights are int8 and stay in flash; what passes between the blocks is int16, sums are int32; scales, gates and biases are
//! f32, a few operations for each number. A second takes 4.3 M multiply-accumulates.

mod depthwise;
mod error;
mod file;
mod gru;
mod state;
mod tensor;

pub use error::EncoderError;
pub use file::Encoder;
pub use state::EncoderState;

use depthwise::Depthwise;
use tensor::Tensor;

/// Frames that the stem sees.
const STEM_TAPS: usize = 5;
/// Blocks of a depthwise and a pointwise convolution.
const BLOCKS: usize = 6;
/// The largest sizes that there is memory for: channels before and after the second stride, of the GRU, of the query.
const NARROW: usize = 80;
const WIDE: usize = 112;
const HIDDEN: usize = 96;
pub(super) const DIM: usize = 128;

/// One block, and what a step of its int16 output is worth.
#[derive(Clone, Copy, Debug)]
struct Block<'a> {
    depthwise: Depthwise<'a>,
    pointwise: Tensor<'a>,
    step: f32,
}

impl Block<'_> {
    const EMPTY: Self =
        Self { depthwise: Depthwise { scales: &[], biases: &[], taps: &[] }, pointwise: Tensor::EMPTY, step: 1.0 };
}

#[cfg(test)]
mod tests;
