//! FMBE: random features, with which Z is one dot product with a table.
//!
//! If E[φ_j(v)·φ_j(q)] = exp(v·q), then P features estimate all of Z at once,
//!
//! ```text
//! Z = Σ_i exp(b_i)·exp(v_i·q) ≈ Σ_j λ̃_j·φ_j(q)        λ̃_j = 1/P · Σ_i exp(b_i)·φ_j(v_i)
//! ```
//!
//! with λ̃ computed by the builder (section 15 of the file). No row is read, and the cost does not depend on N.
//!
//! The source is Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section 4.3, with the features of Kar
//! and Karnick, "Random Feature Maps for Dot Product Kernels" (2012): φ_j(x) = √(a_M·p^(M+1))·Π_{r≤M} ω_r·x with a_M =
//! 1/M!, p = 2 and M drawn with probability p^−(M+1). The Maclaurin kind is the paper's, apart from the factor 1/P,
//! without which the mean would be P·Z (the paper leaves it out), and the biases, which the paper's rows do not have.
//! The random vectors are generated from the seed each time and are not stored.
//!
//! | kind | φ(x) | sign | cost in rows |
//! |---|---|---|---|
//! | Maclaurin | √(2^(n+1)/n!)·Π_{r≤n} ω_r·x, degree n with probability 2^−(n+1), ω ∈ {±1}^d | any | about P |
//! | centred | the same of v − μ for degrees ≥ 3, times exp(μ·q); degrees 0, 1, 2 exactly | any | about 4·P + d/2 |
//! | positive | exp(ω·x − ‖x‖²/2), ω Gaussian (FAVOR+; Choromanski et al., 2021) | positive | P |
//!
//! Centred: about the weighted mean μ of the rows the first degree vanishes and the second is ½·qᵀCq, so with W = Σ
//! exp(b_i), Ẑ = W·exp(μ·q)·(1 + ½·qᵀCq + features). The estimate is raised to W·exp(μ·q) if it is below, as Z never is
//! (Jensen). The Maclaurin kind can sum to a negative number: then the estimate is empty, ln Ẑ = −∞.
//!
//! The variance of all three grows exponentially with ‖v‖·‖q‖, and real output layers are far beyond their range. Mean
//! (median) of |Ẑ−Z|/Z on a synthetic layer of small norms, ‖v‖·‖q‖ about 0.6, on a language model's (1.4·7.9) and on
//! an OCR recogniser's (1.4·35):
//!
//! | kind | P | small norms | language model | OCR |
//! |---|---|---|---|---|
//! | Maclaurin | 800 or 1000 | 2.5 % | 2·10⁴ (1) | 10¹⁵ (1) |
//! | Maclaurin | 12 800 or 10 000 | 0.6 % | 2·10³ (7) | 10¹⁷ (1) |
//! | centred | 800 or 1000 | 0.03 % | 4·10³ (1) | 6·10⁵ (8) |
//! | centred | 12 800 or 10 000 | 0.006 % | 5·10² (2.6) | 7·10⁴ (2.5) |
//! | positive | 800 or 1000 | 3.3 % | 1 (1) | 1 (1) |
//! | positive | 12 800 or 10 000 | 0.8 % | 1 (1) | 1 (1) |
//!
//! With small norms the exact low degrees reduce the error a hundredfold; an error of 1 means an estimate near zero.
//! Use FMBE to compare, or on layers that were trained to keep their norms small.

use rand_core::Rng;
use rand_pcg::Pcg32;

use super::Estimate;
use crate::Error;
use crate::math::{Log2, LogSum, float};
use crate::model::{Fmbe, FmbeKind, Model, Section};
use crate::rows::Query;
use crate::search::Work;

/// Estimates Z by FMBE: with the table of random features in the model file.
///
/// ```text
/// Z = Σ_i exp(b_i)·exp(v_i·q) ≈ Σ_j λ̃_j·φ_j(q)        λ̃_j = 1/P · Σ_i exp(b_i)·φ_j(v_i)
/// ```
///
/// *Source:* Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), with the features of Kar and Karnick,
/// "Random Feature Maps for Dot Product Kernels" (2012); [`FmbeKind`] lists the variants. The Maclaurin kind is the
/// paper's, but for the factor 1/P, without which the mean would be P·Z, and the biases, which the paper's rows do not
/// have. `zhat::host::with_fmbe` computes λ̃.
///
/// *Costs* about one dot product with a generated vector of signs for each of the P features, whatever N is. No row is
/// read.
///
/// *Use it* to compare, or on layers that were trained to keep their norms small: the variance grows exponentially with
/// ‖v‖·‖q‖, and for real output layers the estimate is useless. If the features sum to a negative number, the estimate
/// is empty.
///
/// ```
/// # let bytes = zhat::doc_file("tests/data/centred.zhat");
/// use zhat::{Model, QueryBuffer, estimators::fmbe};
///
/// let model = Model::from_bytes(bytes)?;
/// let query = QueryBuffer::<16>::new(&model, &[0.1; 16][..model.dim()])?;
/// let estimate = fmbe(&model, &query)?;
/// println!("ln Z is {:.2}", estimate.log_z());
/// # Ok::<(), zhat::Error>(())
/// ```
///
/// # Errors
/// [`Error::MissingSection`] if the file has no such table; [`Error::NoQuery`] or [`Error::OtherModel`] for the query.
pub fn fmbe(model: &Model<'_>, query: &Query) -> Result<Estimate, Error> {
    query.check(model)?;
    let table = model.fmbe().ok_or(Error::MissingSection(Section::Fmbe.kind()))?;
    let (z, dots) = match table.kind() {
        FmbeKind::Maclaurin => maclaurin(table, query, Log2::from_bits(0)),
        FmbeKind::Centred => centred(table, query),
        FmbeKind::Positive => positive(table, query),
    };
    let bytes = u32::try_from(table.bytes()).unwrap_or(u32::MAX);
    Ok(Estimate::plain(z.floored(), Work { rows: dots, nodes: 0, bytes }))
}

/// A sum of positive and negative terms.
struct Signed {
    above: LogSum,
    below: LogSum,
    floor: LogSum,
}

impl Signed {
    fn new() -> Self {
        Self { above: LogSum::new(), below: LogSum::new(), floor: LogSum::new() }
    }

    fn add(&mut self, term: Log2, negative: bool) {
        if negative { self.below.add(term) } else { self.above.add(term) }
    }

    fn floored(self) -> LogSum {
        let mut sum = self.above;
        sum.subtract_sum(&self.below);
        // A share of one or more means that the sum is not above the floor.
        if !self.floor.is_zero() && (sum.is_zero() || sum.share_of_sum(&self.floor) >= 1.0) { self.floor } else { sum }
    }
}

/// Sums λ̃_j·Π ω·q, each term times 2^`factor`. Also returns the number of dot products.
fn maclaurin(table: &Fmbe<'_>, query: &Query, factor: Log2) -> (Signed, u32) {
    // A sum of the query's columns is ω·q·log₂e·2^exponent. This term turns its logarithm into that of ω·q.
    let unit = Log2::from_bits(-(query.exponent() << Log2::FRACTION_BITS)).saturating_add(LOG2_OF_LN_2);
    let mut sum = Signed::new();
    let mut dots = 0u32;
    for (feature, (degree, size, mut negative)) in table.iter().enumerate() {
        let mut term = size.saturating_add(factor);
        let mut signs = Signs::new(table.seed(), feature as u32);
        let mut zero = false;
        for _ in 0..degree {
            let dot = signs.dot(query.columns());
            term = term.saturating_add(Log2::of(dot.unsigned_abs()).saturating_add(unit));
            negative ^= dot < 0;
            zero |= dot == 0;
        }
        dots = dots.saturating_add(degree as u32);
        if !zero {
            sum.add(term, negative);
        }
    }
    (sum, dots)
}

/// log₂(ln 2).
const LOG2_OF_LN_2: Log2 = Log2::from_bits(-138_613);

fn centred(table: &Fmbe<'_>, query: &Query) -> (Signed, u32) {
    let mean: f32 = table.mean().iter().enumerate().map(|(column, mean)| mean * query.value(column)).sum();
    let mut spread = 0.0_f32;
    let mut at = 0;
    for row in 0..table.mean().len() {
        let values = table.covariance().get(at..=at + row).unwrap_or(&[]);
        let dot: f32 = values.iter().enumerate().map(|(column, value)| value * query.value(column)).sum();
        // Every pair of columns is stored once and counts twice, except on the diagonal.
        let own = values.last().map_or(0.0, |value| value * query.value(row));
        spread += (dot - own * 0.5) * query.value(row);
        at += row + 1;
    }
    let level = table.log_weight().saturating_add(Log2::from_nats(mean));
    let (mut sum, dots) = maclaurin(table, query, level);
    sum.floor.add(level);
    sum.add(level, false);
    if spread > 0.0 {
        sum.add(level.saturating_add(Log2::from_nats(float::ln(spread))), false);
    }
    (sum, dots.saturating_add(1 + table.mean().len().div_ceil(2) as u32))
}

fn positive(table: &Fmbe<'_>, query: &Query) -> (Signed, u32) {
    let half_square = Log2::from_nats(0.5 * query.norm() * query.norm());
    let mut sum = Signed::new();
    for (feature, (_, size, _)) in table.iter().enumerate() {
        let dot = Gaussians::new(table.seed(), feature as u32).dot(query.columns());
        // The columns carry log₂e: the dot product is a base-2 logarithm already.
        let shift = query.exponent() + Gaussians::FRACTION_BITS as i32 - Log2::FRACTION_BITS as i32;
        let bits = if shift >= 0 { dot >> shift.min(63) } else { dot.saturating_mul(1 << (-shift).min(40)) };
        let exponent = Log2::from_bits(bits.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        sum.add(size.saturating_add(exponent).saturating_sub(half_square), false);
    }
    (sum, table.features() as u32)
}

// The random vectors of the features. They are generated from seed and feature number each time, and are the same on
// host and device.

/// Returns a generator for one feature. The states of neighbouring features are far apart (SplitMix64's mixing), and
/// their streams differ.
fn generator(seed: u64, feature: u32) -> Pcg32 {
    let mut state = seed.wrapping_add(u64::from(feature).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Pcg32::new(state ^ state >> 31, u64::from(feature))
}

/// Vectors of ±1.
pub(crate) struct Signs(Pcg32);

impl Signs {
    pub fn new(seed: u64, feature: u32) -> Self {
        Self(generator(seed, feature))
    }

    /// Computes the dot product of the next vector with these columns.
    pub fn dot(&mut self, columns: impl Iterator<Item = i32>) -> i64 {
        let mut sum = 0;
        self.each(columns, |value, negative| sum += i64::from(if negative { -value } else { value }));
        sum
    }

    /// Calls `each(item, negative)` with the signs of the next vector: thirty-two from each word, lowest bit first.
    pub fn each<T>(&mut self, items: impl Iterator<Item = T>, mut each: impl FnMut(T, bool)) {
        let mut word = 0;
        for (place, item) in items.enumerate() {
            if place % 32 == 0 {
                word = self.0.next_u32();
            }
            each(item, word & 1 == 1);
            word >>= 1;
        }
    }
}

/// A vector of standard normal numbers, rounded to 2⁻⁸ so that dot products are whole numbers.
pub(crate) struct Gaussians(Pcg32);

impl Gaussians {
    pub const FRACTION_BITS: u32 = 8;

    pub fn new(seed: u64, feature: u32) -> Self {
        Self(generator(seed, feature))
    }

    /// Draws two numbers (Box and Muller).
    fn pair(&mut self) -> [i16; 2] {
        const STEP: f32 = 1.0 / (1u32 << 24) as f32;
        // In (0, 1]: the logarithm is finite, and the radius at most 5.8.
        let radius = float::sqrt(-2.0 * libm::logf(((self.0.next_u32() >> 8) + 1) as f32 * STEP));
        let angle = (self.0.next_u32() >> 8) as f32 * STEP * core::f32::consts::TAU;
        let scale = radius * (1u32 << Self::FRACTION_BITS) as f32;
        [libm::cosf(angle), libm::sinf(angle)].map(|unit| float::round(unit * scale) as i16)
    }

    /// Computes the dot product with these columns, in units of 2⁻⁸.
    pub fn dot(&mut self, columns: impl Iterator<Item = i32>) -> i64 {
        let mut sum = 0;
        self.each(columns, |value, normal| sum += i64::from(value) * i64::from(normal));
        sum
    }

    /// Calls `each(item, number)`, the number in units of 2⁻⁸.
    pub fn each<T>(&mut self, items: impl Iterator<Item = T>, mut each: impl FnMut(T, i16)) {
        let mut second = None;
        for item in items {
            let number = second.take().unwrap_or_else(|| {
                let [first, next] = self.pair();
                second = Some(next);
                first
            });
            each(item, number);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_constant_is_the_logarithm_of_ln_2() {
        let truth = core::f64::consts::LN_2.log2() * f64::from(1u32 << super::Log2::FRACTION_BITS);
        assert!((f64::from(super::LOG2_OF_LN_2.to_bits()) - truth).abs() <= 0.5, "{truth}");
    }
}

#[cfg(test)]
mod features_tests {
    use super::*;

    #[test]
    fn signs_are_fair_and_independent_between_features() {
        let n = 20_000u32;
        let mut sums = [0i32; 3];
        for feature in 0..n {
            let mut signs = Signs::new(5, feature);
            let mut next = Signs::new(5, feature + 1);
            let (mut own, mut other) = ([false; 40], [false; 40]);
            signs.each(own.iter_mut(), |slot, negative| *slot = negative);
            next.each(other.iter_mut(), |slot, negative| *slot = negative);
            let agree = |a, b| if a == b { 1 } else { -1 };
            sums[0] += agree(own[0], false);
            sums[1] += agree(own[0], own[39]);
            sums[2] += agree(own[7], other[7]);
        }
        // The standard deviation is √20000 = 141.
        assert!(sums.iter().all(|sum| sum.abs() < 600), "{sums:?}");
    }

    #[test]
    fn gaussians_have_the_moments_of_the_normal_distribution() {
        let (mut first, mut second, mut fourth, mut count) = (0.0_f64, 0.0, 0.0, 0.0);
        for feature in 0..2000 {
            Gaussians::new(3, feature).each(0..50, |_, number| {
                let x = f64::from(number) / 256.0;
                (first, second, fourth, count) = (first + x, second + x * x, fourth + x.powi(4), count + 1.0);
            });
        }
        assert!((first / count).abs() < 0.015, "{}", first / count);
        assert!((second / count - 1.0).abs() < 0.02, "{}", second / count);
        assert!((fourth / count - 3.0).abs() < 0.15, "{}", fourth / count);
    }
}
