//! The second moment of queries, by its largest directions.
//!
//! S = Σ_c λ_c·v_c·v_cᵀ + ρ·(1 − Σ_c v_c·v_cᵀ): up to [`FULL`] columns all of it, above that the directions that a sample of the
//! queries spans, and the mean square ρ of all others. A matrix of d × d numbers, and work that grows with d³, are never needed.

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use super::{Matrix, linear};

/// With at most this many columns every direction is kept.
const FULL: usize = 512;
/// Directions that are kept of more columns.
const MOST: usize = 256;
/// Points that are turned at a time: a layer is never held in coordinates as a whole.
const BLOCK: usize = 1024;
/// Directions with less than this share of the largest mean square are lost in the rounding of f32 products.
const LEAST: f64 = 1e-6;

/// The largest directions of a second moment, and the mean of the rest.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// Orthonormal directions, one after the other.
    directions: Vec<f32>,
    /// The mean square of the queries along each.
    values: Vec<f64>,
    /// The mean square along any other.
    rest: f64,
    /// The number of columns.
    dim: usize,
}

impl Spectrum {
    /// Computes it for the rows of a matrix.
    pub fn of(queries: &Matrix) -> Self {
        let (n, dim) = (queries.rows().max(1), queries.cols());
        if dim <= FULL {
            let eigen = SymmetricEigen::new(second_moment(queries));
            let directions = eigen.eigenvectors.iter().map(|&x| x as f32).collect();
            let values = eigen.eigenvalues.iter().map(|&value| value.max(0.0)).collect();
            return Self { directions, values, rest: 0.0, dim };
        }
        let step = n.div_ceil(MOST);
        let sample: Vec<u32> = (0..queries.rows() as u32).step_by(step).collect();
        let sample = queries.reordered(&sample);
        let products = linear::times_transposed(sample.data(), sample.data(), dim);
        let count = sample.rows();
        let eigen = SymmetricEigen::new(DMatrix::from_fn(count, count, |i, j| f64::from(products[i * count + j])));
        let most = eigen.eigenvalues.max();
        let kept: Vec<usize> = (0..count).filter(|&c| eigen.eigenvalues[c] > most * LEAST && most > 0.0).collect();
        // v = Xᵀu/√λ.
        let mixed: Vec<f32> = kept
            .iter()
            .flat_map(|&c| {
                eigen.eigenvectors.column(c).iter().map(|u| u / eigen.eigenvalues[c].sqrt()).collect::<Vec<_>>()
            })
            .map(|x| x as f32)
            .collect();
        let directions = if kept.is_empty() { Vec::new() } else { linear::times(&mixed, sample.data(), count) };
        let mut spectrum = Self { directions, values: vec![0.0; kept.len()], rest: 0.0, dim };
        if !kept.is_empty() {
            for line in spectrum.project(queries.data()).chunks_exact(kept.len()) {
                spectrum.values.iter_mut().zip(line).for_each(|(sum, &x)| *sum += f64::from(x).powi(2) / n as f64);
            }
        }
        let all = queries.data().iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n as f64;
        let rest = all - spectrum.values.iter().sum::<f64>();
        spectrum.rest = rest.max(0.0) / (dim - kept.len()).max(1) as f64;
        spectrum
    }

    /// The number of directions.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The sum of the mean squares of all directions.
    pub fn trace(&self) -> f64 {
        self.values.iter().sum::<f64>() + self.rest * (self.dim - self.len()) as f64
    }

    /// The mean square along directions that are not kept.
    pub fn rest(&self) -> f64 {
        self.rest
    }

    /// The mean squares along those that are, and each direction's share of a column: λ_c and v_c.
    pub fn directions(&self) -> impl Iterator<Item = (f64, &[f32])> {
        self.values.iter().copied().zip(self.directions.chunks_exact(self.dim))
    }

    /// Coordinates of points along the directions: for each point one after the other.
    pub fn project(&self, points: &[f32]) -> Vec<f32> {
        if self.values.is_empty() { Vec::new() } else { linear::times_transposed(points, &self.directions, self.dim) }
    }

    /// Points with these coordinates, none of which are outside the directions.
    pub fn expand(&self, coordinates: &[f32]) -> Vec<f32> {
        linear::times(coordinates, &self.directions, self.len())
    }

    /// xᵀSx, summed over all points.
    pub fn form(&self, points: &[f32]) -> f32 {
        let square = |x: &f32| f64::from(*x).powi(2);
        let mut sum = self.rest * points.iter().map(square).sum::<f64>();
        if !self.values.is_empty() {
            for line in self.project(points).chunks_exact(self.len()) {
                sum += line.iter().zip(&self.values).map(|(x, value)| (value - self.rest) * square(x)).sum::<f64>();
            }
        }
        sum as f32
    }

    /// S^power·x of each point, in place; mean squares below a millionth of the largest are lifted to that.
    pub fn raise(&self, points: &mut [f32], power: f64) {
        let floor = self.values.iter().fold(0.0, |m: f64, &v| m.max(v)).max(f64::MIN_POSITIVE) * 1e-6;
        // With all directions kept nothing is left for the rest.
        let rest = if self.len() == self.dim { 0.0 } else { self.rest.max(floor).powf(power) };
        let factors: Vec<f32> = self.values.iter().map(|value| (value.max(floor).powf(power) - rest) as f32).collect();
        points.par_chunks_mut(BLOCK * self.dim).for_each(|points| {
            let mut coordinates = self.project(points);
            points.iter_mut().for_each(|x| *x *= rest as f32);
            if factors.is_empty() {
                return;
            }
            for line in coordinates.chunks_exact_mut(factors.len()) {
                line.iter_mut().zip(&factors).for_each(|(x, factor)| *x *= factor);
            }
            points.iter_mut().zip(self.expand(&coordinates)).for_each(|(x, moved)| *x += moved);
        });
    }
}

/// XᵀX / rows.
pub fn second_moment(x: &Matrix) -> DMatrix<f64> {
    let (rows, d) = (x.rows().max(1), x.cols());
    let sums = linear::transposed_times(x.data(), d, x.data(), d);
    DMatrix::from_fn(d, d, |i, j| f64::from(sums[i * d + j]) / rows as f64)
}

/// S^power for a symmetric, positive matrix; eigenvalues below a millionth of the largest are lifted to that.
pub fn power(s: &DMatrix<f64>, power: f64) -> Vec<f32> {
    let eigen = SymmetricEigen::new(s.clone());
    let floor = eigen.eigenvalues.max().max(f64::MIN_POSITIVE) * 1e-6;
    let scaled = DMatrix::from_fn(s.nrows(), s.ncols(), |i, j| {
        eigen.eigenvectors[(i, j)] * eigen.eigenvalues[j].max(floor).powf(power)
    });
    let result = scaled * eigen.eigenvectors.transpose();
    (0..s.nrows()).flat_map(|i| (0..s.ncols()).map(move |j| (i, j))).map(|at| result[at] as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a few strong directions and a little noise in all others.
    fn points(n: usize, dim: usize) -> Matrix {
        let noise = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0;
        let value = |i: usize, j: usize| {
            let strong: f32 = (0..3).map(|c| noise(7 * i + c) * 3.0 * noise(1000 * (c + 1) + j)).sum();
            strong + 0.1 * noise(3 * (i * dim + j) + 1)
        };
        Matrix::new((0..n * dim).map(|at| value(at / dim, at % dim)).collect(), dim).expect("whole rows")
    }

    #[test]
    fn many_columns_keep_the_trace_and_the_forms_of_their_second_moment() {
        for (n, dim) in [(40, 20), (100, 600), (900, 600)] {
            let queries = points(n, dim);
            let spectrum = Spectrum::of(&queries);
            let truth = second_moment(&queries);
            assert!((spectrum.trace() / truth.trace() - 1.0).abs() < 1e-4, "{n} {dim}");
            for i in (0..n).step_by(17) {
                let x = nalgebra::DVector::from_iterator(dim, queries.row(i).iter().map(|&x| f64::from(x)));
                let form = (x.transpose() * &truth * &x)[(0, 0)];
                let found = f64::from(spectrum.form(queries.row(i)));
                assert!((found / form - 1.0).abs() < 0.02, "{n} {dim}: {found} {form}");
            }
        }
    }

    #[test]
    fn a_power_of_one_is_the_second_moment() {
        let queries = points(300, 30);
        let mut raised = queries.row(3).to_vec();
        Spectrum::of(&queries).raise(&mut raised, 1.0);
        let truth =
            second_moment(&queries) * DMatrix::from_iterator(30, 1, queries.row(3).iter().map(|&x| f64::from(x)));
        assert!(
            raised.iter().zip(&truth).all(|(x, truth)| (f64::from(*x) - truth).abs() < 1e-3 * truth.abs().max(1.0))
        );
    }

    #[test]
    fn queries_of_zeros_have_no_directions_to_divide_by() {
        for dim in [3, 600] {
            let spectrum = Spectrum::of(&Matrix::new(vec![0.0; 5 * dim], dim).expect("whole rows"));
            let mut point = vec![1.0; dim];
            spectrum.raise(&mut point, 0.0625);
            assert!(spectrum.form(&point) == 0.0 && point.iter().all(|x| x.is_finite()));
        }
    }
}
