//! The right class of each query.

use std::io::Read;
use std::path::Path;

use npyz::{Deserialize, NpyFile, TypeChar};

use super::ReadOptions;
use super::error::{Problem, ReadError};
use super::layout::expect_bytes;
use super::npy::{Npy, value_error};
use super::number::not_a_number;
use super::source::{Source, extension, with_file};
use super::vector::{expect_some, for_each_value, length};

/// Reads classes: N, N×1 or 1×N integers of any width, none of them negative.
///
/// ```
/// # let file = std::env::temp_dir().join("zhat-labels.txt");
/// # std::fs::write(&file, "3\n1\n")?;
/// use zhat::host::io::{ReadOptions, read_labels};
///
/// assert_eq!(read_labels(&file, ReadOptions::default())?, [3, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_vector`](super::read_vector), for numbers that are not integers or are below 0.
pub fn read_labels(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<Vec<usize>, ReadError> {
    let path = path.as_ref();
    with_file(path, |source| read_as(&extension(path), source, options))
}

/// Reads what a file of this extension holds.
pub(super) fn read_as<R: Read>(
    extension: &str,
    source: Source<R>,
    options: ReadOptions<'_>,
) -> Result<Vec<usize>, Problem> {
    match extension {
        "npy" => read_npy(source, options),
        "csv" | "txt" => read_text(source, options),
        _ => Err(Problem::Extension(".npy, .csv or .txt")),
    }
}

fn read_npy<R: Read>(source: Source<R>, options: ReadOptions<'_>) -> Result<Vec<usize>, Problem> {
    let npy = Npy::open(source)?;
    match npy.scalar().map(|s| (s.type_char(), s.size_field())) {
        Some((TypeChar::Int, 1)) => collect::<i8, R>(npy, options),
        Some((TypeChar::Int, 2)) => collect::<i16, R>(npy, options),
        Some((TypeChar::Int, 4)) => collect::<i32, R>(npy, options),
        Some((TypeChar::Int, 8)) => collect::<i64, R>(npy, options),
        Some((TypeChar::Uint, 1)) => collect::<u8, R>(npy, options),
        Some((TypeChar::Uint, 2)) => collect::<u16, R>(npy, options),
        Some((TypeChar::Uint, 4)) => collect::<u32, R>(npy, options),
        Some((TypeChar::Uint, 8)) => collect::<u64, R>(npy, options),
        _ => Err(Problem::Type { found: npy.type_name(), expected: "integers" }),
    }
}

fn collect<T: Deserialize + Into<i128>, R: Read>(npy: Npy<R>, options: ReadOptions<'_>) -> Result<Vec<usize>, Problem> {
    let shape = npy.header.shape().to_vec();
    let count = length(&shape)?;
    expect_bytes(&shape, size_of::<T>(), npy.len)?;
    let count = options.take(usize::try_from(count).unwrap_or(usize::MAX));
    let values = NpyFile::with_header(npy.header, npy.reader)
        .data::<T>()
        .map_err(|error| Problem::Malformed(error.to_string()))?;
    let labels: Result<Vec<_>, _> =
        values.take(count).enumerate().map(|(at, value)| class(value.map_err(value_error)?.into(), at)).collect();
    expect_some(labels?)
}

fn read_text<R: Read>(source: Source<R>, options: ReadOptions<'_>) -> Result<Vec<usize>, Problem> {
    let mut labels = Vec::new();
    for_each_value(source, options, |field, line| {
        let label: i64 = field.parse().map_err(|_| not_a_number(field, line, "an integer"))?;
        labels.push(class(label.into(), labels.len())?);
        Ok(())
    })?;
    expect_some(labels)
}

fn class(label: i128, at: usize) -> Result<usize, Problem> {
    usize::try_from(label).map_err(|_| Problem::Label { label, at, classes: None })
}

#[cfg(test)]
mod tests {
    use super::super::npy::tests::file;
    use super::*;
    use npyz::Order;
    use proptest::prelude::*;

    fn npy(bytes: &[u8]) -> Result<Vec<usize>, String> {
        read_npy(Source::of(bytes), ReadOptions::default()).map_err(|problem| problem.to_string())
    }

    fn text(text: &str) -> Result<Vec<usize>, String> {
        read_text(Source::of(text.as_bytes()), ReadOptions::default()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn every_width_of_integer_is_read() {
        let expected = vec![0, 5, 127];
        assert_eq!(npy(&file("|i1", &[3], Order::C, &[0i8, 5, 127])).unwrap(), expected);
        assert_eq!(npy(&file("<i2", &[3], Order::C, &[0i16, 5, 127])).unwrap(), expected);
        assert_eq!(npy(&file(">i4", &[3, 1], Order::C, &[0i32, 5, 127])).unwrap(), expected);
        assert_eq!(npy(&file("<i8", &[1, 3], Order::C, &[0i64, 5, 127])).unwrap(), expected);
        assert_eq!(npy(&file("|u1", &[3], Order::Fortran, &[0u8, 5, 127])).unwrap(), expected);
        assert_eq!(npy(&file(">u2", &[3], Order::C, &[0u16, 5, 127])).unwrap(), expected);
        assert_eq!(npy(&file("<u4", &[3], Order::C, &[0u32, 5, 127])).unwrap(), expected);
        assert_eq!(npy(&file(">u8", &[3], Order::C, &[0u64, 5, 127])).unwrap(), expected);
        assert_eq!(text("0\n5\n127\n").unwrap(), expected);
        assert_eq!(text("label\n0\n5\n127\n").unwrap(), expected);
        assert_eq!(text("0, 5, 127").unwrap(), expected);
    }

    #[test]
    fn what_is_no_class_is_refused() {
        let negative = "label -1 at position 1, expected a class (0, 1, …)";
        assert_eq!(npy(&file("<i4", &[2], Order::C, &[0i32, -1])).unwrap_err(), negative);
        assert_eq!(text("0\n-1").unwrap_err(), negative);
        assert_eq!(text("0\n1.5").unwrap_err(), "line 2: \"1.5\" is not an integer");
        let floats = file("<f4", &[1], Order::C, &[1f32]);
        assert_eq!(npy(&floats).unwrap_err(), "holds float32, expected integers");
    }

    #[test]
    fn missing_labels_are_an_error() {
        let bytes = file("<i4", &[2], Order::C, &[0i32, 1]);
        let error = npy(&bytes[..bytes.len() - 1]).unwrap_err();
        assert_eq!(error, "ends early: expected 2 values of 4 bytes, found 7 bytes");
        assert_eq!(npy(&file::<i32>("<i4", &[0], Order::C, &[])).unwrap_err(), "is empty");
        assert_eq!(text("").unwrap_err(), "is empty");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = npy(&bytes);
            let _ = read_text(Source::of(&bytes), ReadOptions::default());
        }
    }
}
