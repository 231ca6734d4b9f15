//! Means and standard deviations over queries, and how far they vary between seeds.

use serde::{Deserialize, Serialize};

/// μ and σ of 100·|Ẑ−Z|/Z over queries: means over the seeds, with their standard errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// μ, in per cent.
    pub mean: f64,
    /// Its standard error over the seeds; none for what is not random or had one seed.
    pub mean_error: Option<f64>,
    /// σ, in per cent.
    pub deviation: f64,
    /// Its standard error over the seeds.
    pub deviation_error: Option<f64>,
}

impl Cell {
    /// From the errors of every seed, one list of all queries for each.
    pub fn new(seeds: &[Vec<f64>]) -> Self {
        let of = |figure: fn(&[f64]) -> f64| -> (f64, Option<f64>) {
            let each: Vec<f64> = seeds.iter().map(|errors| figure(errors)).collect();
            let spread = (each.len() > 1).then(|| deviation(&each) / (each.len() as f64).sqrt());
            (mean(&each), spread)
        };
        let (mean, mean_error) = of(mean);
        let (deviation, deviation_error) = of(deviation);
        Self { mean, mean_error, deviation, deviation_error }
    }
}

/// 100·|Ẑ−Z|/Z of two logarithms.
pub fn relative_error(log_z: f32, truth: f32) -> f64 {
    100.0 * ((f64::from(log_z) - f64::from(truth)).exp() - 1.0).abs()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// With the divisor n − 1; zero for fewer than two.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if values.len() < 2 { 0.0 } else { (squares / (values.len() - 1) as f64).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_over_seeds_and_deviations_over_queries() {
        let cell = Cell::new(&[vec![1.0, 3.0], vec![2.0, 4.0], vec![3.0, 5.0]]);
        assert!((cell.mean - 3.0).abs() < 1e-12);
        assert!((cell.mean_error.unwrap() - 1.0 / 3f64.sqrt()).abs() < 1e-12);
        assert!((cell.deviation - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(cell.deviation_error, Some(0.0));
        assert_eq!(Cell::new(&[vec![7.0]]).mean_error, None);
    }

    #[test]
    fn an_estimate_of_nothing_is_off_by_all_of_it() {
        assert_eq!(relative_error(f32::NEG_INFINITY, 3.0), 100.0);
        assert!((relative_error(3.0 + 2f32.ln(), 3.0) - 100.0).abs() < 1e-4);
        assert_eq!(relative_error(3.0, 3.0), 0.0);
    }
}
