//! Z = 1: what a layer that was trained to normalise itself is taken to have.

use super::Estimate;
use crate::math::{Log2, LogSum};
use crate::search::Work;

/// Self-normalised: Ẑ = 1, whatever the query.
///
/// *Source:* Devlin et al., "Fast and Robust Neural Network Joint Models" (2014); noise-contrastive training has the same effect
/// (Mnih and Teh, 2012).
///
/// *Costs* nothing.
///
/// *Use it* to compare, and for layers that were trained for it and measured: for the language model of
/// [`guide::paper`](crate::guide::paper) it is off by 23.5 % on average.
///
/// ```
/// assert_eq!(zhat::estimators::self_normalised().log_z(), 0.0);
/// ```
pub fn self_normalised() -> Estimate {
    let mut one = LogSum::new();
    one.add(Log2::from_bits(0));
    Estimate::plain(one, Work::default())
}
