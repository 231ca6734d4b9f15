//! Means over queries and seeds, and their standard errors.

use serde::{Deserialize, Serialize};

/// μ and σ of 100·|Ẑ−Z|/Z: the mean over queries and seeds, and the standard error of that mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// μ, in per cent.
    pub mean: f64,
    /// σ, in per cent: the deviation between queries, each with the mean of its seeds, over √queries.
    pub error: f64,
}

impl Cell {
    /// Computes μ and σ from the errors of every seed, one list of all queries for each.
    pub fn new(seeds: &[Vec<f64>]) -> Self {
        let queries = seeds.first().map_or(0, Vec::len);
        let own = |query: usize| mean(&seeds.iter().map(|errors| errors[query]).collect::<Vec<_>>());
        let means: Vec<f64> = (0..queries).map(own).collect();
        Self { mean: mean(&means), error: deviation(&means) / (queries.max(1) as f64).sqrt() }
    }
}

/// The answers of one estimator under one condition.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// 100·|Ẑ−Z|/Z, for each seed of each query.
    pub errors: Vec<Vec<f64>>,
    /// The work of every answer.
    pub works: Vec<f64>,
    /// 1 if the best class was found and 0 if not, for estimators that search for it.
    pub hits: Vec<f64>,
    /// The steps of the solver, if there is one.
    pub steps: Vec<f64>,
}

impl Series {
    /// Adds other seeds.
    pub fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.works.extend(other.works);
        self.hits.extend(other.hits);
        self.steps.extend(other.steps);
    }

    /// Computes μ and σ.
    pub fn cell(&self) -> Cell {
        Cell::new(&self.errors)
    }
}

/// Computes 100·|Ẑ−Z|/Z from two logarithms.
pub fn relative_error(log_z: f32, truth: f32) -> f64 {
    100.0 * ((f64::from(log_z) - f64::from(truth)).exp() - 1.0).abs()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the mean, if there are any values.
pub fn some_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| mean(values))
}

/// Computes the standard deviation with the divisor n − 1; zero for fewer than two values.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if values.len() < 2 { 0.0 } else { (squares / (values.len() - 1) as f64).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigma_is_the_standard_error_of_the_mean() {
        let cell = Cell::new(&[vec![1.0, 3.0], vec![2.0, 4.0], vec![3.0, 5.0]]);
        // The queries' means are 2 and 4: a deviation of √2 over √2.
        assert!((cell.mean - 3.0).abs() < 1e-12 && (cell.error - 1.0).abs() < 1e-12, "{cell:?}");
        assert_eq!(Cell::new(&[vec![7.0]]), Cell { mean: 7.0, error: 0.0 });
        // Four times the queries: half the error.
        let many = |n: usize| Cell::new(&[(0..n).map(|i| (i % 2) as f64).collect()]).error;
        assert!((many(100) / many(400) - 2.0).abs() < 0.02);
    }

    #[test]
    fn an_estimate_of_nothing_is_off_by_all_of_it() {
        assert_eq!(relative_error(f32::NEG_INFINITY, 3.0), 100.0);
        assert!((relative_error(3.0 + 2f32.ln(), 3.0) - 100.0).abs() < 1e-4);
        assert_eq!(relative_error(3.0, 3.0), 0.0);
    }
}
