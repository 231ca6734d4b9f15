//! Why a file could not be read: the file's name, what was expected and what was found.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file that cannot be used, and why. Displays as `weights.npy: NaN at row 17, column 3`.
///
/// ```
/// use zhat::host::io::{ReadOptions, read_matrix};
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

    /// Returns the file, as it was named by the caller.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is wrong with it.
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

/// What is wrong with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The system refused: no such file, no permission, a failing disk.
    Io(io::Error),
    /// A directory where a file was expected.
    Directory,
    /// An extension that no reader is for; the field lists those there are readers for.
    Extension(&'static str),
    /// Not of the format that its extension says; the field names that format.
    Magic(&'static str),
    /// Of the format, but broken in the way the text says.
    Malformed(String),
    /// The file ends before what it announces.
    Truncated {
        /// What it announces.
        expected: String,
        /// What it has.
        found: String,
    },
    /// Elements of a type that is not read.
    Type {
        /// The type in the file.
        found: String,
        /// The types that are read.
        expected: &'static str,
    },
    /// A shape that does not fit the use.
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
        /// Where it stands.
        at: Position,
    },
    /// A negative number, or one past the last class, where a class was expected.
    Label {
        /// The number in the file.
        label: i128,
        /// Where it stands.
        at: usize,
        /// How many classes there are, where that is known.
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
        /// Values in that row.
        found: usize,
        /// Values in the rows before.
        expected: usize,
    },
    /// Several tensors fit, or none: one has to be named.
    Choice {
        /// The names that fit, or all names if none fits.
        names: Vec<String>,
        /// How many fit.
        fitting: usize,
        /// The shape that was looked for.
        expected: &'static str,
    },
    /// The named tensor is not there.
    Missing {
        /// The name that was asked for.
        tensor: String,
        /// The names that are there.
        names: Vec<String>,
    },
    /// Two files that do not belong together; the text says how.
    Mismatch(String),
    /// A model file that is refused.
    Model(crate::Error),
    /// An option that has no meaning for this format; the text says which.
    Option(&'static str),
}

/// Where a value stands, counted from zero.
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

/// Lists names for a message: all of a few, the first of many.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len() {
        0 => "none".to_owned(),
        n if n > SHOWN => format!("{}, … {} in all", names[..SHOWN].join(", "), n),
        _ => names.join(", "),
    }
}

/// A shape as people write it: `10000×64`, `9999`, or `()` for a single number.
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
