//! Σ 2^sᵢ without overflow, for any number of terms of any size.
//!
//! The sum is a 64-bit mantissa and an exponent. A term is aligned to the exponent before it is added; a term
//! above the exponent moves it up. The largest term has 57 bits, so that 32 equal terms fit above it, and when the
//! mantissa has grown to 63 bits it gives up its lowest four: there is no number of terms that overflows. A term
//! loses what lies 56 bits below the sum, so N terms are off by less than N·2⁻⁵⁵ of it.
//!
//! The power has 32 bits and is moved up by multiplication with a power of two: on a 32-bit part one UMLAL aligns
//! and adds it, where shifting a 64-bit number by a variable takes nine instructions.

#[cfg(zhat_dsp)]
use super::dsp::{PowerTable, add_powers};
use super::exp2::{Exp2, exp2_fraction};
use super::log2::log2_fraction;
use super::{Log2, float};
use crate::hint::cold_path;

/// The bits by which a Q1.31 power at the exponent of the sum is shifted left.
const UP: u32 = 25;
/// The bit of the mantissa that stands for 1.0 · 2^exponent.
const POINT: i32 = 31 + UP as i32;
/// The most bits that the mantissa has between calls.
const MANTISSA_BITS: u32 = 62;
/// The low mantissa bits that are dropped when it has more.
const RENORMALISE: u32 = 4;

/// A sum of exponentials, kept as mantissa and exponent.
///
/// ```
/// use zhat::{Log2, LogSum};
///
/// let mut sum = LogSum::new();
/// sum.add(Log2::from_nats(1000.0));
/// sum.add(Log2::from_nats(1000.0));
/// assert!((sum.ln() - 1000.0 - core::f32::consts::LN_2).abs() < 1e-3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(C)] // a kernel writes it
pub struct LogSum {
    mantissa: u64,
    exponent: i32,
}

impl LogSum {
    /// Returns the empty sum.
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// assert!(LogSum::new().is_zero());
    /// ```
    pub const fn new() -> Self {
        Self { exponent: i32::MIN / 2, mantissa: 0 }
    }

    /// The number of terms that can be added before the mantissa must be checked for overflow.
    const CHUNK: usize = 1 << (MANTISSA_BITS - 32 - UP);

    /// Adds 2^`term`.
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// let mut sum = LogSum::new();
    /// sum.add(Log2::of(3));
    /// sum.add(Log2::of(5));
    /// assert!((sum.ln() - 8_f32.ln()).abs() < 1e-5);
    /// ```
    #[inline]
    pub fn add(&mut self, term: Log2) {
        self.put(term, exp2_fraction);
        self.renormalise();
    }

    /// Adds many terms, given as the bits of [`Log2`]s. Faster than calling [`LogSum::add`] for each.
    ///
    /// The result equals that of [`LogSum::add`] but for rounding: the last of the 63 bits may differ.
    #[inline(never)]
    pub fn add_all(&mut self, terms: &[i32]) {
        for chunk in terms.chunks(Self::CHUNK) {
            self.add_chunk(chunk);
            self.renormalise();
        }
    }

    /// Adds up to [`Self::CHUNK`] terms without renormalising.
    #[cfg(not(zhat_dsp))]
    fn add_chunk(&mut self, terms: &[i32]) {
        *self = self.with_chunk(terms);
    }

    /// Adds a chunk to a copy of the sum, which the compiler can keep in registers, and returns it.
    #[cfg(not(zhat_dsp))]
    #[inline(never)]
    fn with_chunk(mut self, terms: &[i32]) -> Self {
        let exp2 = Exp2::for_loop();
        for &bits in terms {
            self.put(Log2::from_bits(bits), |fraction| exp2.of_fraction(fraction));
        }
        self
    }

    #[cfg(zhat_dsp)]
    #[inline]
    fn add_chunk(&mut self, terms: &[i32]) {
        static TABLE: PowerTable = Exp2::TABLE;
        add_powers(self, terms, &TABLE);
    }

    /// Adds another sum.
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// let mut sum = LogSum::new();
    /// sum.add(Log2::of(4));
    /// let other = sum;
    /// sum.add_sum(&other);
    /// assert!((sum.ln() - 8_f32.ln()).abs() < 1e-5);
    /// ```
    pub fn add_sum(&mut self, other: &Self) {
        self.raise_to(other.exponent);
        self.mantissa += shift_right(other.mantissa, self.exponent - other.exponent);
        self.renormalise();
    }

    /// Subtracts another sum. The result is zero if the other sum is larger.
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// let mut sum = LogSum::new();
    /// sum.add(Log2::of(4));
    /// let other = sum;
    /// sum.subtract_sum(&other);
    /// assert!(sum.is_zero());
    /// ```
    pub fn subtract_sum(&mut self, other: &Self) {
        self.raise_to(other.exponent);
        self.mantissa = self.mantissa.saturating_sub(shift_right(other.mantissa, self.exponent - other.exponent));
    }

    /// Returns the sum times `number` / `divisor`, with a relative error of 2⁻³¹. A divisor of zero counts as one.
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// let mut sum = LogSum::new();
    /// sum.add(Log2::of(4));
    /// assert!((sum.scaled(3, 2).ln() - 6_f32.ln()).abs() < 1e-5);
    /// ```
    pub fn scaled(&self, number: u32, divisor: u32) -> Self {
        if self.mantissa == 0 || number == 0 {
            return Self::new();
        }
        let zeros = self.mantissa.leading_zeros();
        let product = ((self.mantissa << zeros) >> 32) * u64::from(number);
        // The product fills its word before it is divided, so that the quotient keeps 32 bits; two bits stay free.
        let room = product.leading_zeros();
        let mantissa = ((product << room) / u64::from(divisor.max(1))) >> (u64::BITS - MANTISSA_BITS);
        Self { mantissa, exponent: self.exponent + 34 - zeros as i32 - room as i32 }
    }

    /// Returns the sum times 2^`factor`, with a relative error of 2⁻³⁰.
    pub(crate) fn times(&self, factor: Log2) -> Self {
        let zeros = self.mantissa.leading_zeros();
        let leading = self.mantissa.wrapping_shl(zeros) >> 32;
        let mantissa = (leading * u64::from(exp2_fraction(factor.fraction()))) >> (u64::BITS - MANTISSA_BITS);
        let exponent = self.exponent.saturating_add(factor.floor()).saturating_add(3 - zeros as i32);
        if self.mantissa == 0 { Self::new() } else { Self { mantissa, exponent } }
    }

    /// Returns true with the probability that is the share of 2^`term` in the sum, given a uniform random number.
    ///
    /// Call it for one term after the other, each added to the sum first: the last term that won is drawn in proportion
    /// to its size.
    pub(crate) fn is_won_by(&mut self, term: Log2, random: u64) -> bool {
        let aligned = self.align(term);
        ((u128::from(random) * u128::from(self.mantissa)) >> 64) < u128::from(aligned)
    }

    /// Returns true if the sum is empty or holds only terms that stand for zero: within 128 of [`Log2::MIN`], which no
    /// score and no bias reaches.
    pub(crate) fn is_dust(&self) -> bool {
        self.mantissa == 0 || self.leading().1 < Log2::MIN.floor() + 128
    }

    /// Returns true if the sum is empty: nothing was added, or all of it was subtracted again.
    pub const fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Returns the natural logarithm of the sum; −∞ if it is empty.
    pub fn ln(&self) -> f32 {
        if self.mantissa == 0 {
            return f32::NEG_INFINITY;
        }
        const BITS: u32 = 26;
        let (mantissa, exponent) = self.leading();
        let log2 = (i64::from(exponent) << BITS) + i64::from(log2_fraction(mantissa, BITS));
        log2 as f32 * (core::f32::consts::LN_2 / (1u32 << BITS) as f32)
    }

    /// Returns the base-2 logarithm of the sum in fixed point; [`Log2::MIN`] if it is empty.
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// let mut sum = LogSum::new();
    /// sum.add(Log2::of(4));
    /// sum.add(Log2::of(4));
    /// assert_eq!(sum.log2(), Log2::of(8));
    /// ```
    pub fn log2(&self) -> Log2 {
        if self.mantissa == 0 {
            return Log2::MIN;
        }
        let (mantissa, exponent) = self.leading();
        let fraction = log2_fraction(mantissa, Log2::FRACTION_BITS);
        // The exponent of a sum of `Log2`s fits: one more than the largest term and 32 bits of count.
        Log2::from_bits((exponent.saturating_mul(1 << Log2::FRACTION_BITS)).saturating_add(fraction as i32))
    }

    /// Returns the base-2 logarithm of the sum with the error of [`float::rough_log2`]; −∞ if it is empty.
    pub(crate) fn rough_log2(&self) -> f32 {
        let (mantissa, exponent) = self.normalised();
        if mantissa == 0.0 { f32::NEG_INFINITY } else { exponent as f32 + mantissa - 1.0 }
    }

    /// Returns [`LogSum::rough_log2`] in the fixed point of [`Log2`], which is cheaper to compare many times.
    pub(crate) fn rough_bits(&self) -> i32 {
        if self.mantissa == 0 {
            return i32::MIN;
        }
        let (mantissa, exponent) = self.leading();
        let fraction = (mantissa << 1) >> (u32::BITS - Log2::FRACTION_BITS);
        exponent.saturating_mul(1 << Log2::FRACTION_BITS).saturating_add(fraction as i32)
    }

    /// Returns the share of 2^`term` in the sum, between 0 and 1, with a relative error of 2⁻²².
    ///
    /// ```
    /// use zhat::{Log2, LogSum};
    ///
    /// let mut sum = LogSum::new();
    /// sum.add(Log2::of(1));
    /// sum.add(Log2::of(3));
    /// assert!((sum.share(Log2::of(3)) - 0.75).abs() < 1e-6);
    /// ```
    pub fn share(&self, term: Log2) -> f32 {
        self.whole().share(term)
    }

    /// Returns the share of another sum in this one, between 0 and 1.
    pub fn share_of_sum(&self, part: &Self) -> f32 {
        let (mantissa, exponent) = part.normalised();
        self.whole().share_of(mantissa, exponent)
    }

    /// Returns the sum as three words for C: the exponent, then the mantissa, low word first.
    #[cfg(feature = "capi")]
    pub(crate) fn to_words(self) -> [u32; 3] {
        [self.exponent.cast_unsigned(), self.mantissa as u32, (self.mantissa >> 32) as u32]
    }

    /// Makes a sum of the words of [`LogSum::to_words`]. Other words give a valid but arbitrary sum.
    #[cfg(feature = "capi")]
    pub(crate) fn from_words([exponent, low, high]: [u32; 3]) -> Self {
        // No sum has an exponent outside of these; sums of such exponents have no overflow.
        let exponent = exponent.cast_signed().clamp(i32::MIN / 2, i32::MAX / 2);
        Self { exponent, mantissa: u64::from(high) << 32 | u64::from(low) }
    }

    /// Prepares the sum for computing many shares of it.
    pub(crate) fn whole(&self) -> Whole {
        let (mantissa, exponent) = self.normalised();
        Whole { mantissa, exponent }
    }

    /// Adds a term without renormalising.
    #[inline]
    fn put(&mut self, term: Log2, exp2_fraction: impl Fn(u32) -> u32) {
        let mut below = self.exponent.wrapping_sub(term.floor()) as u32;
        if below >= UP + u32::BITS {
            if below.cast_signed() > 0 {
                // Too small to change the sum.
                return;
            }
            cold_path();
            *self = self.raised_to(term.floor());
            below = 0;
        }
        let mut power = exp2_fraction(term.fraction());
        let mut weight = 1u32;
        if below <= UP {
            weight = (1 << UP) >> below;
        } else {
            cold_path();
            power >>= below - UP;
        }
        self.mantissa += u64::from(power) * u64::from(weight);
    }

    /// Raises the sum to the exponent of the term if that is higher, and returns the term's mantissa at the exponent of
    /// the sum.
    fn align(&mut self, term: Log2) -> u64 {
        let exponent = term.floor();
        self.raise_to(exponent);
        let power = u64::from(exp2_fraction(term.fraction())) << UP;
        shift_right(power, self.exponent - exponent)
    }

    #[inline]
    fn renormalise(&mut self) {
        if self.mantissa >> MANTISSA_BITS != 0 {
            cold_path();
            self.mantissa >>= RENORMALISE;
            self.exponent += RENORMALISE as i32;
        }
    }

    fn raise_to(&mut self, exponent: i32) {
        if exponent > self.exponent {
            *self = self.raised_to(exponent);
        }
    }

    /// Returns the sum as (m, e), where the value is m·2⁻³¹ · 2^e and m·2⁻³¹ is in [1, 2).
    fn leading(&self) -> (u32, i32) {
        let zeros = self.mantissa.leading_zeros();
        (((self.mantissa << zeros) >> 32) as u32, self.exponent - POINT + 63 - zeros as i32)
    }

    /// Returns the sum at a higher exponent. Takes it by value, so that the loops around it keep theirs in registers.
    #[inline(never)]
    fn raised_to(self, exponent: i32) -> Self {
        // Exponents lie within 2^31 of each other: the empty sum starts half way down.
        Self { mantissa: shift_right(self.mantissa, exponent.saturating_sub(self.exponent)), exponent }
    }

    /// Returns the sum as (m, e), where the value is m · 2^e and m is in [1, 2); zeros if it is empty.
    #[inline(never)]
    fn normalised(&self) -> (f32, i32) {
        if self.mantissa == 0 {
            return (0.0, 0);
        }
        let (mantissa, exponent) = self.leading();
        // f32 has 24 bits. Truncating, unlike rounding, keeps m below 2.
        ((mantissa >> 8) as f32 * (1.0 / (1u32 << 23) as f32), exponent)
    }
}

/// A sum prepared for computing many shares of it.
pub(crate) struct Whole {
    mantissa: f32,
    exponent: i32,
}

impl Whole {
    /// Returns the share of 2^`term`, see [`LogSum::share`].
    pub fn share(&self, term: Log2) -> f32 {
        let power = exp2_fraction(term.fraction()) as f32 * (1.0 / (1u32 << 31) as f32);
        self.share_of(power, term.floor())
    }

    /// Returns the share of `mantissa`·2^`exponent`, at most 1; zero if the sum is empty.
    #[inline(never)]
    fn share_of(&self, mantissa: f32, exponent: i32) -> f32 {
        let share = mantissa / self.mantissa * float::power_of_two(exponent.saturating_sub(self.exponent));
        if self.mantissa == 0.0 { 0.0 } else { share.min(1.0) }
    }
}

impl Default for LogSum {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn shift_right(value: u64, by: i32) -> u64 {
    if by < 64 { value >> by } else { 0 }
}

#[cfg(test)]
mod tests;
