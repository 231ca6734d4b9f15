//! Errors of reading a file: the file's name, the expected and the found content.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file that cannot be used, and the reason. Displays as `weights.npy: NaN at row 17, column 3`.
///
/// ```
/// use zhat::host::input::{ReadOptions, read_matrix};
///
/// let error = read_matrix("no such file.npy", ReadOptions::default()).unwrap_err();
/// assert!(error.path().ends_with("no such file.npy"));
/// println!("{error}");
/// ```
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    problem: Problem,
}

impl ReadError {
    pub(super) fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }

    /// Returns the path of the file, as the caller gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// The problem with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The system reports an error: no such file, no permission, a failing disk.
    Io(io::Error),
    /// A directory where a file was expected.
    Directory,
    /// There is no reader for the extension; holds the extensions that have one.
    Extension(&'static str),
    /// The file is not of the format of its extension; holds the format.
    Magic(&'static str),
    /// The file is of the format but damaged or invalid; holds the reason.
    Malformed(String),
    /// The file ends before its announced length.
    Truncated {
        /// The announced content.
        expected: String,
        /// The content that was found.
        found: String,
    },
    /// The elements have a type that is not supported.
    Type {
        /// The type in the file.
        found: String,
        /// The supported types.
        expected: &'static str,
    },
    /// The shape is not one that this use needs.
    Shape {
        /// The shape in the file.
        found: Vec<u64>,
        /// The shapes that fit.
        expected: &'static str,
    },
    /// No rows, no columns or no values.
    Empty,
    /// A value that is not a finite f32.
    Value {
        /// The value in the file.
        value: f64,
        /// Its position.
        at: Position,
    },
    /// A negative number, or one past the last class, where a class was expected.
    Label {
        /// The number in the file.
        label: i128,
        /// Its position in the list.
        at: usize,
        /// The number of classes, if it is known.
        classes: Option<usize>,
    },
    /// Text where a number was expected.
    Number {
        /// The line, counted from one.
        line: u64,
        /// The text in the file.
        text: String,
        /// The kind of number expected.
        expected: &'static str,
    },
    /// A row that is longer or shorter than those before it.
    Ragged {
        /// The line, counted from one.
        line: u64,
        /// The number of values in that row.
        found: usize,
        /// The number of values in the rows before.
        expected: usize,
    },
    /// Several tensors fit, or none: the caller has to name one.
    Choice {
        /// The names that fit, or all names if none fits.
        names: Vec<String>,
        /// The number of tensors that fit.
        fitting: usize,
        /// The expected shape.
        expected: &'static str,
    },
    /// The named tensor is not there.
    Missing {
        /// The requested name.
        tensor: String,
        /// The names in the file.
        names: Vec<String>,
    },
    /// Two files do not belong together; holds the reason.
    Mismatch(String),
    /// The model file is not valid.
    Model(crate::Error),
    /// An option cannot be used with this format; holds the reason.
    Option(&'static str),
}

/// The position of a value, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// In a matrix.
    Cell {
        /// The row.
        row: u64,
        /// The column.
        column: u64,
    },
    /// In a list of values.
    Index(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell { row, column } => write!(f, "row {row}, column {column}"),
            Self::Index(index) => write!(f, "position {index}"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => f.write_str("no such file"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Directory => f.write_str("is a directory"),
            Self::Extension(expected) => write!(f, "unknown kind of file, expected {expected}"),
            Self::Magic(expected) => write!(f, "not a {expected} file (wrong magic)"),
            Self::Malformed(text) | Self::Mismatch(text) => f.write_str(text),
            Self::Truncated { expected, found } => {
                write!(f, "ends early: expected {expected}, found {found}")
            }
            Self::Type { found, expected } => write!(f, "holds {found}, expected {expected}"),
            Self::Shape { found, expected } => {
                write!(f, "has shape {}, expected {expected}", Shape(found))
            }
            Self::Empty => f.write_str("is empty"),
            Self::Value { value, at } if value.is_finite() => {
                write!(f, "{value:e} at {at} is too large for f32")
            }
            Self::Value { value, at } => write!(f, "{value} at {at}"),
            Self::Label { label, at, classes } => match classes {
                Some(classes) => write!(f, "label {label} at position {at}, but there are {classes} classes"),
                None => write!(f, "label {label} at position {at}, expected a class (0, 1, …)"),
            },
            Self::Number { line, text, expected } => {
                write!(f, "line {line}: \"{text}\" is not {expected}")
            }
            Self::Ragged { line, found, expected } => {
                write!(f, "line {line} has {found} values, expected {expected}")
            }
            Self::Choice { names, fitting: 0, expected } => {
                write!(f, "has no {expected} tensor (it has {})", list(names))
            }
            Self::Choice { names, fitting, expected } => {
                write!(f, "has {fitting} {expected} tensors ({}); name one", list(names))
            }
            Self::Missing { tensor, names } => {
                write!(f, "has no tensor \"{tensor}\" (it has {})", list(names))
            }
            Self::Option(text) => f.write_str(text),
            Self::Model(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Formats names for a message: all of a few, the first of many.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len() {
        0 => "none".to_owned(),
        n if n > SHOWN => format!("{}, … {} in all", names[..SHOWN].join(", "), n),
        _ => names.join(", "),
    }
}

/// Displays a shape as people write it: `10000×64`, `9999`, or `()` for a single number.
pub(super) struct Shape<'a>(pub &'a [u64]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else {
            return f.write_str("()");
        };
        write!(f, "{first}")?;
        rest.iter().try_for_each(|n| write!(f, "×{n}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_file_and_what_was_found() {
        let show = |problem| ReadError::new(Path::new("w.npy"), problem).to_string();
        let at = Position::Cell { row: 17, column: 3 };
        let value = |value| show(Problem::Value { value, at });
        assert_eq!(value(f64::NAN), "w.npy: NaN at row 17, column 3");
        assert_eq!(value(f64::NEG_INFINITY), "w.npy: -inf at row 17, column 3");
        assert_eq!(value(1e300), "w.npy: 1e300 at row 17, column 3 is too large for f32");
        let shape = |found| show(Problem::Shape { found, expected: "two dimensions" });
        assert_eq!(shape(vec![5]), "w.npy: has shape 5, expected two dimensions");
        assert_eq!(shape(vec![2, 3, 4]), "w.npy: has shape 2×3×4, expected two dimensions");
        assert_eq!(shape(vec![]), "w.npy: has shape (), expected two dimensions");
    }

    #[test]
    fn many_names_are_cut_short() {
        let names: Vec<_> = (0..20).map(|i| format!("t{i}")).collect();
        assert_eq!(list(&names), "t0, t1, t2, t3, t4, t5, t6, t7, … 20 in all");
    }
}
