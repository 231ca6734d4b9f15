//! The one error type of the core.

use core::fmt;

/// Why a model, a query or a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The query has another length than the model's dimension.
    QueryLength,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QueryLength => "the query's length is not the model's dimension",
        })
    }
}

impl core::error::Error for Error {}
