//! Whether files belong together.

use std::path::Path;

use super::error::{Problem, ReadError};
use crate::host::Matrix;

/// Checks that a list of `len` values, from the file `other`, has one for each row of `matrix`.
///
/// ```
/// use zhat::host::{Matrix, io::expect_same_length};
///
/// let weights = Matrix::new(vec![0.0; 6], 3).expect("two rows");
/// assert!(expect_same_length("W.npy", &weights, "b.npy", 2).is_ok());
/// assert!(expect_same_length("W.npy", &weights, "b.npy", 3).is_err());
/// ```
///
/// # Errors
/// `weights.npy: 10000×64, but bias.npy has 9999 values`
pub fn expect_same_length(
    path: impl AsRef<Path>,
    matrix: &Matrix,
    other: impl AsRef<Path>,
    len: usize,
) -> Result<(), ReadError> {
    expect(matrix.rows() == len, path.as_ref(), || {
        let other = other.as_ref().display();
        Problem::Mismatch(format!("{}, but {other} has {len} values", shape(matrix)))
    })
}

/// Checks that rows of `matrix` and of `other` are of the same length, as queries and weights are.
///
/// ```
/// use zhat::host::{Matrix, io::expect_same_dimension};
///
/// let (weights, queries) = (Matrix::new(vec![0.0; 6], 3).unwrap(), Matrix::new(vec![0.0; 9], 3).unwrap());
/// assert!(expect_same_dimension("W.npy", &weights, "q.npy", &queries).is_ok());
/// ```
///
/// # Errors
/// `queries.npy: 500×63, but weights.npy is 10000×64`
pub fn expect_same_dimension(
    path: impl AsRef<Path>,
    matrix: &Matrix,
    other_path: impl AsRef<Path>,
    other: &Matrix,
) -> Result<(), ReadError> {
    expect(matrix.cols() == other.cols(), path.as_ref(), || {
        let path = other_path.as_ref().display();
        Problem::Mismatch(format!("{}, but {path} is {}", shape(matrix), shape(other)))
    })
}

/// Checks that every label is one of `classes` classes.
///
/// ```
/// use zhat::host::io::expect_labels_in_range;
///
/// assert!(expect_labels_in_range("y.npy", &[0, 3], 4).is_ok());
/// assert!(expect_labels_in_range("y.npy", &[0, 4], 4).is_err());
/// ```
///
/// # Errors
/// `labels.npy: label 10000 at position 3, but there are 10000 classes`
pub fn expect_labels_in_range(path: impl AsRef<Path>, labels: &[usize], classes: usize) -> Result<(), ReadError> {
    let outside = labels.iter().position(|&label| label >= classes);
    outside.map_or(Ok(()), |at| {
        let problem = Problem::Label { label: labels[at] as i128, at, classes: Some(classes) };
        Err(ReadError::new(path.as_ref(), problem))
    })
}

fn expect(holds: bool, path: &Path, problem: impl FnOnce() -> Problem) -> Result<(), ReadError> {
    match holds {
        true => Ok(()),
        false => Err(ReadError::new(path, problem())),
    }
}

fn shape(matrix: &Matrix) -> String {
    format!("{}×{}", matrix.rows(), matrix.cols())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, cols: usize) -> Matrix {
        Matrix::new(vec![0.0; rows * cols], cols).unwrap()
    }

    #[test]
    fn a_bias_per_row_is_expected() {
        let weights = matrix(10000, 64);
        let check = |len| expect_same_length("weights.npy", &weights, "bias.npy", len);
        assert!(check(10000).is_ok());
        assert_eq!(check(9999).unwrap_err().to_string(), "weights.npy: 10000×64, but bias.npy has 9999 values");
    }

    #[test]
    fn queries_have_the_dimension_of_the_weights() {
        let weights = matrix(100, 64);
        let check = |cols| expect_same_dimension("q.npy", &matrix(5, cols), "w.npy", &weights);
        assert!(check(64).is_ok());
        assert_eq!(check(63).unwrap_err().to_string(), "q.npy: 5×63, but w.npy is 100×64");
    }

    #[test]
    fn labels_are_below_the_number_of_classes() {
        assert!(expect_labels_in_range("y.npy", &[0, 9, 3], 10).is_ok());
        assert_eq!(
            expect_labels_in_range("y.npy", &[0, 9, 10], 10).unwrap_err().to_string(),
            "y.npy: label 10 at position 2, but there are 10 classes"
        );
    }
}
