//! Draws from a discrete distribution in constant time (Walker's alias method, with Vose's set-up).

use rand_core::Rng;
use rand_pcg::Pcg32;

use super::random::below;

/// A distribution over `0..n` to draw from.
#[derive(Clone, Debug)]
pub struct Alias {
    keep: Vec<f32>,
    other: Vec<u32>,
}

impl Alias {
    /// Makes the distribution that draws `i` in proportion to `weights[i]`, of which at least one is positive and none
    /// negative.
    pub fn new(weights: &[f64]) -> Self {
        let n = weights.len();
        let scale = n as f64 / weights.iter().sum::<f64>();
        let mut mass: Vec<f64> = weights.iter().map(|w| w * scale).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| mass[i] < 1.0);
        let mut keep = vec![1.0; n];
        let mut other: Vec<u32> = (0..n as u32).collect();
        while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
            keep[s] = mass[s] as f32;
            other[s] = l as u32;
            mass[l] -= 1.0 - mass[s];
            if mass[l] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        Self { keep, other }
    }

    /// Draws a number.
    pub fn draw(&self, rng: &mut Pcg32) -> u32 {
        let i = below(rng, self.keep.len() as u32);
        // 24 bits: exact in f32 and always below 1, so that an entry with its whole mass is always kept.
        let u = (rng.next_u32() >> 8) as f32 / 16_777_216.0;
        if u < self.keep[i as usize] { i } else { self.other[i as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn draws_follow_the_weights() {
        let weights = [5.0, 0.0, 1.0, 3.0, 0.5, 0.5];
        let alias = Alias::new(&weights);
        let mut rng = stream(3, Purpose::Noise, 0);
        let mut counts = [0_u32; 6];
        let draws = 200_000;
        for _ in 0..draws {
            counts[alias.draw(&mut rng) as usize] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let expected = weight / 10.0 * f64::from(draws);
            // Five standard deviations of a binomial count.
            assert!((f64::from(*count) - expected).abs() <= 5.0 * expected.sqrt());
        }
    }
}
