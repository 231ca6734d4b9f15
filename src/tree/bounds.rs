//! What is certain about the rows of a node, whatever its prediction says.
//!
//! With x̄ the mean of the node's scores, b = R·‖(q,1)‖ and s² = λ·‖(q,1)‖², R the radius of the rows (bias as a
//! coordinate) about their mean and λ a bound on the largest eigenvalue of their covariance:
//!
//! ```text
//! every score ≤ x̄ + b                                                             (ball)
//! Σ exp ≥ n·exp(x̄)                                                               (Jensen)
//! Σ exp ≤ n·exp(x̄) · [ b²/(b²+s²)·exp(−s²/b) + s²/(b²+s²)·exp(b) ]               (Bennett)
//! ```
//!
//! The last is attained by two points, so nothing better follows from mean, variance and radius. The node's vector is
//! not the mean of its rows but rounded, and learned: how far off it is, δ, is stored and allowed for.

use crate::math::{Log2, float};
use crate::rows::Query;

/// What is certain about one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// What takes the node's score to `log₂ n + x̄`.
    pub centre: Log2,
    /// δ: the distance of the node's vector from the mean of the rows.
    pub offset: f32,
    /// R.
    pub radius: f32,
    /// λ.
    pub variance: f32,
}

/// Rounding of scores, norms and these few float operations, in nats: far below anything that matters.
const SLACK: f32 = 1e-4;

impl Bounds {
    /// Words of sixteen bits that a node takes up.
    pub(crate) const FIELDS: usize = 5;

    /// Reads a node's numbers: each float is the upper half of its bits.
    pub(crate) fn from_words([low, high, offset, radius, variance]: [u16; Self::FIELDS]) -> Self {
        let wide = |half: u16| f32::from_bits(u32::from(half) << 16);
        Self {
            centre: Log2::from_bits((u32::from(high) << 16 | u32::from(low)) as i32),
            offset: wide(offset),
            radius: wide(radius),
            variance: wide(variance),
        }
    }

    /// The numbers as stored; floats are rounded up, which only widens the bounds.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u16; Self::FIELDS] {
        let up = |x: f32| (x.to_bits() >> 16) as u16 + u16::from(x.to_bits() & 0xffff != 0);
        let centre = self.centre.to_bits() as u32;
        [centre as u16, (centre >> 16) as u16, up(self.offset), up(self.radius), up(self.variance)]
    }

    pub(crate) fn is_sound(&self) -> bool {
        let natural = |x: f32| x.is_finite() && x >= 0.0;
        natural(self.offset) && natural(self.radius) && natural(self.variance)
    }

    /// ln of what Σ exp over the node's `rows` is at least and at most, given the node's score.
    pub(crate) fn log_mass(&self, score: Log2, query: &Query) -> (f32, f32) {
        let (centre, slack) = self.mean(score, query);
        (centre - slack, centre + slack + self.bennett(query))
    }

    /// What no score of the node is above, given the node's score and its number of rows.
    pub(crate) fn best(&self, score: Log2, rows: usize, query: &Query) -> f32 {
        let (centre, slack) = self.mean(score, query);
        centre - float::ln(rows.max(1) as f32) + slack + self.radius * reach(query)
    }

    /// ln n + x̄, and how far off that may be.
    fn mean(&self, score: Log2, query: &Query) -> (f32, f32) {
        let centre = score.saturating_add(self.centre).to_nats();
        let rounding = SLACK + centre.abs() * 1e-6;
        (centre, self.offset * query.norm() * (1.0 + 1e-5) + rounding)
    }

    fn bennett(&self, query: &Query) -> f32 {
        let reach = reach(query);
        let (b, s2) = (self.radius * reach, self.variance * reach * reach);
        if b <= 0.0 || s2 <= 0.0 {
            return 0.0;
        }
        // In logarithms: b may be hundreds of nats.
        let whole = b * b + s2;
        let low = float::ln(b * b / whole) - s2 / b;
        let high = float::ln(s2 / whole) + b;
        let (least, most) = if low < high { (low, high) } else { (high, low) };
        (most + float::ln(1.0 + float::exp(least - most))).max(0.0)
    }
}

/// ‖(q, 1)‖, rounded up.
fn reach(query: &Query) -> f32 {
    float::sqrt(query.norm() * query.norm() + 1.0) * (1.0 + 1e-5)
}
