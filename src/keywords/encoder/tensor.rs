//! A matrix of int8 weights in flash, times a vector.
//!
//! Rows are kept as in a model, and multiplied by its kernels: a vector is rounded to int16 once for all rows. Its step is as
//! small as no dot product overflows with: by Cauchy and Schwarz none is above 256·‖row‖·‖vector‖, in whole numbers.

use crate::hint::keep_small;
use crate::kernels;
use crate::math::sqrt;

/// Columns of the widest matrix, the stem's or the embedding's.
pub const WIDEST: usize = 208;
/// Rows whose dot products are computed together.
const TOGETHER: usize = 48;
/// ‖row‖·‖vector‖ stays below this: 2²³, less what rounding adds.
const LARGEST_DOT: f32 = 8_380_000.0;
/// And each number below this, with what the odd column gives to the even one.
const LARGEST: f32 = 32_000.0;
/// A vector below this is zero.
const SMALLEST_NORM: f32 = 1e-20;

/// Rows, each with its scale and bias.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    columns: usize,
    scales: &'a [f32],
    biases: &'a [f32],
    pairs: &'a [i16],
    /// The norm of the longest row, in whole numbers.
    longest: f32,
}

/// A vector, rounded.
#[repr(align(4))]
struct Rounded([i16; WIDEST]);

impl<'a> Tensor<'a> {
    pub const EMPTY: Self = Self { columns: 0, scales: &[], biases: &[], pairs: &[], longest: 1.0 };

    /// `pairs` has a row of `columns` weights for each scale; an even number of columns, not above [`WIDEST`].
    pub fn new(columns: usize, scales: &'a [f32], biases: &'a [f32], pairs: &'a [i16]) -> Self {
        let square = |weight: i8| u32::from(weight.unsigned_abs()).pow(2);
        let of_row =
            |row: &[i16]| row.iter().fold(0, |sum, &pair| sum + kernels::weights(pair).map(square).iter().sum::<u32>());
        let longest = pairs.chunks_exact((columns / 2).max(1)).fold(1, |longest, row| longest.max(of_row(row)));
        Self { columns, scales, biases, pairs, longest: sqrt(longest as f32) }
    }

    /// Each row's dot product with the vector, times its scale, and its bias.
    pub fn times(&self, vector: &[f32], out: &mut [f32]) {
        let mut rounded = Rounded([0; WIDEST]);
        let Some(query) = rounded.0.get_mut(..self.columns) else { return };
        let unit = round(vector, self.longest, query);
        let rows = self.pairs.chunks((self.columns / 2).max(1) * TOGETHER);
        let scales = self.scales.chunks(TOGETHER).zip(self.biases.chunks(TOGETHER));
        for ((rows, (scales, biases)), out) in rows.zip(scales).zip(out.chunks_mut(TOGETHER)) {
            let mut dots = [0; TOGETHER];
            kernels::dot_rows(rows, query, &mut dots);
            for (((place, dot), scale), bias) in out.iter_mut().zip(dots).zip(scales).zip(biases) {
                keep_small();
                *place = dot as f32 * (unit * scale) + bias;
            }
        }
    }
}

/// Rounds the vector for rows whose norm is at most `longest`: what one unit of a dot product is worth.
fn round(vector: &[f32], longest: f32, query: &mut [i16]) -> f32 {
    let norm = sqrt(vector.iter().fold(0.0, |sum, value| sum + value * value));
    // And no number at all, if there is one that is none.
    if !(SMALLEST_NORM..f32::INFINITY).contains(&norm) {
        return 0.0;
    }
    let largest = (LARGEST_DOT / longest).min(LARGEST);
    let per_step = largest / norm;
    let mut pairs = vector.as_chunks().0.iter();
    kernels::for_each_pair(query, |even, odd| {
        let &[first, second] = pairs.next().unwrap_or(&[0.0; 2]);
        let second = nearest(second * per_step);
        // The even weight meets a 256th of the odd value as well: see `kernels`.
        *even = nearest(first * per_step - f32::from(second) * (1.0 / 256.0));
        *odd = second;
    });
    norm / (largest * 256.0)
}

/// The nearest whole number, halves to the even one, of a number that is not above 2¹⁶.
#[inline]
pub fn nearest(x: f32) -> i16 {
    // Above 2²³ floats are whole numbers.
    const WHOLE: f32 = 12_582_912.0;
    (x + WHOLE).to_bits() as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest() {
        for (x, expected) in [(0.0, 0), (0.5, 0), (0.51, 1), (-0.5, 0), (-1.5, -2), (32_000.4, 32_000), (-7.6, -8)] {
            assert_eq!(nearest(x), expected, "{x}");
        }
    }

    proptest! {
        #[test]
        fn products_are_those_of_floats(
            pairs in 2usize..104,
            rows in 1usize..100,
            amplitude in 1e-6_f32..1e6,
            seed in any::<u64>(),
        ) {
            let columns = 4 * pairs.div_ceil(2);
            let mut state = seed | 1;
            let mut next = || { state = state.wrapping_mul(6364136223846793005).wrapping_add(1); (state >> 40) as i32 - (1 << 23) };
            let weights: Vec<i8> = (0..columns * rows).map(|_| (next() % 128) as i8).collect();
            let vector: Vec<f32> = (0..columns).map(|_| next() as f32 * amplitude).collect();
            let (scales, biases) = (vec![0.5; rows], vec![3.0; rows]);
            let stored: Vec<i16> = weights.as_chunks().0.iter().map(|&[even, odd]| kernels::pair(even, odd)).collect();
            let tensor = Tensor::new(columns, &scales, &biases, &stored);
            let mut out = vec![0.0; rows];
            tensor.times(&vector, &mut out);
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            for (row, &product) in weights.chunks(columns).zip(&out) {
                let truth: f64 = row.iter().zip(&vector).map(|(&w, &x)| f64::from(w) * f64::from(x)).sum();
                let length = row.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>().sqrt();
                // Half a step a column: a step is ‖x‖·‖longest row‖/2²³.
                let bound = length * f64::from(norm) * f64::from(tensor.longest) / 8e6 * (columns as f64).sqrt() * 0.6;
                prop_assert!((f64::from(product) - 3.0 - 0.5 * truth).abs() <= 0.5 * bound + 1e-5 * truth.abs() + 1e-3, "{product} {truth}");
            }
        }
    }
}
