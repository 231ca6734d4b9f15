//! The linear function that is as near to one as can be for the queries of the calibration:
//!
//! ```text
//! w = argmin Σ_q (w·q − 1)² + λ·‖w‖²        λ = a hundredth of the queries' mean square in a column
//! ```
//!
//! Activations of networks are seldom all around zero, so w·q is near one for most queries like them, and anything for others.

use nalgebra::{DMatrix, DVector};

use crate::host::{Matrix, linear};
use crate::kernels;

const RIDGE: f64 = 0.01;

/// w, rounded to int8.
pub struct Likeness {
    weights: Vec<i8>,
    /// What one unit of the weights is worth.
    pub scale: f32,
}

impl Likeness {
    /// From the queries of the calibration; the squares of the weights add up to no more than `most`, as those of all rows.
    pub fn new(queries: &Matrix, most: u32) -> Self {
        let dim = queries.cols();
        let moment = linear::transposed_times(queries.data(), dim, queries.data(), dim);
        let moment: DMatrix<f64> = DMatrix::from_vec(dim, dim, moment).cast();
        let mean = DVector::from_iterator(dim, (0..dim).map(|j| queries.iter().map(|query| f64::from(query[j])).sum()));
        let ridge = RIDGE * moment.trace() / dim as f64;
        let solved = (moment + DMatrix::identity(dim, dim) * ridge).cholesky().map(|gram| gram.solve(&mean));
        // Queries that are all zero, or not all numbers, are like nothing.
        let w = solved.filter(|w| w.iter().all(|x| x.is_finite())).unwrap_or_else(|| DVector::zeros(dim));
        let scale = (w.amax() / 127.0).max(w.norm() / f64::from(most).sqrt());
        if scale == 0.0 {
            return Self { weights: vec![0; dim], scale: 0.0 };
        }
        // Towards zero, so that rounding makes no weight longer.
        Self { weights: w.iter().map(|x| (x / scale) as i8).collect(), scale: scale as f32 }
    }

    pub fn of(&self, query: &[f32]) -> f32 {
        self.scale * self.weights.iter().zip(query).map(|(&w, q)| f32::from(w) * q).sum::<f32>()
    }

    /// As a row of the file.
    pub fn pairs(&self) -> Vec<i16> {
        let mut padded = self.weights.clone();
        padded.resize(padded.len().next_multiple_of(kernels::ROW_ALIGN), 0);
        padded.as_chunks().0.iter().map(|&[even, odd]| kernels::pair(even, odd)).collect()
    }
}
