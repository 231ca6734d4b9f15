//! Temperature scaling: fits the one number that makes a layer's probabilities agree with its labels.
//!
//! p = softmax(u/T) with T the minimum of the mean −ln p of the labels (Guo et al., "On Calibration of Modern Neural
//! Networks", 2017). The loss is convex in 1/T, so a grid and two refinements of it find the minimum; each pass over
//! the scores serves all temperatures of a grid.

use rayon::prelude::*;

use super::Matrix;
use super::evaluate::{FloatLayer, scores};

/// The most scores that are used; further queries are left out.
const MOST_SCORES: usize = 40_000_000;
/// The number of temperatures in one pass, and the number of passes.
const GRID: usize = 13;
const PASSES: usize = 3;
/// The end of the range of T, from 1/10 to 10.
const WIDEST: f32 = 10.0;

/// Returns the temperature at which the labels are most probable.
///
/// # Panics
/// If there are fewer labels than queries, or one is not a class.
///
/// ```
/// use zhat::host::{Kind, Layer, fit_temperature};
///
/// let layer = Layer::generate(60, 8, 1);
/// let queries = layer.queries(Kind::Classifier, 50, 2);
/// let labels = vec![0; 50]; // the true classes
/// assert!(fit_temperature(&layer.weights, &layer.biases, &queries, &labels) > 1.0);
/// ```
pub fn fit_temperature(weights: &Matrix, biases: &[f32], queries: &Matrix, labels: &[usize]) -> f32 {
    let layer = FloatLayer { weights, biases, temperature: 1.0 };
    let count = (MOST_SCORES / weights.rows().max(1)).clamp(100, queries.rows().max(100)).min(queries.rows());
    let step = (queries.rows() / count.max(1)).max(1);
    let picked: Vec<usize> = (0..queries.rows()).step_by(step).collect();
    let (mut low, mut high) = (-WIDEST.ln(), WIDEST.ln());
    for _ in 0..PASSES {
        let grid: Vec<f32> = (0..GRID).map(|i| low + (high - low) * i as f32 / (GRID - 1) as f32).collect();
        let losses = picked
            .par_iter()
            .map(|&query| losses(&layer, queries.row(query), labels[query], &grid))
            .collect::<Vec<_>>()
            .into_iter()
            .fold(vec![0.0; GRID], |sums: Vec<f64>, one| sums.iter().zip(one).map(|(sum, x)| sum + x).collect());
        let best = (0..GRID).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(GRID / 2);
        (low, high) = (grid[best.saturating_sub(1)], grid[(best + 1).min(GRID - 1)]);
    }
    (0.5 * (low + high)).exp()
}

/// Computes −ln p of the label at each temperature.
fn losses(layer: &FloatLayer<'_>, query: &[f32], label: usize, grid: &[f32]) -> Vec<f64> {
    let scores = scores(layer, query);
    let max = scores.iter().fold(f32::NEG_INFINITY, |m, &s| m.max(s));
    let loss = |ln_t: &f32| {
        let scale = (-ln_t).exp();
        let sum: f64 = scores.iter().map(|s| f64::from(((s - max) * scale).exp())).sum();
        sum.ln() - f64::from((scores[label] - max) * scale)
    };
    grid.iter().map(loss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temperature_that_labels_were_drawn_at_is_found() {
        // Two classes, score difference x: labels drawn with p = 1/(1+exp(-x/T)) in exact proportion.
        let weights = Matrix::new(vec![1.0, 0.0], 1).expect("two rows");
        for truth in [0.5_f32, 1.0, 2.5] {
            let (mut queries, mut labels) = (Vec::new(), Vec::new());
            for x in [-2.0_f32, -1.0, 0.5, 1.0, 3.0] {
                let p = 1.0 / (1.0 + (-x / truth).exp());
                for i in 0..400 {
                    queries.push(x);
                    labels.push(usize::from(i as f32 >= p * 400.0));
                }
            }
            let queries = Matrix::new(queries, 1).expect("one column");
            let found = fit_temperature(&weights, &[0.0; 2], &queries, &labels);
            assert!((found / truth - 1.0).abs() < 0.03, "{found} {truth}");
        }
    }
}
