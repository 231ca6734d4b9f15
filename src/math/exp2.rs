//! 2^f for a fraction f, in integers.
//!
//! The upper six bits of the fraction pick 2^(i/64) from a table of 256 bytes; the rest, r < 1/64, takes a
//! quadratic: 2^r − 1 ≈ r·(c₁ + c₂·r). The coefficients are Taylor's with the cubic term's best quadratic
//! through zero folded in (its error is r·(r−a)·(r−b), the third Chebyshev polynomial stretched until its first
//! zero is at 0). One 32-bit multiplication, one multiply-add and one long multiplication.
//!
//! Relative error ≤ 2⁻²⁴ for every input; the test goes through all of them.

use super::Log2;
#[cfg(zhat_dsp)]
use super::dsp::PowerTable;

const INDEX_BITS: u32 = 6;
const REST_BITS: u32 = Log2::FRACTION_BITS - INDEX_BITS;
/// Fixed point of the linear coefficient: as fine as `rest · slope < 2^32` allows.
const SLOPE_BITS: u32 = 32 - REST_BITS;

const LN_2: f64 = core::f64::consts::LN_2;
const STEP: f64 = 1.0 / (1u32 << INDEX_BITS) as f64;
const CUBIC: f64 = LN_2 * LN_2 * LN_2 / 6.0;
/// The zeros a, b of r·(r−a)·(r−b) on [0, 1] with the smallest maximum: 2√3 − 3 and twice that.
const ZERO_A: f64 = 0.464_101_615_137_754_6;
const ZERO_B: f64 = 0.928_203_230_275_509_2;

const C1: f64 = LN_2 - CUBIC * ZERO_A * ZERO_B * STEP * STEP;
const C2: f64 = LN_2 * LN_2 / 2.0 + CUBIC * (ZERO_A + ZERO_B) * STEP;
const SLOPE: u32 = (C1 * (1u64 << SLOPE_BITS) as f64 + 0.5) as u32;
/// `C2 · r` with r in units of 2^-18, in the fixed point of the slope, sixteen bits finer.
const CURVE: u32 = (C2 * (1u64 << (SLOPE_BITS + 16)) as f64 / (1u64 << Log2::FRACTION_BITS) as f64 + 0.5) as u32;

static POWERS: [u32; 1 << INDEX_BITS] = powers();

const fn powers() -> [u32; 1 << INDEX_BITS] {
    let mut table = [0; 1 << INDEX_BITS];
    let mut i = 0;
    while i < table.len() {
        // exp by its series: the argument is below ln 2, so 24 terms are exact to the last bit of f64.
        let x = LN_2 * i as f64 * STEP;
        let (mut sum, mut term, mut n) = (1.0, 1.0, 1);
        while n < 24 {
            term *= x / n as f64;
            sum += term;
            n += 1;
        }
        table[i] = (sum * (1u64 << 31) as f64 + 0.5) as u32;
        i += 1;
    }
    table
}

/// Returns 2^(`fraction`·2⁻¹⁸) in Q1.31: from 2³¹ up to, but not including, 2³². Only the lower 18 bits are read.
#[inline]
pub fn exp2_fraction(fraction: u32) -> u32 {
    Exp2::NEW.of_fraction(fraction)
}

/// Holds the constants of [`exp2_fraction`].
#[derive(Clone, Copy)]
pub(super) struct Exp2 {
    powers: &'static [u32; 1 << INDEX_BITS],
    slope: u32,
    curve: u32,
}

impl Exp2 {
    const NEW: Self = Self { powers: &POWERS, slope: SLOPE, curve: CURVE };

    #[cfg(not(zhat_dsp))]
    /// Returns the constants for use in a loop. The compiler cannot see through them, so it loads them once before the
    /// loop and not in every pass.
    #[inline]
    pub fn for_loop() -> Self {
        core::hint::black_box(Self::NEW)
    }

    /// The constants for the DSP kernel, whose table is the same.
    #[cfg(zhat_dsp)]
    pub const TABLE: PowerTable = PowerTable { powers: &POWERS, slope: SLOPE, curve: CURVE };

    #[inline]
    pub fn of_fraction(self, fraction: u32) -> u32 {
        let index = (fraction >> REST_BITS) as usize % self.powers.len();
        let rest = fraction & ((1 << REST_BITS) - 1);
        let power = self.powers[index];
        let slope = self.slope + ((self.curve * rest) >> 16);
        // rest · slope is 2^r − 1 with 18 + 20 fraction bits.
        let growth = u64::from(power) * u64::from(rest * slope);
        power + (growth >> (Log2::FRACTION_BITS + SLOPE_BITS)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relative_error_is_at_most_2_to_the_minus_24_for_every_fraction() {
        let one = f64::from(1u32 << Log2::FRACTION_BITS);
        let mut worst = 0.0_f64;
        for fraction in 0..1u32 << Log2::FRACTION_BITS {
            let truth = (f64::from(fraction) / one).exp2() * (1u64 << 31) as f64;
            let error = (f64::from(exp2_fraction(fraction)) - truth).abs() / truth;
            worst = worst.max(error);
        }
        assert!(worst <= (-24.0_f64).exp2(), "2^{:.2}", worst.log2());
    }

    #[test]
    fn it_never_falls_and_stays_in_its_octave() {
        let mut last = 0;
        for fraction in 0..1u32 << Log2::FRACTION_BITS {
            let value = exp2_fraction(fraction);
            assert!(value >= last.max(1 << 31), "at {fraction}");
            last = value;
        }
    }
}
