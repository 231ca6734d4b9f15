//! The errors of experiments.

use core::fmt;

use zhat::host::BuildError;

/// Says why an experiment could not be run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReproduceError {
    /// A setting is not valid; holds the reason.
    Setting(String),
    /// No model can be built from the rows.
    Build(BuildError),
    /// The model could not be extended or read.
    Model(zhat::Error),
    /// The model refuses a query.
    Query {
        /// Its number.
        index: usize,
        /// The reason.
        error: zhat::Error,
    },
}

impl fmt::Display for ReproduceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(text) => f.write_str(text),
            Self::Build(error) => error.fmt(f),
            Self::Model(error) => error.fmt(f),
            Self::Query { index, error } => write!(f, "query {index}: {error}"),
        }
    }
}

impl core::error::Error for ReproduceError {}

impl From<BuildError> for ReproduceError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}
