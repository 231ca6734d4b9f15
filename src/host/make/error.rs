//! Why there is no model.

use core::fmt;

use crate::host::BuildError;
use crate::host::evaluate::EvaluateError;
use crate::host::label::SetsError;

/// Why there is no model.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::make::{MakeError, Request, make};
///
/// let names = vec!["one".to_string()]; // of 60
/// let request = Request { names: Some(&names), ..Request::new(&layer.weights, &layer.biases) };
/// assert!(matches!(make(&request, &mut |_| {}), Err(MakeError::Length { found: 1, expected: 60, .. })));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MakeError {
    /// The weights or queries can't make one.
    Build(BuildError),
    /// The result could not be measured.
    Evaluate(EvaluateError),
    /// It does not fit: the limit, and the least that was reached.
    Flash {
        /// The limit.
        limit: usize,
        /// The least that was reached.
        least: usize,
        /// The bytes of the rows alone.
        rows: usize,
    },
    /// No work reaches the limit on the error: the limit, and the error at the largest work.
    Error {
        /// The limit.
        limit: f32,
        /// The error that was reached.
        reached: f32,
        /// The work that it took.
        work: f32,
    },
    /// There are no sets of classes of the levels that were asked for.
    Sets(SetsError),
    /// Something has another length than it should.
    Length {
        /// The name of it.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that it should have.
        expected: usize,
    },
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(error) => error.fmt(f),
            Self::Evaluate(error) => error.fmt(f),
            Self::Sets(error) => error.fmt(f),
            Self::Flash { limit, least, rows } => write!(
                f,
                "the model does not fit into {limit} bytes: the least is {least} bytes, {rows} of them rows and biases"
            ),
            Self::Error { limit, reached, work } => write!(
                f,
                "no work reaches an error of {:.2} %: with {:.0} % of the rows it is {:.2} %",
                limit * 100.0,
                work * 100.0,
                reached * 100.0
            ),
            Self::Length { what, found, expected } => write!(f, "{found} {what}, expected {expected}"),
        }
    }
}

impl core::error::Error for MakeError {}

impl From<BuildError> for MakeError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl From<SetsError> for MakeError {
    fn from(error: SetsError) -> Self {
        Self::Sets(error)
    }
}

impl From<EvaluateError> for MakeError {
    fn from(error: EvaluateError) -> Self {
        Self::Evaluate(error)
    }
}
