//! Ridge regression of many columns that share their features, each with weights of its own for the queries.
//!
//! Every column minimises Σ w·(y − x·θ)² + λ·‖θ‖². With one weight for all queries there is one solve for all columns; with weights
//! there would be a matrix to factor for each. Conjugate gradients start from the solution without weights, and take the
//! inverse of that problem as their preconditioner: a few steps are enough, and a step is two matrix products for all columns.

use crate::host::linear;

/// Steps of the conjugate gradients: more change nothing that other queries would show.
const STEPS: usize = 3;
/// λ: a share of the weights, and this many more, so that few queries that count teach little.
const RIDGE: f32 = 0.03;
const LEAST: f32 = 10.0;
/// What the constant is held by, which is not penalised otherwise.
const LEAST_OF_CONSTANT: f32 = 1.0;

/// What all columns share: `columns` features of each query, the first of them one, and (XᵀX + λ)⁻¹ without weights.
pub struct Design<'a> {
    pub features: &'a [f32],
    pub inverse: &'a [f32],
    pub columns: usize,
}

impl Design<'_> {
    /// Moves `theta`, which solves the problem without weights, to where the weights want it. All matrices have a column for each
    /// problem.
    pub fn refine(&self, values: &[f32], weights: &[f32], theta: &mut [f32]) {
        let k = theta.len() / self.columns;
        let queries = self.features.len() / self.columns;
        let mut totals = vec![0.0f32; k];
        for line in weights.chunks_exact(k) {
            totals.iter_mut().zip(line).for_each(|(total, weight)| *total += weight);
        }
        let towards: Vec<f32> = values.iter().zip(weights).map(|(value, weight)| value * weight).collect();
        let towards = linear::transposed_times(self.features, self.columns, &towards, k);
        let now = self.times(theta, weights, &totals);
        let mut rest: Vec<f32> = towards.iter().zip(&now).map(|(towards, now)| towards - now).collect();
        let precondition = |rest: &[f32]| -> Vec<f32> {
            let mut moved = linear::times(self.inverse, rest, self.columns);
            for line in moved.chunks_exact_mut(k) {
                line.iter_mut().zip(&totals).for_each(|(x, total)| *x *= queries as f32 / total.max(f32::MIN_POSITIVE));
            }
            moved
        };
        let mut direction = precondition(&rest);
        let mut size = products(&rest, &direction, k);
        for _ in 0..STEPS {
            let image = self.times(&direction, weights, &totals);
            let curvature = products(&direction, &image, k);
            let step: Vec<f32> = size.iter().zip(&curvature).map(|(&size, &curve)| ratio(size, curve)).collect();
            for (at, (theta, rest)) in theta.iter_mut().zip(&mut rest).enumerate() {
                *theta += step[at % k] * direction[at];
                *rest -= step[at % k] * image[at];
            }
            let moved = precondition(&rest);
            let next = products(&rest, &moved, k);
            for (at, (direction, moved)) in direction.iter_mut().zip(&moved).enumerate() {
                *direction = moved + ratio(next[at % k], size[at % k]) * *direction;
            }
            size = next;
        }
    }

    /// (XᵀWX + λ)·θ, column by column.
    fn times(&self, theta: &[f32], weights: &[f32], totals: &[f32]) -> Vec<f32> {
        let k = totals.len();
        let mut values = linear::times(self.features, theta, self.columns);
        values.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
        let mut image = linear::transposed_times(self.features, self.columns, &values, k);
        for (at, (image, theta)) in image.iter_mut().zip(theta).enumerate() {
            *image += theta * if at < k { LEAST_OF_CONSTANT } else { RIDGE * totals[at % k] + LEAST };
        }
        image
    }
}

/// Σ a·b of each column.
fn products(a: &[f32], b: &[f32], k: usize) -> Vec<f64> {
    let mut sums = vec![0.0; k];
    for (a, b) in a.chunks_exact(k).zip(b.chunks_exact(k)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += f64::from(a * b));
    }
    sums
}

/// Zero where there is nothing left to divide.
fn ratio(a: f64, b: f64) -> f32 {
    if b > f64::MIN_POSITIVE { (a / b) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;

    /// Numbers that look random, between −1 and 1.
    fn noise(n: usize, seed: u32) -> Vec<f32> {
        let word = |i: usize| (i as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
        (0..n).map(|i| (word(i).wrapping_mul(word(i) >> 15 | 1) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    #[test]
    fn a_few_steps_come_close_to_the_solution_of_each_column() {
        let (queries, columns, k) = (400, 6, 3);
        let mut features = noise(queries * columns, 1);
        features.iter_mut().step_by(columns).for_each(|x| *x = 1.0);
        let values = noise(queries * k, 2);
        let weights: Vec<f32> = noise(queries * k, 3).iter().map(|x| x.abs().powi(3)).collect();
        let x = DMatrix::from_fn(queries, columns, |i, j| f64::from(features[i * columns + j]));
        let solved = |weight: &dyn Fn(usize) -> f64, y: &dyn Fn(usize) -> f64, ridge: [f64; 2]| {
            let scaled = DMatrix::from_fn(queries, columns, |i, j| weight(i) * x[(i, j)]);
            let held = DMatrix::from_diagonal(&DVector::from_fn(columns, |i, _| ridge[usize::from(i > 0)]));
            let inverse = (x.transpose() * &scaled + held).try_inverse().unwrap();
            (&inverse * scaled.transpose() * DVector::from_fn(queries, |i, _| y(i)), inverse)
        };
        let (_, inverse) = solved(&|_| 1.0, &|_| 0.0, [0.0, 0.03 * queries as f64]);
        let inverse: Vec<f32> = inverse.transpose().iter().map(|&x| x as f32).collect();
        let mut theta = vec![0.0; columns * k];
        Design { features: &features, inverse: &inverse, columns }.refine(&values, &weights, &mut theta);
        for j in 0..k {
            let total: f32 = (0..queries).map(|i| weights[i * k + j]).sum();
            let ridge = [LEAST_OF_CONSTANT, RIDGE * total + LEAST].map(f64::from);
            let weight = |i: usize| f64::from(weights[i * k + j]);
            let (truth, _) = solved(&weight, &|i| f64::from(values[i * k + j]), ridge);
            let off = (0..columns).map(|i| (f64::from(theta[i * k + j]) - truth[i]).powi(2)).sum::<f64>().sqrt();
            assert!(off < 0.02 * truth.norm(), "column {j}: {off} of {}", truth.norm());
        }
    }
}
