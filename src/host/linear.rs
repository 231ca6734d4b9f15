//! Provides the little linear algebra that building needs: products, and a column more.

use rayon::prelude::*;

use super::Matrix;

/// Computes `a · bᵀ`, row-major: the scores of the queries `a` for the rows `b`, both with rows of `cols` values.
pub fn times_transposed(a: &[f32], b: &[f32], cols: usize) -> Vec<f32> {
    let (m, n) = (a.len() / cols, b.len() / cols);
    let mut out = vec![0.0f32; m * n];
    product(m, cols, n, a, (cols, 1), b, (1, cols), &mut out);
    out
}

/// Computes `a · b` for row-major `a` (rows of `inner` values) and `b` (`inner` rows).
pub fn times(a: &[f32], b: &[f32], inner: usize) -> Vec<f32> {
    let (m, n) = (a.len() / inner, b.len() / inner);
    let mut out = vec![0.0f32; m * n];
    product(m, inner, n, a, (inner, 1), b, (n, 1), &mut out);
    out
}

/// Computes `aᵀ · b` for row-major `a` and `b` with the same number of rows.
pub fn transposed_times(a: &[f32], a_cols: usize, b: &[f32], b_cols: usize) -> Vec<f32> {
    let rows = a.len() / a_cols;
    let mut out = vec![0.0f32; a_cols * b_cols];
    product(a_cols, rows, b_cols, a, (1, a_cols), b, (b_cols, 1), &mut out);
    out
}

/// The number of rows of a product that one thread computes at a time.
const ROWS: usize = 256;

/// Computes `a · b` into `out`, of m×k and k×n values. The strides (of a row, of a column) state which of them is
/// transposed.
///
/// Only rayon's threads are used. A product with threads of its own would wait for each of them, and beside another
/// program that wait is far longer than the product.
#[allow(clippy::too_many_arguments, reason = "the shape of a general matrix product")]
pub fn product(
    m: usize,
    k: usize,
    n: usize,
    a: &[f32],
    a_strides: (usize, usize),
    b: &[f32],
    b_strides: (usize, usize),
    out: &mut [f32],
) {
    if m <= ROWS || n == 0 {
        return product_of_few(m, k, n, a, a_strides, b, b_strides, out);
    }
    out[..m * n].par_chunks_mut(ROWS * n).enumerate().for_each(|(block, out)| {
        let a = &a[(block * ROWS * a_strides.0).min(a.len())..];
        product_of_few(out.len() / n, k, n, a, a_strides, b, b_strides, out);
    });
}

/// Computes the product on this thread.
#[allow(clippy::too_many_arguments, reason = "the shape of a general matrix product")]
#[allow(unsafe_code)]
fn product_of_few(
    m: usize,
    k: usize,
    n: usize,
    a: &[f32],
    a_strides: (usize, usize),
    b: &[f32],
    b_strides: (usize, usize),
    out: &mut [f32],
) {
    let reach = |rows: usize, cols: usize, strides: (usize, usize)| match (rows, cols) {
        (0, _) | (_, 0) => 0,
        _ => (rows - 1) * strides.0 + (cols - 1) * strides.1 + 1,
    };
    let fits = a.len() >= reach(m, k, a_strides) && b.len() >= reach(k, n, b_strides) && out.len() >= m * n;
    assert!(fits, "operands have their sizes");
    // SAFETY: the assertion above covers every element that these strides of an m×k and a k×n matrix reach, and all of `out`.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.as_ptr(),
            a_strides.0 as isize,
            a_strides.1 as isize,
            b.as_ptr(),
            b_strides.0 as isize,
            b_strides.1 as isize,
            0.0,
            out.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}

/// The matrix with a column of ones after it: the bias as a coordinate.
pub fn with_ones(x: &Matrix) -> Matrix {
    with_column(x, |_| 1.0)
}

/// Appends a column to the matrix.
pub fn with_column(x: &Matrix, value: impl Fn(usize) -> f32) -> Matrix {
    let mut data = Vec::with_capacity(x.rows() * (x.cols() + 1));
    for (i, row) in x.iter().enumerate() {
        data.extend_from_slice(row);
        data.push(value(i));
    }
    Matrix::new(data, x.cols() + 1).expect("whole rows")
}

/// Σ a·b.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum_of(a, b, |x, y| x * y)
}

/// Σ (a − b)².
pub fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    sum_of(a, b, |x, y| (x - y) * (x - y))
}

/// Adds terms up in eight sums, which a compiler turns into vectors.
fn sum_of(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0.0f32; 8];
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(&x, &y)| term(x, y)).sum::<f32>()
}

/// Computes ln Σ exp.
pub fn log_sum_exp(values: &[f32]) -> f32 {
    let max = values.iter().fold(f32::NEG_INFINITY, |m, &v| m.max(v));
    if max == f32::NEG_INFINITY {
        return max;
    }
    max + values.iter().map(|v| (v - max).exp()).sum::<f32>().ln()
}
