//! Errors of the library as Python's: ValueError for what was given, OSError for what the system refuses.

use std::fmt::Display;
use std::io;

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use zhat::host::input::network::{ImportError, Obstacle};
use zhat::host::input::{Problem, ReadError};

use crate::cli::Failure;

/// Returns a ValueError with the sentence of an error.
pub fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns an OSError for files that cannot be read at all, and a ValueError for those that hold something else.
pub fn read(error: &ReadError) -> PyErr {
    match error.problem() {
        Problem::Io(cause) => system(cause.kind(), error),
        Problem::Directory => system(io::ErrorKind::IsADirectory, error),
        _ => value(error),
    }
}

/// As [`read`], for networks.
pub fn import(error: &ImportError) -> PyErr {
    match error.obstacle() {
        Obstacle::Io(cause) => system(cause.kind(), error),
        _ => value(error),
    }
}

/// Returns a ValueError with the sentence that a command ends with.
pub fn failure(failure: Failure) -> PyErr {
    match failure {
        Failure::Usage(sentence) | Failure::Failed(sentence) => value(sentence),
    }
}

/// Returns the subclass of OSError that stands for this kind of error.
pub fn system(kind: io::ErrorKind, error: impl Display) -> PyErr {
    io::Error::new(kind, error.to_string()).into()
}
