//! FMBE with TensorSketch (Pham and Pagh, 2013), the feature map that the paper suggests as the next one to try.
//!
//! The count sketch of x adds s(c)·x_c to place h(c), with random signs s and places h. The m-fold convolution of m
//! such sketches has (v·q)^m as the mean of its dot product. In the frequency domain a convolution is a product. So
//! with B frequencies,
//!
//! ```text
//! Z = Σ_m 1/m! Σ_i (v_i·q)^m ≈ N + Σ_{m=1}^{16} 1/(m!·B) Σ_j conj(λ̃_m(j))·φ_m(q)(j)        φ_m(x)(j) = Π_{r≤m} F_r(x)(j)
//! ```
//!
//! where F_r(x) is the Fourier transform of the r-th sketch of x, and λ̃_m = Σ_i φ_m(v_i) is computed once. Biases are
//! zero here. The transforms of all rows are matrix products; those of a query would be fast Fourier transforms, and
//! are counted as such.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use zhat::host::Matrix;

use super::linear;
use super::run::Condition;
use super::tally::{Series, relative_error};
use super::{Row, Step};

/// The highest power of v·q.
const DEGREES: usize = 16;
/// The number of rows in one matrix product.
const BLOCK: usize = 512;

/// Computes one row of the table: tables of `features` numbers, one for each seed, with `count` queries of each
/// condition.
pub fn row(
    rows: &Matrix,
    features: u32,
    conditions: &[&Condition],
    count: usize,
    seeds: u32,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Row {
    let mut all: Vec<Series> = conditions.iter().map(|_| Series::default()).collect();
    let size = (features as usize / DEGREES).max(2);
    for seed in 0..seeds {
        tick(Step { what: "TensorSketch", done: seed as usize, of: seeds as usize });
        let table = Table::new(rows, size, u64::from(seed) + 1);
        for (series, condition) in all.iter_mut().zip(conditions) {
            let asked = condition.of_seed(seed);
            let (of, count) = (asked.queries.rows(), count.min(asked.queries.rows()));
            let error = |i: usize| {
                let index = i * of / count;
                relative_error(table.log_z(asked.queries.row(index)), asked.truths[index])
            };
            series.errors.push((0..count).into_par_iter().map(error).collect());
            // Transforms of all sketches, and the products, in dot products of length d.
            series.works.push(DEGREES as f64 * size as f64 * ((size as f64).log2() + 1.0) / rows.cols() as f64);
        }
    }
    Row::new(&format!("FMBE, TensorSketch, D = {features}"), true, (None, None), &all, rows.rows())
}

/// λ̃ and the sketches.
struct Table {
    /// For each factor, the matrix that maps x to the real parts of its frequencies, then to the imaginary ones.
    transforms: Vec<Vec<f32>>,
    /// λ̃ of each degree: real parts, then imaginary ones.
    lambda: Vec<Vec<f64>>,
    size: usize,
    dim: usize,
    classes: usize,
}

impl Table {
    fn new(rows: &Matrix, size: usize, seed: u64) -> Self {
        let dim = rows.cols();
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let transforms = (0..DEGREES).map(|_| transform(dim, size, &mut rng)).collect();
        let mut table = Self { transforms, lambda: Vec::new(), size, dim, classes: rows.rows() };
        let partial: Vec<Vec<Vec<f64>>> = rows.data().par_chunks(BLOCK * dim).map(|rows| table.sums(rows)).collect();
        let numbers = 2 * frequencies(size);
        table.lambda = (0..DEGREES)
            .map(|degree| (0..numbers).map(|at| partial.iter().map(|sums| sums[degree][at]).sum()).collect())
            .collect();
        table
    }

    /// Computes Σ φ_m over some vectors, for every degree.
    fn sums(&self, vectors: &[f32]) -> Vec<Vec<f64>> {
        let (count, frequencies) = (vectors.len() / self.dim, frequencies(self.size));
        let (mut real, mut imaginary) = (vec![1.0_f32; frequencies * count], vec![0.0_f32; frequencies * count]);
        let mut all = Vec::new();
        for transform in &self.transforms {
            let factor = linear::times_transposed(transform, vectors, self.dim);
            let (a, b) = factor.split_at(frequencies * count);
            for ((real, imaginary), (a, b)) in real.iter_mut().zip(&mut imaginary).zip(a.iter().zip(b)) {
                (*real, *imaginary) = (*real * a - *imaginary * b, *real * b + *imaginary * a);
            }
            let sum = |part: &[f32]| part.iter().map(|&x| f64::from(x)).sum::<f64>();
            all.push(real.chunks_exact(count).chain(imaginary.chunks_exact(count)).map(sum).collect());
        }
        all
    }

    fn log_z(&self, query: &[f32]) -> f32 {
        let frequencies = frequencies(self.size);
        let mut z = self.classes as f64;
        let mut factorial = 1.0;
        for (m, (lambda, own)) in self.lambda.iter().zip(self.sums(query)).enumerate() {
            factorial *= (m + 1) as f64;
            // conj(λ̃)·φ has the real part Re·Re + Im·Im. Every frequency except the first and the middle one occurs
            // twice.
            let products = lambda.iter().zip(&own).enumerate().map(|(at, (a, b))| {
                let j = at % frequencies;
                if j == 0 || 2 * j == self.size { a * b } else { 2.0 * a * b }
            });
            z += products.sum::<f64>() / (factorial * self.size as f64);
        }
        // A negative sum gives an empty estimate.
        z.max(0.0).ln() as f32
    }
}

fn frequencies(size: usize) -> usize {
    size / 2 + 1
}

/// Computes the Fourier transform of a count sketch, as a matrix.
fn transform(dim: usize, size: usize, rng: &mut Pcg64Mcg) -> Vec<f32> {
    let sketch: Vec<(u64, f64)> =
        (0..dim).map(|_| (rng.next_u64() % size as u64, if rng.next_u32() & 1 == 1 { -1.0 } else { 1.0 })).collect();
    let part = |of: fn(f64) -> f64| {
        let sketch = &sketch;
        (0..frequencies(size) as u64).flat_map(move |j| {
            let angle = move |place: u64| core::f64::consts::TAU * (j * place % size as u64) as f64 / size as f64;
            sketch.iter().map(move |&(place, sign)| (sign * of(angle(place))) as f32)
        })
    };
    part(f64::cos).chain(part(|angle| -angle.sin())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Cell;

    #[test]
    fn the_mean_over_seeds_is_the_sum_of_the_powers() {
        let rows = Matrix::new(vec![0.5, -0.3, 0.4, 0.2, -0.5, 0.1, 0.4, -0.6], 4).expect("whole rows");
        let query = [0.6, 0.4, -0.5, 0.9];
        let truth: f64 = rows.iter().map(|row| f64::from(linear::dot(row, &query)).exp()).sum();
        for size in [31, 32] {
            let found = (0..2000).map(|seed| f64::from(Table::new(&rows, size, seed).log_z(&query)).exp() / truth);
            // The standard error of the mean, with every seed for a query.
            let Cell { mean, error } = Cell::new(&[found.collect()]);
            assert!(error < 0.01 && (mean - 1.0).abs() < 4.0 * error, "{size}: {mean} ± {error}");
        }
        // As many places as the sketches need to be exact, nearly.
        assert!((f64::from(Table::new(&rows, 100_003, 1).log_z(&query)).exp() / truth - 1.0).abs() < 0.01);
    }
}
