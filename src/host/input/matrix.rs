//! Reads matrices and lists of numbers in any of the formats, chosen by the file's extension.

use std::io::{BufRead, Read, Seek};
use std::path::Path;

use super::delimited::for_each_row;
use super::error::{Position, Problem, ReadError};
use super::npy::Npy;
use super::safetensors::Tensor;
use super::stream::expect_bytes;
use super::stream::{Accept, Encoding, Stop, read_floats};
use super::stream::{Place, parse};
use super::stream::{Source, extension, with_file};
use super::{ReadOptions, delimited, safetensors, word_vectors};
use crate::host::Matrix;

/// The error for an archive of NumPy arrays.
pub(super) const ARCHIVE: Problem = Problem::Option("is an archive of arrays: np.save writes one as .npy");
/// The error for a tensor's name with a file that has no names.
pub(super) const NO_TENSORS: Problem = Problem::Option("only a .safetensors file has tensors to name");

/// A matrix, and the names of its rows if the file has them.
///
/// ```
/// # let file = std::env::temp_dir().join("zhat-named-matrix.vec");
/// # std::fs::write(&file, "2 3\nthe 1 0 0\nof 0 1 0\n")?;
/// use zhat::host::input::{ReadOptions, read_named_matrix};
///
/// let vectors = read_named_matrix(&file, ReadOptions::default())?;
/// assert_eq!(vectors.names.as_deref(), Some(&["the".to_string(), "of".to_string()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMatrix {
    /// The values.
    pub matrix: Matrix,
    /// A name per row: the words of a word-vector file.
    pub names: Option<Vec<String>>,
}

/// Reads a matrix of finite values. The [module](super) lists the formats.
///
/// ```
/// use zhat::host::input::{ReadOptions, read_matrix};
///
/// let weights = read_matrix("models/import/weights.npy", ReadOptions::default())?;
/// println!("{} × {}", weights.rows(), weights.cols());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A [`ReadError`] if the file holds another type or shape, is truncated or empty, or has a value that is not a finite
/// f32.
pub fn read_matrix(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<Matrix, ReadError> {
    read_named_matrix(path, options).map(|named| named.matrix)
}

/// Reads a matrix as [`read_matrix`] does, with the names of its rows if the file has them.
///
/// ```
/// use zhat::host::input::{ReadOptions, read_named_matrix};
///
/// let found = read_named_matrix("models/import/weights.npy", ReadOptions::default())?;
/// assert!(found.names.is_none()); // an array of numbers has none
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_matrix`].
pub fn read_named_matrix(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<NamedMatrix, ReadError> {
    let path = path.as_ref();
    with_file(path, |source| read_matrix_as(&extension(path), source, options))
}

/// Reads a matrix from a file with this extension.
pub(super) fn read_matrix_as<R: BufRead + Seek>(
    extension: &str,
    source: Source<R>,
    options: ReadOptions<'_>,
) -> Result<NamedMatrix, Problem> {
    let unnamed = |matrix| NamedMatrix { matrix, names: None };
    match extension {
        "npy" | "csv" | "txt" | "vec" | "bin" | "json" if options.tensor.is_some() => Err(NO_TENSORS),
        "npy" => Npy::open(source)?.read_matrix(options).map(unnamed),
        "safetensors" => safetensors::read_matrix(source, options).map(unnamed),
        "csv" => delimited::read_matrix(source, options).map(unnamed),
        "txt" | "vec" | "bin" | "json" if options.transpose => {
            Err(Problem::Option("word vectors cannot be transposed: a row is a word"))
        }
        "txt" | "vec" => word_vectors::read_word_text(source, options),
        "bin" => word_vectors::read_word2vec(source, options),
        "json" => word_vectors::read_wink(source, options),
        "npz" => Err(ARCHIVE),
        _ => Err(Problem::Extension(".npy, .safetensors, .csv, or word vectors as .txt, .vec, .bin or .json")),
    }
}

/// Reads queries: a matrix as [`read_matrix`] does, or one query as a `.npy` of one dimension.
///
/// ```
/// use zhat::host::input::{ReadOptions, read_queries};
///
/// let queries = read_queries("models/import/weights.npy", ReadOptions::default())?;
/// assert!(queries.rows() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_matrix`].
pub fn read_queries(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<Matrix, ReadError> {
    let path = path.as_ref();
    let result = read_matrix(path, options);
    match &result {
        Err(error) if matches!(error.problem(), Problem::Shape { found, .. } if found.len() == 1) => {
            let query = super::read_vector(path, options)?;
            let cols = query.len();
            Matrix::new(query, cols).ok_or_else(|| ReadError::new(path, Problem::Empty))
        }
        _ => result,
    }
}

/// Reads a matrix from bytes without a file name, as from standard input: `.npy` if they start as one, else CSV. `name`
/// stands for the file in messages.
///
/// ```
/// let bytes = std::fs::read("models/import/weights.npy")?;
/// let weights = zhat::host::input::read_matrix_bytes("weights.npy", &bytes)?;
/// assert!(weights.rows() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_matrix`].
pub fn read_matrix_bytes(name: &str, bytes: &[u8]) -> Result<Matrix, ReadError> {
    let source = Source::of(bytes);
    let options = ReadOptions::default();
    let matrix = match bytes.starts_with(b"\x93NUMPY") {
        true => Npy::open(source).and_then(|npy| npy.read_matrix(options)),
        false => delimited::read_matrix(source, options),
    };
    matrix.map_err(|problem| ReadError::new(Path::new(name), problem))
}

// Lists of numbers: the biases of the classes.

/// Reads a list of numbers: N of them, N×1 or 1×N. The [module](super) lists the formats.
///
/// Values are finite or −∞, which masks a class.
///
/// ```
/// use zhat::host::input::{ReadOptions, read_vector};
///
/// let biases = read_vector("models/import/bias.npy", ReadOptions::default())?;
/// assert!(!biases.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_matrix`](super::read_matrix), for another shape, NaN and +∞.
pub fn read_vector(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<Vec<f32>, ReadError> {
    let path = path.as_ref();
    with_file(path, |source| read_vector_as(&extension(path), source, options))
}

/// Reads a list from a file with this extension.
pub(super) fn read_vector_as<R: Read + Seek>(
    extension: &str,
    source: Source<R>,
    options: ReadOptions<'_>,
) -> Result<Vec<f32>, Problem> {
    match extension {
        "npy" | "csv" | "txt" if options.tensor.is_some() => Err(NO_TENSORS),
        "npy" => read_npy(source, options),
        "safetensors" => read_safetensors(source, options),
        "csv" | "txt" => read_text(source, options),
        "npz" => Err(ARCHIVE),
        _ => Err(Problem::Extension(".npy, .safetensors, .csv or .txt")),
    }
}

/// Returns the length of a list of this shape.
pub(super) fn length(shape: &[u64]) -> Result<u64, Problem> {
    match *shape {
        [n] | [n, 1] | [1, n] => Ok(n),
        _ => Err(Problem::Shape { found: shape.to_vec(), expected: "one dimension, N×1 or 1×N" }),
    }
}

fn read_npy<R: Read>(source: Source<R>, options: ReadOptions<'_>) -> Result<Vec<f32>, Problem> {
    let npy = Npy::open(source)?;
    let encoding = npy.encoding()?;
    read_values(npy.reader, npy.header.shape(), encoding, npy.len, options)
}

fn read_safetensors<R: Read + Seek>(source: Source<R>, options: ReadOptions<'_>) -> Result<Vec<f32>, Problem> {
    let tensor =
        Tensor::open(source, options.tensor, "one-dimensional", |shape| matches!(shape, [_] | [_, 1] | [1, _]))?;
    let encoding = tensor.encoding()?;
    let shape = tensor.shape();
    read_values(tensor.reader, &shape, encoding, tensor.len, options)
}

fn read_values(
    reader: impl Read,
    shape: &[u64],
    encoding: Encoding,
    len: u64,
    options: ReadOptions<'_>,
) -> Result<Vec<f32>, Problem> {
    let count = length(shape)?;
    expect_bytes(shape, encoding.element.size(), len)?;
    // No more than the length of the file, which was checked above.
    let count = options.take(usize::try_from(count).unwrap_or(usize::MAX));
    let mut values = Vec::with_capacity(count);
    read_floats(reader, encoding, count, Accept::FiniteOrMasked, |block| {
        values.extend_from_slice(block);
    })
    .map_err(|stop| match stop {
        Stop::Problem(problem) => problem,
        Stop::Refused(refused) => Problem::Value { value: refused.value, at: Position::Index(refused.index as u64) },
    })?;
    expect_some(values)
}

fn read_text<R: Read>(source: Source<R>, options: ReadOptions<'_>) -> Result<Vec<f32>, Problem> {
    let mut values = Vec::new();
    for_each_value(source, options, |field, line| {
        let index = values.len() as u64;
        let place = || Place { line, at: Position::Index(index) };
        values.push(parse(field, Accept::FiniteOrMasked, place)?);
        Ok(())
    })?;
    expect_some(values)
}

/// Calls `value` with each field of one row, or of one column, and its line number.
pub(super) fn for_each_value<R: Read>(
    source: Source<R>,
    options: ReadOptions<'_>,
    mut value: impl FnMut(&str, u64) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (mut rows, mut count) = (0, 0);
    for_each_row(source, |record, line| {
        rows += 1;
        if rows > 1 && record.len() > 1 {
            return Err(Problem::Malformed(format!(
                "has rows of {} values, expected one row or one column",
                record.len()
            )));
        }
        for field in record {
            if options.is_enough(count) {
                return Ok(false);
            }
            value(field, line)?;
            count += 1;
        }
        Ok(true)
    })
}

pub(super) fn expect_some<T>(values: Vec<T>) -> Result<Vec<T>, Problem> {
    match values.is_empty() {
        true => Err(Problem::Empty),
        false => Ok(values),
    }
}

#[cfg(test)]
mod vector_tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Result<Vec<f32>, String> {
        read_text(Source::of(text.as_bytes()), ReadOptions::default()).map_err(|problem| problem.to_string())
    }

    fn npy(shape: &[u64], values: &[f32]) -> Result<Vec<f32>, String> {
        let bytes = super::super::npy::tests::file("<f4", shape, npyz::Order::C, values);
        read_npy(Source::of(&bytes), ReadOptions::default()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_row_a_column_and_a_list_are_the_same() {
        let values = [1.0, -2.0, 3.5];
        for shape in [&[3][..], &[3, 1], &[1, 3]] {
            assert_eq!(npy(shape, &values).unwrap(), values);
        }
        assert_eq!(text("1\n-2\n3.5\n").unwrap(), values);
        assert_eq!(text("bias\n1\n-2\n3.5\n").unwrap(), values);
        assert_eq!(text("1,-2,3.5").unwrap(), values);
    }

    #[test]
    fn other_shapes_are_refused() {
        let expected = "expected one dimension, N×1 or 1×N";
        assert_eq!(npy(&[2, 3], &[0.0; 6]).unwrap_err(), format!("has shape 2×3, {expected}"));
        assert_eq!(npy(&[2, 1, 3], &[0.0; 6]).unwrap_err(), format!("has shape 2×1×3, {expected}"));
        assert_eq!(npy(&[], &[0.0]).unwrap_err(), format!("has shape (), {expected}"));
        assert_eq!(npy(&[0], &[]).unwrap_err(), "is empty");
        assert_eq!(text("1,2\n3,4").unwrap_err(), "has rows of 2 values, expected one row or one column");
    }

    #[test]
    fn minus_infinity_masks_a_class_and_other_non_numbers_are_refused() {
        assert_eq!(npy(&[2], &[0.0, f32::NEG_INFINITY]).unwrap(), [0.0, f32::NEG_INFINITY]);
        assert_eq!(text("0\n-inf").unwrap(), [0.0, f32::NEG_INFINITY]);
        assert_eq!(npy(&[2], &[0.0, f32::NAN]).unwrap_err(), "NaN at position 1");
        assert_eq!(npy(&[2], &[0.0, f32::INFINITY]).unwrap_err(), "inf at position 1");
        assert_eq!(text("0\ninf").unwrap_err(), "inf at position 1");
        assert_eq!(text("0\nx").unwrap_err(), "line 2: \"x\" is not a number");
    }

    #[test]
    fn the_limit_is_on_values() {
        let options = ReadOptions { limit: Some(2), ..Default::default() };
        for text in ["1\n2\n3\n", "1,2,3\n"] {
            assert_eq!(read_text(Source::of(text.as_bytes()), options).unwrap(), [1.0, 2.0]);
        }
        let bytes = super::super::npy::tests::file("<f4", &[3], npyz::Order::C, &[1f32, 2.0, 3.0]);
        assert_eq!(read_npy(Source::of(&bytes), options).unwrap(), [1.0, 2.0]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read_npy(Source::of(&bytes), ReadOptions::default());
            let _ = read_safetensors(Source::of(&bytes), ReadOptions::default());
            let _ = read_text(Source::of(&bytes), ReadOptions::default());
        }
    }
}
