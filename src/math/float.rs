//! The few float functions of a query: from libm, or from micromath where its feature trades accuracy for speed.

#[cfg(feature = "micromath")]
use micromath::F32Ext;

use super::log2::log2_fraction;

/// Returns the natural logarithm; −∞ for zero, negative and subnormal numbers and for NaN. Never uses micromath, whose
/// error of a few per mille would carry over to Z.
pub(crate) fn ln(x: f32) -> f32 {
    if x >= f32::MIN_POSITIVE { log2(x) * core::f32::consts::LN_2 } else { f32::NEG_INFINITY }
}

/// Returns e^x.
pub(crate) fn exp(x: f32) -> f32 {
    #[cfg(feature = "micromath")]
    return F32Ext::exp(x);
    #[cfg(not(feature = "micromath"))]
    libm::expf(x)
}

/// Rounds to the nearest whole number, halves away from zero. Always uses libm, so every feature gives the same bits.
pub(crate) fn round(x: f32) -> f32 {
    libm::roundf(x)
}

/// Returns the base-2 logarithm of a positive normal number, to 2⁻²⁵. Computes in integers, so every feature gives the
/// same bits.
pub(crate) fn log2(x: f32) -> f32 {
    const BITS: u32 = 26;
    let exponent = (x.to_bits() >> 23) as i32 - 127;
    let fraction = log2_fraction(x.to_bits() << 8 | 1 << 31, BITS);
    ((i64::from(exponent) << BITS) + i64::from(fraction)) as f32 * (1.0 / (1u32 << BITS) as f32)
}

/// Returns the base-2 logarithm of a positive normal number, within 0.09: right at every power of two, a straight line
/// in between.
#[inline]
pub(crate) fn rough_log2(x: f32) -> f32 {
    x.to_bits() as f32 * (1.0 / (1u32 << 23) as f32) - 127.0
}

/// Returns 2^`exponent`; zero below f32's normal range and infinity above it.
pub(crate) fn power_of_two(exponent: i32) -> f32 {
    match exponent {
        -126..=127 => f32::from_bits(((exponent + 127) as u32) << 23),
        i32::MIN..=-127 => 0.0,
        _ => f32::INFINITY,
    }
}

// The square root: an instruction where the processor has one for f32, libm elsewhere. Both round correctly, so the bits
// are the same.

/// Returns √x; NaN below zero.
#[cfg(not(all(target_arch = "arm", target_abi = "eabihf")))]
pub fn sqrt(x: f32) -> f32 {
    libm::sqrtf(x)
}

/// Returns √x; NaN below zero.
#[cfg(all(target_arch = "arm", target_abi = "eabihf"))]
#[allow(unsafe_code)]
#[inline]
pub fn sqrt(x: f32) -> f32 {
    let mut bits = x.to_bits();
    // SAFETY: every target whose ABI passes floats in registers has the instruction. The float register, which a stable
    // compiler does not lend to `asm!`, is as before at the end.
    unsafe {
        core::arch::asm!(
            "vmov {before}, s0",
            "vmov s0, {bits}",
            "vsqrt.f32 s0, s0",
            "vmov {bits}, s0",
            "vmov s0, {before}",
            bits = inout(reg) bits,
            before = out(reg) _,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    f32::from_bits(bits)
}

// An unsigned 16-bit float: twelve bits of mantissa, four of exponent.

/// A whole number, `(bits & 0xfff) << (bits >> 12)`, in units that its user defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFloat(u16);

impl SmallFloat {
    const MANTISSA_BITS: u32 = 12;
    /// The largest value.
    pub const MAX: u32 = 0xfff << 15;

    /// Makes a value of its stored bits.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the stored bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// Returns the number of units.
    #[inline]
    pub const fn units(self) -> u32 {
        (self.0 as u32 & ((1 << Self::MANTISSA_BITS) - 1)) << (self.0 >> Self::MANTISSA_BITS)
    }

    /// Returns the smallest value that is not below `units`; `None` above [`SmallFloat::MAX`].
    pub const fn at_least(units: u32) -> Option<Self> {
        let mut exponent = 0;
        while exponent < 16 {
            let mantissa = units.div_ceil(1 << exponent);
            if mantissa < 1 << Self::MANTISSA_BITS {
                return Some(Self((exponent << Self::MANTISSA_BITS) as u16 | mantissa as u16));
            }
            exponent += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_2_logarithms_are_those_of_f64() {
        for x in [1e-30_f32, 0.1, 0.999_999_94, 1.0, 1.000_000_1, 1.5, 1.999_999_9, 2.0, 12_345.678, 3e38] {
            let truth = f64::from(x).log2();
            assert!((f64::from(log2(x)) - truth).abs() < 3e-8 + truth.abs() * 6e-8, "{x}: {} {truth}", log2(x));
            let rough = truth - f64::from(rough_log2(x));
            assert!((-1e-4..0.09).contains(&rough), "{x}: {rough}");
        }
    }

    #[test]
    fn it_is_never_below_what_was_asked_for_and_at_most_one_in_2048_above() {
        let mut units = 1u32;
        while units <= SmallFloat::MAX {
            let rounded = SmallFloat::at_least(units).expect("in range").units();
            assert!(rounded >= units && rounded - units <= units / 2048, "{units} -> {rounded}");
            units += units / 97 + 1;
        }
        assert_eq!(SmallFloat::at_least(SmallFloat::MAX).map(SmallFloat::units), Some(SmallFloat::MAX));
        assert_eq!(SmallFloat::at_least(SmallFloat::MAX + 1), None);
        assert_eq!(SmallFloat::at_least(0).map(SmallFloat::units), Some(0));
    }
}
