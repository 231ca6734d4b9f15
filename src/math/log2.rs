//! A base-2 logarithm in fixed point: the unit of every score and every predicted mass.

use super::{exp2_fraction, float};
use crate::hint::keep_small;

/// Returns log₂ of `mantissa`·2⁻³¹, which is in [1, 2), rounded down to `bits` bits, at most 26.
///
/// Takes one squaring for each bit, in integers. Squaring doubles a logarithm, so the next bit is one if the square
/// leaves the octave. Each squaring cuts 2⁻³¹; every later bit halves that error, so all of them together stay below
/// the last bit.
// Not inlined: unrolled, each use would take a kilobyte.
#[inline(never)]
pub(super) const fn log2_fraction(mantissa: u32, bits: u32) -> u32 {
    let mut mantissa = mantissa;
    let mut fraction = 0;
    let mut done = 0;
    while done < bits {
        keep_small();
        let square = mantissa as u64 * mantissa as u64;
        let carry = (square >> 63) as u32;
        mantissa = (if carry == 1 { square >> 32 } else { square >> 31 }) as u32;
        fraction = fraction << 1 | carry;
        done += 1;
    }
    fraction
}

/// A base-2 logarithm in Q13.18 fixed point.
///
/// exp(u) is 2^(u·log₂e), so a score in these units needs no multiplication before its exponential: the
/// integer part is a shift and the fraction a table look-up. The range is ±8 191 (±5 677 nats), the step
/// 2⁻¹⁸ (2.6·10⁻⁶ nats), a thousandth of the error of rounding the rows to eight bits.
///
/// ```
/// use zhat::Log2;
///
/// let half = Log2::from_nats(0.5_f32.ln());
/// assert_eq!(half, Log2::from_bits(-(1 << Log2::FRACTION_BITS)));
/// assert!(half < Log2::of(1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Log2(i32);

impl Log2 {
    /// The number of fraction bits.
    pub const FRACTION_BITS: u32 = 18;
    /// The logarithm of zero, as far as this format goes: adding it to a sum changes nothing.
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// let mut sum = LogSum::new();
    /// sum.add(Log2::of(3));
    /// let before = sum;
    /// sum.add(Log2::MIN);
    /// assert_eq!(sum, before);
    /// ```
    pub const MIN: Self = Self(i32::MIN);
    /// The largest value.
    pub const MAX: Self = Self(i32::MAX);

    /// Makes a logarithm of its raw fixed-point bits.
    ///
    /// ```
    /// assert_eq!(zhat::Log2::from_bits(3 << 18), zhat::Log2::of(8));
    /// ```
    pub const fn from_bits(bits: i32) -> Self {
        Self(bits)
    }

    /// Returns the raw fixed-point bits.
    pub const fn to_bits(self) -> i32 {
        self.0
    }

    /// Returns the fixed-point value nearest to a natural logarithm, saturated at the ends; NaN gives [`Log2::MIN`].
    ///
    /// ```
    /// use zhat::Log2;
    ///
    /// assert_eq!(Log2::from_nats(0.0), Log2::of(1));
    /// assert_eq!(Log2::from_nats(f32::NAN), Log2::MIN);
    /// ```
    pub fn from_nats(nats: f32) -> Self {
        if nats.is_nan() {
            return Self::MIN;
        }
        // `as` saturates at the ends of the range.
        Self(float::round(nats * (core::f32::consts::LOG2_E * Self::ONE)) as i32)
    }

    /// Converts to a natural logarithm.
    pub fn to_nats(self) -> f32 {
        self.0 as f32 * (core::f32::consts::LN_2 / Self::ONE)
    }

    /// Adds two logarithms and saturates at the ends.
    ///
    /// ```
    /// use zhat::Log2;
    ///
    /// assert_eq!(Log2::of(4).saturating_add(Log2::of(8)), Log2::of(32));
    /// assert_eq!(Log2::MAX.saturating_add(Log2::of(2)), Log2::MAX);
    /// ```
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Subtracts a logarithm and saturates at the ends.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns log₂ of a whole number, rounded down; [`Log2::MIN`] for zero.
    ///
    /// ```
    /// use zhat::Log2;
    ///
    /// assert_eq!(Log2::of(1), Log2::from_bits(0));
    /// assert_eq!(Log2::of(0), Log2::MIN);
    /// ```
    pub const fn of(number: u64) -> Self {
        if number == 0 {
            return Self::MIN;
        }
        let octave = 63 - number.leading_zeros();
        let mantissa = (number << (63 - octave) >> 32) as u32;
        Self((octave << Self::FRACTION_BITS | log2_fraction(mantissa, Self::FRACTION_BITS)) as i32)
    }

    /// Returns 2^self with a relative error of at most 2⁻²³; zero below f32's normal range and infinity above it.
    pub(crate) fn exp2(self) -> f32 {
        let power = exp2_fraction(self.fraction()) as f32 * (1.0 / (1u32 << 31) as f32);
        power * float::power_of_two(self.floor())
    }

    /// Returns the integer part, rounded down.
    #[inline]
    pub(crate) const fn floor(self) -> i32 {
        self.0 >> Self::FRACTION_BITS
    }

    /// Returns the fraction, the part above [`Log2::floor`], in units of the last bit.
    #[inline]
    pub(crate) const fn fraction(self) -> u32 {
        self.0 as u32 & ((1 << Self::FRACTION_BITS) - 1)
    }

    const ONE: f32 = (1u32 << Self::FRACTION_BITS) as f32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nats_survive_the_round_trip_to_half_a_step() {
        for nats in [-5000.0_f32, -17.25, -1e-3, 0.0, 1e-3, 1.0, 88.5, 5000.0] {
            let step = core::f32::consts::LN_2 / Log2::ONE;
            let error = (Log2::from_nats(nats).to_nats() - nats).abs();
            assert!(error <= step + nats.abs() * 2e-7, "{nats}: {error}");
        }
    }

    #[test]
    fn logarithms_of_whole_numbers_are_right_to_the_last_bit() {
        for number in (1..5000).chain((6..64).flat_map(|shift| [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 3])) {
            let error = f64::from(Log2::of(number).0) - (number as f64).log2() * f64::from(Log2::ONE);
            assert!((-1.001..=0.001).contains(&error), "{number}: {error}");
        }
        assert_eq!(Log2::of(0), Log2::MIN);
        assert_eq!(Log2::of(1 << 40), Log2(40 << Log2::FRACTION_BITS));
    }

    #[test]
    fn powers_are_those_of_f64_and_the_ends_are_defined() {
        for bits in (-30_000_000..30_000_000).step_by(77_777) {
            let truth = (f64::from(bits) / f64::from(Log2::ONE)).exp2();
            assert!((f64::from(Log2(bits).exp2()) / truth - 1.0).abs() < 1.2e-7, "{bits}");
        }
        assert_eq!((Log2::MIN.exp2(), Log2::MAX.exp2()), (0.0, f32::INFINITY));
    }

    #[test]
    fn the_ends_saturate_and_nan_is_no_mass() {
        assert_eq!(Log2::from_nats(f32::INFINITY), Log2::MAX);
        assert_eq!(Log2::from_nats(f32::NEG_INFINITY), Log2::MIN);
        assert_eq!(Log2::from_nats(f32::NAN), Log2::MIN);
    }
}
