//! Computes the exact ln Z, top classes and spread of many queries at once, by blocked matrix products.
//!
//! A block of queries times a block of rows is one product. ln Z = m + ln Σ exp(u − m) is kept as a running maximum and
//! a sum for each query, so that memory is a few blocks whatever N and the number of queries are. Blocks of rows run in
//! parallel and are joined in order, so the bits are the same on any number of cores. The quantised layer is
//! dequantised block by block; its ln Z agrees with the integer [`exact`](crate::exact) to 1e-5.

use rayon::prelude::*;

use crate::host::{Matrix, linear};
use crate::{Error, Model, QueryBuffer};

/// The number of rows in one product.
const ROWS: usize = 2048;
/// The distance in nats below the largest term at which terms are dropped: together they are below N·e⁻⁴⁰.
const NEGLIGIBLE: f32 = -40.0;

/// Rows with biases, which can be read as floats in blocks.
pub trait Rows: Sync {
    /// Returns the number of rows.
    fn count(&self) -> usize;
    /// Appends the weights and biases of rows `first..first + count` to the two lists.
    fn block(&self, first: usize, count: usize, weights: &mut Vec<f32>, biases: &mut Vec<f32>);
    /// Returns the class of a row.
    fn class(&self, row: usize) -> u32;
    /// Returns the score of one class.
    fn score(&self, class: usize, query: &[f32]) -> f32;
}

/// The given float layer, at a temperature.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::evaluate::{FloatLayer, scores};
///
/// let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
/// assert_eq!(scores(&float, &[0.0; 8]), layer.biases);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FloatLayer<'a> {
    /// One row for each class.
    pub weights: &'a Matrix,
    /// One bias for each class.
    pub biases: &'a [f32],
    /// The temperature that scores are divided by.
    pub temperature: f32,
}

impl Rows for FloatLayer<'_> {
    fn count(&self) -> usize {
        self.weights.rows()
    }

    fn block(&self, first: usize, count: usize, weights: &mut Vec<f32>, biases: &mut Vec<f32>) {
        let cols = self.weights.cols();
        weights.extend(self.weights.data()[first * cols..][..count * cols].iter().map(|w| w / self.temperature));
        biases.extend(self.biases[first..][..count].iter().map(|b| b / self.temperature));
    }

    fn class(&self, row: usize) -> u32 {
        row as u32
    }

    fn score(&self, class: usize, query: &[f32]) -> f32 {
        (linear::dot(self.weights.row(class), query) + self.biases[class]) / self.temperature
    }
}

/// The bias of a masked class: finite, so that sums over masked classes only are finite too.
const MASKED: f32 = -2000.0;

/// The rows of a model file, as floats. Queries have to be [`quantised`].
#[derive(Clone, Copy, Debug)]
pub struct QuantisedLayer<'a>(pub &'a Model<'a>);

impl Rows for QuantisedLayer<'_> {
    fn count(&self) -> usize {
        self.0.classes()
    }

    fn block(&self, first: usize, count: usize, weights: &mut Vec<f32>, biases: &mut Vec<f32>) {
        let model = self.0;
        for row in first..first + count {
            let step = model.row_scale(row);
            weights.extend(model.rows().weights(row).take(model.dim()).map(|v| f32::from(v) * step));
            let bias = model.rows().bias(row).to_nats();
            biases.push(if model.rows().is_masked(row) { MASKED } else { bias });
        }
    }

    fn class(&self, row: usize) -> u32 {
        self.0.class_of_row(row) as u32
    }

    fn score(&self, class: usize, query: &[f32]) -> f32 {
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        self.block(self.0.row_of_class(class).unwrap_or(0), 1, &mut weights, &mut biases);
        linear::dot(&weights, query) + biases[0]
    }
}

/// Returns the values of these queries as the model quantises them.
///
/// # Errors
/// The number of the first query that the model refuses, and the reason.
pub fn quantised(model: &Model<'_>, queries: &[f32]) -> Result<Vec<f32>, (usize, Error)> {
    let mut buffer = Box::new(QueryBuffer::<{ crate::kernels::MAX_DIM }>::empty());
    let mut values = Vec::with_capacity(queries.len());
    for (i, query) in queries.chunks_exact(model.dim()).enumerate() {
        buffer.set(model, query).map_err(|error| (i, error))?;
        values.extend((0..model.dim()).map(|column| buffer.value(column)));
    }
    Ok(values)
}

/// The exact answer to a query.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    /// ln Z.
    pub log_z: f32,
    /// The best classes with their scores, best first.
    pub top: Vec<(u32, f32)>,
    /// The standard deviation of the scores over the classes.
    pub spread: f32,
}

impl Exact {
    /// Returns the probability of the best class.
    pub fn top_p(&self) -> f32 {
        self.top.first().map_or(0.0, |&(_, score)| (score - self.log_z).exp())
    }
}

/// Computes the exact answers to a block of queries, with the best `k` classes.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::evaluate::{FloatLayer, exact};
///
/// let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
/// let answers = exact(&float, &[0.0; 8], 8, 3);
/// assert!(answers[0].top_p() > 1.0 / 60.0);
/// ```
pub fn exact(rows: &impl Rows, queries: &[f32], cols: usize, k: usize) -> Vec<Exact> {
    let starts: Vec<usize> = (0..rows.count()).step_by(ROWS).collect();
    let parts: Vec<Vec<Partial>> = starts.par_iter().map(|&first| partial(rows, queries, cols, k, first)).collect();
    let mut joined = vec![Partial::new(k); queries.len() / cols];
    for part in &parts {
        joined.iter_mut().zip(part).for_each(|(all, part)| all.join(part));
    }
    joined.into_iter().map(|all| all.finish()).collect()
}

/// Computes every score of one query, in the order of the rows.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::evaluate::{FloatLayer, scores};
///
/// let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
/// assert_eq!(scores(&float, &[0.0; 8]).len(), 60);
/// ```
pub fn scores(rows: &impl Rows, query: &[f32]) -> Vec<f32> {
    let (mut weights, mut biases) = (Vec::new(), Vec::new());
    let mut scores = Vec::with_capacity(rows.count());
    for first in (0..rows.count()).step_by(ROWS) {
        weights.clear();
        biases.clear();
        rows.block(first, ROWS.min(rows.count() - first), &mut weights, &mut biases);
        let block = linear::times_transposed(query, &weights, query.len());
        scores.extend(block.iter().zip(&biases).map(|(score, bias)| score + bias));
    }
    scores
}

#[derive(Clone)]
struct Partial {
    max: f32,
    sum: f64,
    top: Vec<(u32, f32)>,
    k: usize,
    scores: f64,
    squares: f64,
    finite: usize,
}

impl Partial {
    fn new(k: usize) -> Self {
        Self { max: f32::NEG_INFINITY, sum: 0.0, top: Vec::new(), k, scores: 0.0, squares: 0.0, finite: 0 }
    }

    fn join(&mut self, other: &Self) {
        let max = self.max.max(other.max);
        if max == f32::NEG_INFINITY {
            return;
        }
        let scale = |from: f32| f64::from(from - max).exp();
        self.sum = self.sum * scale(self.max) + other.sum * scale(other.max);
        self.max = max;
        self.scores += other.scores;
        self.squares += other.squares;
        self.finite += other.finite;
        other.top.iter().for_each(|&(class, score)| self.offer(class, score));
    }

    fn offer(&mut self, class: u32, score: f32) {
        let at = self.top.partition_point(|&(c, s)| s > score || (s == score && c < class));
        if at < self.k {
            self.top.insert(at, (class, score));
            self.top.truncate(self.k);
        }
    }

    fn finish(self) -> Exact {
        let n = self.finite.max(1) as f64;
        let variance = (self.squares / n - (self.scores / n) * (self.scores / n)).max(0.0);
        Exact { log_z: (f64::from(self.max) + self.sum.ln()) as f32, top: self.top, spread: variance.sqrt() as f32 }
    }
}

/// Computes one block of rows for all queries.
fn partial(rows: &impl Rows, queries: &[f32], cols: usize, k: usize, first: usize) -> Vec<Partial> {
    let count = ROWS.min(rows.count() - first);
    let (mut weights, mut biases) = (Vec::with_capacity(count * cols), Vec::with_capacity(count));
    rows.block(first, count, &mut weights, &mut biases);
    let mut products = linear::times_transposed(queries, &weights, cols);
    products
        .chunks_exact_mut(count)
        .map(|scores| {
            let mut part = Partial::new(k);
            for (score, bias) in scores.iter_mut().zip(&biases) {
                *score += bias;
                part.max = part.max.max(*score);
            }
            let mut threshold = f32::NEG_INFINITY;
            for (row, &score) in scores.iter().enumerate() {
                let below = score - part.max;
                if below > NEGLIGIBLE {
                    part.sum += f64::from(below.exp());
                }
                // Masked classes are left out of the spread.
                if below > -1e3 {
                    part.scores += f64::from(score);
                    part.squares += f64::from(score) * f64::from(score);
                    part.finite += 1;
                }
                if k > 0 && (part.top.len() < k || score >= threshold) {
                    part.offer(rows.class(first + row), score);
                    threshold = part.top.last().map_or(f32::NEG_INFINITY, |last| last.1);
                }
            }
            part
        })
        .collect()
}

/// Returns the mean p of each class over all queries: the shares of the classes that the layer expects.
///
/// ```
/// use zhat::host::evaluate::{FloatLayer, mean_p};
/// use zhat::host::{Kind, Layer};
///
/// let layer = Layer::generate(60, 8, 1);
/// let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
/// let shares = mean_p(float, &layer.queries(Kind::Classifier, 20, 2));
/// assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-4);
/// ```
pub fn mean_p(layer: FloatLayer<'_>, queries: &Matrix) -> Vec<f32> {
    let mut sums = vec![0.0_f64; layer.weights.rows()];
    for query in queries.iter() {
        let scores = scores(&layer, query);
        let log_z = linear::log_sum_exp(&scores);
        sums.iter_mut().zip(&scores).for_each(|(sum, score)| *sum += f64::from((score - log_z).exp()));
    }
    sums.iter().map(|sum| (sum / queries.rows().max(1) as f64) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::build::{Plan, Targets, build};

    fn wave(n: usize, amplitude: f32, step: f32) -> Vec<f32> {
        (0..n).map(|i| amplitude * ((i * 7919 % 40_001) as f32 * step).sin()).collect()
    }

    #[test]
    fn blocked_products_agree_with_the_integer_sum_to_1e_5() {
        let (n, d) = (5000, 24);
        let weights = Matrix::new(wave(n * d, 1.0, 0.731), d).expect("whole rows");
        let biases = wave(n, 2.0, 0.37);
        for size in [0.3, 2.0, 6.0] {
            let queries = Matrix::new(wave(12 * d, size, 0.917), d).expect("whole rows");
            let targets = Targets { plans: vec![Plan::default()], ..Default::default() };
            let file = build(&weights, &biases, None, &targets, &mut |_| {}).expect("valid").model;
            let model = file.model();
            let values = quantised(&model, queries.data()).expect("valid");
            let found = exact(&QuantisedLayer(&model), &values, d, 3);
            for (query, found) in queries.iter().zip(&found) {
                let query = QueryBuffer::<24>::new(&model, query).expect("valid");
                let truth = crate::exact::<3>(&model, &query).expect("valid");
                assert!((found.log_z - truth.log_z()).abs() < 1e-5 * truth.log_z().abs().max(1.0), "{size}");
                assert!((found.top[0].1 - truth.top[0].score.to_nats()).abs() < 1e-4);
                assert!((found.top_p() - truth.top[0].p).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn the_float_layer_is_exact_at_any_temperature() {
        let (n, d) = (3000, 7);
        let weights = Matrix::new(wave(n * d, 1.0, 0.731), d).expect("whole rows");
        let mut biases = wave(n, 2.0, 0.37);
        biases[17] = f32::NEG_INFINITY;
        let query = wave(d, 3.0, 0.5);
        for temperature in [0.5, 1.0, 3.0] {
            let layer = FloatLayer { weights: &weights, biases: &biases, temperature };
            let all: Vec<f64> = (0..n).map(|class| f64::from(layer.score(class, &query))).collect();
            let truth = all.iter().map(|score| score.exp()).sum::<f64>().ln();
            let found = exact(&layer, &query, d, 2);
            assert!((f64::from(found[0].log_z) - truth).abs() < 1e-5, "{temperature}");
            let best = (0..n).max_by(|&a, &b| all[a].total_cmp(&all[b])).expect("rows");
            assert_eq!(found[0].top[0].0 as usize, best);
            assert_eq!(scores(&layer, &query).len(), n);
        }
    }
}
