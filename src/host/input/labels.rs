//! Reads the right class of each query and the names of the classes, and checks that files belong together.

use std::io::{BufRead, Read};
use std::path::Path;

use npyz::{Deserialize, NpyFile, TypeChar};

use super::ReadOptions;
use super::error::{Problem, ReadError};
use super::matrix::{expect_some, for_each_value, length};
use super::npy::{Npy, value_error};
use super::stream::expect_bytes;
use super::stream::not_a_number;
use super::stream::{Source, extension, with_file};
use crate::host::Matrix;

/// Reads classes: N, N×1 or 1×N integers of any width, none of them negative.
///
/// ```
/// # let file = std::env::temp_dir().join("zhat-labels.txt");
/// # std::fs::write(&file, "3\n1\n")?;
/// use zhat::host::input::{ReadOptions, read_labels};
///
/// assert_eq!(read_labels(&file, ReadOptions::default())?, [3, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`read_vector`](super::read_vector), for numbers that are not integers or are below 0.
pub fn read_labels(path: impl AsRef<Path>, options: ReadOptions<'_>) -> Result<Vec<usize>, ReadError> {
    let path = path.as_ref();
    with_file(path, |source| read_labels_as(&extension(path), source, options))
}

/// Reads labels from a file with this extension.
pub(super) fn read_labels_as<R: Read>(
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

// The names of the classes.

/// Reads names in UTF-8, one per line. An empty line is an empty name, so that line numbers are class numbers; a
/// newline after the last name adds none.
///
/// ```
/// let names = zhat::host::input::read_names("models/prompts.txt")?;
/// assert!(!names.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// For a file that cannot be read, is empty, or has a line that is not UTF-8.
pub fn read_names(path: impl AsRef<Path>) -> Result<Vec<String>, ReadError> {
    with_file(path.as_ref(), read_names_from)
}

pub(super) fn read_names_from<R: BufRead>(source: Source<R>) -> Result<Vec<String>, Problem> {
    let mut names = Vec::new();
    for line in source.reader.split(b'\n') {
        let mut line = line?;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let mut name = String::from_utf8(line)
            .map_err(|_| Problem::Malformed(format!("line {} is not UTF-8", names.len() + 1)))?;
        if names.is_empty() && name.starts_with('\u{feff}') {
            // A byte-order mark, as some editors write.
            name.remove(0);
        }
        names.push(name);
    }
    expect_some(names)
}

// Checks that files belong together.

/// Checks that a list of `len` values, from the file `other`, has one for each row of `matrix`.
///
/// ```
/// use zhat::host::{Matrix, input::expect_same_length};
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

#[cfg(test)]
mod names_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_endings_and_a_final_newline_are_not_names() {
        let read = |text: &str| read_names_from(Source::of(text.as_bytes())).unwrap();
        assert_eq!(read("a\nb\n"), ["a", "b"]);
        assert_eq!(read("a\r\n\r\nb"), ["a", "", "b"]);
        assert_eq!(read("\u{feff}é\n"), ["é"]);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_by_line() {
        let error = read_names_from(Source::of(b"a\n\xff\n")).unwrap_err();
        assert_eq!(error.to_string(), "line 2 is not UTF-8");
        assert!(matches!(read_names_from(Source::of(b"")), Err(Problem::Empty)));
    }

    proptest! {
        #[test]
        fn names_survive_a_round_trip(names in prop::collection::vec("[^\r\n\u{feff}]{1,8}", 1..20)) {
            prop_assert_eq!(read_names_from(Source::of(names.join("\n").as_bytes())).unwrap(), names);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read_names_from(Source::of(&bytes));
        }
    }
}

#[cfg(test)]
mod check_tests {
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
