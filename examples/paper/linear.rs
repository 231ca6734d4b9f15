//! Dot products, matrix products and columns.

use zhat::host::Matrix;

/// Returns Σ a·b.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Returns `a · bᵀ`, where both have rows of `cols` values.
pub fn times_transposed(a: &[f32], b: &[f32], cols: usize) -> Vec<f32> {
    let (m, n) = (a.len() / cols, b.len() / cols);
    let mut out = vec![0.0; m * n];
    zhat::internal::product(m, cols, n, a, (cols, 1), b, (1, cols), &mut out);
    out
}

/// Returns the matrix with one more column.
pub fn with_column(x: &Matrix, value: impl Fn(usize) -> f32) -> Matrix {
    let mut data = Vec::with_capacity(x.rows() * (x.cols() + 1));
    for (i, row) in x.iter().enumerate() {
        data.extend_from_slice(row);
        data.push(value(i));
    }
    Matrix::new(data, x.cols() + 1).expect("whole rows")
}
