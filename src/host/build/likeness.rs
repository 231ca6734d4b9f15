//! The linear function that is as near to one as can be for the queries of the calibration:
//!
//! ```text
//! w = argmin Σ_q (w·q − 1)² + λ·‖w‖²        λ = a hundredth of the queries' mean square in a column
//! ```
//!
//! Activations of networks are seldom all around zero, so w·q is near one for most queries like them, and anything for others.
//!
//! With few queries for the dimension the minimum says more about those queries than about their distribution. It is looked
//! for by conjugate gradients (Hestenes and Stiefel, 1952; here in the form of Paige and Saunders, "LSQR", 1982), which find
//! the directions that most of the queries share first, and they stop where queries that were left out are nearest to one.

use rayon::prelude::*;

use crate::host::{Matrix, four_bit, linear};
use crate::kernels;
use crate::model::Bits;

const RIDGE: f64 = 0.01;
/// The most steps. More bring w·q of other queries hardly nearer to one, and each takes two passes over the queries.
const STEPS: usize = 64;
/// The share of the queries that w is fitted to while the steps are counted; the others tell when to stop.
const FITTED: f64 = 0.75;

/// w, rounded as rows are.
pub struct Likeness {
    weights: Vec<i8>,
    /// As a row of the file.
    stored: Vec<i16>,
    /// What one unit of the weights is worth.
    pub scale: f32,
}

impl Likeness {
    /// Fits w to queries and rounds it; the squares of the weights add up to no more than `most`, as those of all rows.
    pub fn new(queries: &Matrix, most: u32, bits: Bits) -> Self {
        let w = fit(queries);
        match bits {
            Bits::Eight => Self::of_int8(&w, most),
            Bits::Four => Self::of_four_bits(&w, most),
        }
    }

    fn of_int8(w: &[f64], most: u32) -> Self {
        let scale = (largest(w) / 127.0).max(squares(w).sqrt() / f64::from(most).sqrt());
        // Towards zero, so that rounding makes no weight longer.
        let whole = |x: &f64| if scale == 0.0 { 0 } else { (x / scale) as i8 };
        let weights: Vec<i8> = w.iter().map(whole).collect();
        let mut padded = weights.clone();
        padded.resize(padded.len().next_multiple_of(kernels::ROW_ALIGN), 0);
        let stored = padded.as_chunks().0.iter().map(|&[even, odd]| kernels::pair(even, odd)).collect();
        Self { weights, stored, scale: scale as f32 }
    }

    fn of_four_bits(w: &[f64], most: u32) -> Self {
        let row: Vec<f32> = w.iter().map(|&x| x as f32).collect();
        let stride = row.len().next_multiple_of(kernels::ROW_ALIGN);
        // Steps to a thousandth. Smaller scales of the groups are for rows that are longer than those of the layer.
        let unit = largest(w) / 44_000.0;
        let round = |largest: &f64| four_bit::round(&row, 0.0, unit, *largest, stride, None);
        let fitting = [8.0, 4.0, 2.0, 1.0].iter().map(round).find(|rounded| unit > 0.0 && rounded.squares() <= most);
        let rounded = fitting.unwrap_or_else(|| four_bit::round(&[], 0.0, 1.0, 1.0, stride, None));
        Self {
            weights: rounded.weights().collect(),
            stored: kernels::four_bit::pack(&rounded.numbers, &rounded.scales),
            scale: (f64::from(rounded.scale) * unit) as f32,
        }
    }

    /// Returns w·q.
    pub fn of(&self, query: &[f32]) -> f32 {
        self.scale * self.weights.iter().zip(query).map(|(&w, q)| f32::from(w) * q).sum::<f32>()
    }

    /// Returns w as a row of the file.
    pub fn stored(&self) -> &[i16] {
        &self.stored
    }
}

/// Fits w: counts the steps on a part of the queries, and takes as many with all of them.
fn fit(queries: &Matrix) -> Vec<f64> {
    let fitted = (queries.rows() as f64 * FITTED) as usize * queries.cols();
    let (first, others) = queries.data().split_at(fitted);
    let mut best = (0, 1.0);
    descend(first, queries.cols(), |step, w| {
        let w: Vec<f32> = w.iter().map(|&x| x as f32).collect();
        let errors = others.chunks_exact(w.len()).map(|query| (f64::from(linear::dot(query, &w)) - 1.0).powi(2));
        let error = errors.sum::<f64>() / (others.len() / w.len()).max(1) as f64;
        if error < best.1 {
            best = (step, error);
        }
    });
    let mut found = vec![0.0; queries.cols()];
    descend(queries.data(), queries.cols(), |step, w| {
        if step == best.0 {
            found.copy_from_slice(w);
        }
    });
    // Queries that are not all numbers are like nothing.
    if found.iter().all(|x| x.is_finite()) { found } else { vec![0.0; queries.cols()] }
}

/// Runs conjugate gradients on the normal equations of the ridge regression, and shows w after each step.
fn descend(queries: &[f32], cols: usize, mut show: impl FnMut(usize, &[f64])) {
    let ridge = RIDGE * queries.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / cols as f64;
    let gradient = |residuals: &[f64], w: &[f64]| -> Vec<f64> {
        let sum = queries.par_chunks(cols * ROWS).zip(residuals.par_chunks(ROWS)).map(|(queries, residuals)| {
            let mut sum = vec![0.0; cols];
            for (query, &residual) in queries.chunks_exact(cols).zip(residuals) {
                sum.iter_mut().zip(query).for_each(|(sum, &x)| *sum += residual * f64::from(x));
            }
            sum
        });
        // Added up in their order, so that the bits do not depend on the threads.
        let sums: Vec<Vec<f64>> = sum.collect();
        (0..cols).map(|j| sums.iter().map(|sum| sum[j]).sum::<f64>() - ridge * w[j]).collect()
    };
    let mut w = vec![0.0; cols];
    let mut residuals = vec![1.0; queries.len() / cols];
    let mut direction = gradient(&residuals, &w);
    let first = squares(&direction);
    let mut square = first;
    for step in 1..=STEPS {
        let single: Vec<f32> = direction.iter().map(|&x| x as f32).collect();
        let moved: Vec<f64> =
            queries.par_chunks_exact(cols).map(|query| f64::from(linear::dot(query, &single))).collect();
        let curvature = squares(&moved) + ridge * squares(&direction);
        if square <= 1e-12 * first || curvature <= 0.0 || !(square / curvature).is_finite() {
            return;
        }
        let length = square / curvature;
        w.iter_mut().zip(&direction).for_each(|(w, x)| *w += length * x);
        residuals.iter_mut().zip(&moved).for_each(|(residual, x)| *residual -= length * x);
        show(step, &w);
        let next = gradient(&residuals, &w);
        let ratio = squares(&next) / square;
        square = squares(&next);
        direction.iter_mut().zip(next).for_each(|(old, new)| *old = new + ratio * *old);
    }
}

/// Queries that one thread adds up at a time.
const ROWS: usize = 256;

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, x| x.abs().max(largest))
}
