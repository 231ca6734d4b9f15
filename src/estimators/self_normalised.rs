//! Z = 1: what a layer that was trained to normalise itself is taken to have.
//!
//! Devlin et al., "Fast and Robust Neural Network Joint Models" (2014); noise-contrastive training has the same effect
//! (Mnih and Teh, 2012). Costs nothing and knows nothing of the query: a comparator, and the right choice only for a
//! layer that was trained for it and measured.

use super::Estimate;
use crate::math::{Log2, LogSum};
use crate::search::Work;

/// Ẑ = 1.
///
/// ```
/// assert_eq!(zhat::estimators::self_normalised().log_z(), 0.0);
/// ```
pub fn self_normalised() -> Estimate {
    let mut one = LogSum::new();
    one.add(Log2::from_bits(0));
    Estimate::plain(one, Work::default())
}
