//! The random vectors of the features, generated from seed and number each time: the same on host and device.

use rand_core::Rng;
use rand_pcg::Pcg32;

use crate::math::float;

/// A generator for one feature: the states of neighbouring features are far apart (SplitMix64's mixing), their streams
/// are different.
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

    /// The dot product of the next vector with these columns.
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

    /// Two numbers (Box and Muller).
    fn pair(&mut self) -> [i16; 2] {
        const STEP: f32 = 1.0 / (1u32 << 24) as f32;
        // In (0, 1]: the logarithm is finite, and the radius at most 5.8.
        let radius = float::sqrt(-2.0 * libm::logf(((self.0.next_u32() >> 8) + 1) as f32 * STEP));
        let angle = (self.0.next_u32() >> 8) as f32 * STEP * core::f32::consts::TAU;
        let scale = radius * (1u32 << Self::FRACTION_BITS) as f32;
        [libm::cosf(angle), libm::sinf(angle)].map(|unit| float::round(unit * scale) as i16)
    }

    /// The dot product with these columns, in units of 2⁻⁸.
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
