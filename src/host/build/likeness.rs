//! The linear function that is as near to one as can be for the queries of the calibration:
//!
//! ```text
//! w = argmin Σ_q (w·q − 1)² + λ·‖w‖²        λ = a hundredth of the queries' mean square in a column
//! ```
//!
//! Activations of networks are seldom all around zero, so w·q is near one for most queries like them, and anything for others.

use nalgebra::{DMatrix, DVector};

use crate::host::{Matrix, four_bit, linear};
use crate::kernels;
use crate::model::Bits;

const RIDGE: f64 = 0.01;

/// w, rounded as rows are.
pub struct Likeness {
    weights: Vec<i8>,
    /// As a row of the file.
    stored: Vec<i16>,
    /// What one unit of the weights is worth.
    pub scale: f32,
}

impl Likeness {
    /// From the queries of the calibration; the squares of the weights add up to no more than `most`, as those of all rows.
    pub fn new(queries: &Matrix, most: u32, bits: Bits) -> Self {
        let dim = queries.cols();
        let ridge = RIDGE * queries.data().iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / dim as f64;
        let held = |gram: Vec<f32>, n: usize| DMatrix::from_vec(n, n, gram).cast() + DMatrix::identity(n, n) * ridge;
        let solved = if queries.rows() < dim {
            // (XᵀX + λ)⁻¹·Xᵀ1 = Xᵀ·(XXᵀ + λ)⁻¹·1: the smaller of both matrices.
            let n = queries.rows();
            let gram = linear::times_transposed(queries.data(), queries.data(), dim);
            let weights = held(gram, n).cholesky().map(|gram| gram.solve(&DVector::repeat(n, 1.0)));
            weights.map(|weights| {
                let column = |j: usize| queries.iter().zip(&weights).map(|(query, w)| w * f64::from(query[j])).sum();
                DVector::from_iterator(dim, (0..dim).map(column))
            })
        } else {
            let gram = linear::transposed_times(queries.data(), dim, queries.data(), dim);
            let sum = |j: usize| queries.iter().map(|query| f64::from(query[j])).sum();
            let sum = DVector::from_iterator(dim, (0..dim).map(sum));
            held(gram, dim).cholesky().map(|gram| gram.solve(&sum))
        };
        // Queries that are all zero, or not all numbers, are like nothing.
        let w = solved.filter(|w| w.iter().all(|x| x.is_finite())).unwrap_or_else(|| DVector::zeros(dim));
        match bits {
            Bits::Eight => Self::of_int8(&w, most),
            Bits::Four => Self::of_four_bits(&w, most),
        }
    }

    fn of_int8(w: &DVector<f64>, most: u32) -> Self {
        let scale = (w.amax() / 127.0).max(w.norm() / f64::from(most).sqrt());
        // Towards zero, so that rounding makes no weight longer.
        let whole = |x: &f64| if scale == 0.0 { 0 } else { (x / scale) as i8 };
        let weights: Vec<i8> = w.iter().map(whole).collect();
        let mut padded = weights.clone();
        padded.resize(padded.len().next_multiple_of(kernels::ROW_ALIGN), 0);
        let stored = padded.as_chunks().0.iter().map(|&[even, odd]| kernels::pair(even, odd)).collect();
        Self { weights, stored, scale: scale as f32 }
    }

    fn of_four_bits(w: &DVector<f64>, most: u32) -> Self {
        let row: Vec<f32> = w.iter().map(|&x| x as f32).collect();
        let stride = row.len().next_multiple_of(kernels::ROW_ALIGN);
        // Steps to a thousandth. Smaller scales of the groups are for rows that are longer than those of the layer.
        let unit = w.amax() / 44_000.0;
        let round = |largest: &f64| four_bit::round(&row, 0.0, unit, *largest, stride, None);
        let fitting = [8.0, 4.0, 2.0, 1.0].iter().map(round).find(|rounded| unit > 0.0 && rounded.squares() <= most);
        let rounded = fitting.unwrap_or_else(|| four_bit::round(&[], 0.0, 1.0, 1.0, stride, None));
        Self {
            weights: rounded.weights().collect(),
            stored: kernels::four_bit::pack(&rounded.numbers, &rounded.scales),
            scale: (f64::from(rounded.scale) * unit) as f32,
        }
    }

    pub fn of(&self, query: &[f32]) -> f32 {
        self.scale * self.weights.iter().zip(query).map(|(&w, q)| f32::from(w) * q).sum::<f32>()
    }

    /// As a row of the file.
    pub fn stored(&self) -> &[i16] {
        &self.stored
    }
}
