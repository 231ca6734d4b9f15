//! The arithmetic of the log domain: fixed-point logarithms, an integer `exp2`, sums that cannot overflow.
//!
//! All work that is done once per row uses integers, so that every platform gives the same bits and a part without an
//! FPU pays nothing extra. Floats are used a few times per query, see `float`.

#[cfg(zhat_dsp)]
mod dsp;
mod exp2;
pub(crate) mod float;
mod log2;
mod log_sum;

pub use exp2::exp2_fraction;
pub use float::{SmallFloat, sqrt};
pub use log_sum::LogSum;
pub use log2::Log2;
