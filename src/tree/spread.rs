//! The spread of a node's scores for a query, and the point where it freezes.
//!
//! With σ² = t·F(q), the prediction ln n + m + σ²/2 and its frozen form m + σ·sqrt(2 ln n) take, on top of
//! `ln n + m`, one of
//!
//! ```text
//! curve · F                  curve = t/2
//! frozen · sqrt(F) − ln n    frozen = sqrt(2·t·ln n)
//! ```
//!
//! and the first is right as long as it is not above ln n. F and its root are computed once per query; per node it
//! is one integer multiplication.

use core::ops::RangeInclusive;

use crate::hint::cold_path;
use crate::math::{Log2, SmallFloat, float};
use crate::rows::Query;

/// The numbers that all nodes share: F(q) = f₀ + f₁·‖q‖², and the units of the nodes' numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpreadFunction {
    /// f₀.
    pub constant: f32,
    /// f₁.
    pub slope: f32,
    /// The power of two that is the unit of a node's curve.
    pub curve_exponent: i32,
    /// The power of two that is the unit of a node's frozen slope.
    pub frozen_exponent: i32,
}

impl SpreadFunction {
    pub(crate) fn from_words([constant, slope, curve, frozen]: [u32; 4]) -> Self {
        Self {
            constant: f32::from_bits(constant),
            slope: f32::from_bits(slope),
            curve_exponent: curve as i32,
            frozen_exponent: frozen as i32,
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u32; 4] {
        let Self { constant, slope, curve_exponent, frozen_exponent } = self;
        [constant.to_bits(), slope.to_bits(), curve_exponent as u32, frozen_exponent as u32]
    }

    /// The range of valid exponents.
    const EXPONENTS: RangeInclusive<i32> = -60..=-(Log2::FRACTION_BITS as i32 - Spread::POINT as i32);

    pub(crate) fn is_sound(&self) -> bool {
        self.constant.is_finite()
            && self.slope.is_finite()
            && Self::EXPONENTS.contains(&self.curve_exponent)
            && Self::EXPONENTS.contains(&self.frozen_exponent)
    }

    /// Computes F(q), not below zero.
    pub(crate) fn value(&self, norm: f32) -> f32 {
        (self.constant + self.slope * norm * norm).max(0.0)
    }

    pub(crate) fn of(&self, query: &Query) -> Spread {
        let value = self.value(query.norm());
        Spread {
            value: Factor::new(value, self.curve_exponent),
            root: Factor::new(float::sqrt(value), self.frozen_exponent),
        }
    }
}

/// F(q) and its root for one query, in fixed point.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // a kernel reads it
pub struct Spread {
    value: Factor,
    root: Factor,
}

impl Spread {
    const POINT: u32 = 16;
    /// The number of fraction bits of a stored log₂ n.
    pub(crate) const COUNT_BITS: u32 = 11;

    /// Computes what the spread adds to `log₂ n + m`: the node's numbers are curve, frozen slope and log₂ n.
    #[inline]
    pub(crate) fn of_node(&self, [curve, frozen, count]: [u16; 3]) -> Log2 {
        let count = u32::from(count) << (Log2::FRACTION_BITS - Self::COUNT_BITS);
        // Compared before the shift to the left, so that no high bit is lost.
        let gauss = self.value.lowered(curve);
        let bits = if gauss <= count >> self.value.up {
            (gauss << self.value.up) as i32
        } else {
            cold_path();
            // Both are below 2^31, so the difference is an i32.
            self.root.times(frozen) as i32 - count as i32
        };
        Log2::from_bits(bits)
    }
}

impl Spread {
    /// Computes the spread for ½·ln(n·Σ exp(2u)), the share of samples that a node of uniformly drawn rows should have.
    /// There the spread counts twice, as σ², and freezes at a quarter of σ² = 2 ln n, to σ·sqrt(2 ln n) − ½·ln n.
    pub(crate) fn of_sampled_node(&self, [curve, frozen, count]: [u16; 3]) -> Log2 {
        let count = u32::from(count) << (Log2::FRACTION_BITS - Self::COUNT_BITS);
        let gauss = self.value.times(curve);
        let bits =
            if gauss <= count / 4 { 2 * gauss as i32 } else { self.root.times(frozen) as i32 - (count / 2) as i32 };
        Log2::from_bits(bits)
    }
}

/// A number of a query that nodes' numbers are multiplied by, prepared so that a node takes one long multiplication of
/// which only the upper word is used.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Factor {
    /// Its highest bit is set, unless it is zero.
    mantissa: u32,
    /// The shift of the product's upper word, to the right (`down`) or to the left (`up`). One of them is zero.
    down: u32,
    up: u32,
}

impl Factor {
    /// The bits by which a [`SmallFloat`]'s units are shifted left before the product, so that few of them are lost.
    const HEADROOM: u32 = SmallFloat::MAX.leading_zeros();

    /// Prepares a value whose product with a node's number of units of 2^`exponent` comes out as the bits of a
    /// [`Log2`].
    fn new(value: f32, exponent: i32) -> Self {
        let point = (1u32 << Spread::POINT) as f32;
        let fixed = (value * point) as u32;
        let zeros = fixed.leading_zeros().min(31);
        // A file that was opened without its checks may hold any exponent.
        let exponent = exponent.clamp(*SpreadFunction::EXPONENTS.start(), *SpreadFunction::EXPONENTS.end());
        let down = Spread::POINT as i32 - Log2::FRACTION_BITS as i32 - exponent + (zeros + Self::HEADROOM) as i32 - 32;
        Self { mantissa: fixed << zeros, down: down.clamp(0, 31) as u32, up: (-down).clamp(0, 29) as u32 }
    }

    /// Multiplies by a stored number; the product is at most 2^30.
    #[inline]
    fn times(&self, number: u16) -> u32 {
        self.lowered(number).min((1 << 30) >> self.up) << self.up
    }

    /// Multiplies by a stored number; the caller still has to shift the product left by `up`.
    #[inline]
    fn lowered(&self, number: u16) -> u32 {
        let units = SmallFloat::from_bits(number).units() << Self::HEADROOM;
        let upper = ((u64::from(self.mantissa) * u64::from(units)) >> 32) as u32;
        upper >> self.down
    }
}
