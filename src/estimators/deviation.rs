//! The standard error of a mean of exponentials, with their size kept apart.
//!
//! Samples are taken as 2^(term − largest), in f32, and rescaled when a larger one comes: nothing overflows, and a
//! sample that is 2⁻¹²⁶ of the largest one is zero, as it is for the error. Equal samples have an error of exactly zero.

use crate::math::{Log2, float};

/// Mean and squared deviations of samples (Welford), and squared differences of neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deviation {
    count: u32,
    /// What 1.0 stands for.
    unit: Log2,
    mean: f32,
    /// Σ (x − mean)².
    squares: f32,
    last: f32,
    /// Σ (xᵢ − xᵢ₋₁)².
    steps: f32,
}

impl Deviation {
    pub const fn new() -> Self {
        Self { count: 0, unit: Log2::MIN, mean: 0.0, squares: 0.0, last: 0.0, steps: 0.0 }
    }

    pub fn add(&mut self, term: Log2) {
        if term > self.unit {
            // Below the first sample there is nothing to rescale, and the difference would saturate.
            let shrink = if self.count == 0 { 0.0 } else { self.unit.saturating_sub(term).exp2() };
            self.unit = term;
            self.mean *= shrink;
            self.last *= shrink;
            self.squares *= shrink * shrink;
            self.steps *= shrink * shrink;
        }
        self.add_size(term.saturating_sub(self.unit).exp2());
    }

    /// A sample that is zero.
    pub fn add_zero(&mut self) {
        self.add_size(0.0);
    }

    fn add_size(&mut self, size: f32) {
        self.count += 1;
        let before = size - self.mean;
        self.mean += before / self.count as f32;
        self.squares += before * (size - self.mean);
        if self.count > 1 {
            self.steps += (size - self.last) * (size - self.last);
        }
        self.last = size;
    }

    /// The relative standard error of the mean of samples drawn without replacement from `population`: the last factor
    /// is the finite-population correction. `None` with fewer than two samples.
    pub fn of_sample(&self, population: u32) -> Option<f32> {
        if self.count >= population {
            return Some(0.0);
        }
        let rest = 1.0 - self.count as f32 / population as f32;
        self.relative(self.squares / (self.count as f32 - 1.0) * rest)
    }

    /// The relative standard error of the mean of samples drawn one from each of equal strata, in order. Neighbouring
    /// strata are taken to have the same mean, which errs on the safe side.
    pub fn of_strata(&self) -> Option<f32> {
        self.relative(self.steps / (2.0 * (self.count as f32 - 1.0)))
    }

    fn relative(&self, variance: f32) -> Option<f32> {
        if self.count < 2 {
            return None;
        }
        let error = float::sqrt(variance.max(0.0) / self.count as f32);
        Some(if self.mean > 0.0 { error / self.mean } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nats: &[f32]) -> Deviation {
        let mut deviation = Deviation::new();
        nats.iter().for_each(|&term| deviation.add(Log2::from_nats(term)));
        deviation
    }

    #[test]
    fn it_is_the_textbook_formula_in_any_order_and_at_any_size() {
        let terms = [0.3_f32, -2.0, 1.9, 0.0, -0.4, 2.2, -7.0];
        let sizes: Vec<f64> = terms.iter().map(|&t| f64::from(t).exp()).collect();
        let mean = sizes.iter().sum::<f64>() / 7.0;
        let variance = sizes.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 6.0;
        let truth = (variance / 7.0 * (1.0 - 7.0 / 50.0)).sqrt() / mean;
        for shift in [-3000.0, 0.0, 3000.0] {
            let mut shifted = terms.map(|t| t + shift);
            for _ in 0..7 {
                shifted.rotate_left(1);
                let error = of(&shifted).of_sample(50).expect("seven samples");
                assert!((f64::from(error) / truth - 1.0).abs() < 2e-3, "{error} {truth}");
            }
        }
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!(of(&[]).of_sample(9), None);
        assert_eq!(of(&[1.0]).of_sample(9), None);
        assert_eq!(of(&[1.0]).of_strata(), None);
        assert_eq!(of(&[1.0]).of_sample(1), Some(0.0));
        assert_eq!(of(&[3.3; 40]).of_sample(100), Some(0.0));
        assert_eq!(of(&[3.3; 40]).of_strata(), Some(0.0));
        let mut zeros = Deviation::new();
        zeros.add_zero();
        zeros.add_zero();
        assert_eq!(zeros.of_strata(), Some(0.0));
    }
}
