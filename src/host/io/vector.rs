//! Lists of numbers: the biases of the classes.

use std::io::{Read, Seek};
use std::path::Path;

use super::ReadOptions;
use super::element::{Accept, Encoding, Stop, read_floats};
use super::error::{Position, Problem, ReadError};
use super::layout::expect_bytes;
use super::matrix::{ARCHIVE, NO_TENSORS};
use super::number::{Place, parse};
use super::source::{Source, extension, with_file};
use super::{delimited::for_each_row, npy::Npy, safetensors::Tensor};

/// Reads a list of numbers: N of them, N×1 or 1×N. The [module](super) lists the formats.
///
/// Values are finite or −∞, which masks a class.
///
/// ```
/// use zhat::host::io::{ReadOptions, read_vector};
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
    with_file(path, |source| read_as(&extension(path), source, options))
}

/// Reads what a file of this extension holds.
pub(super) fn read_as<R: Read + Seek>(
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

/// The length of a list of this shape.
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
    // Not above the length of the file.
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

/// Hands the fields of one row, or of one column, to `value` with the number of their line.
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
mod tests {
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
