//! The errors of building a model.

use core::fmt;

/// Says why a model could not be built from these weights.
///
/// ```
/// use zhat::host::{BuildError, Layer, flat_model};
///
/// let layer = Layer::generate(60, 8, 1);
/// let error = flat_model(&layer.weights, &layer.biases[1..]).unwrap_err();
/// println!("{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// There are no rows.
    Empty,
    /// The dimension is zero or above the format's limit.
    Dimension(usize),
    /// There are more classes than the format can count.
    Classes(usize),
    /// The number of biases is not the number of rows.
    BiasLength {
        /// The number of rows.
        rows: usize,
        /// The number of biases.
        biases: usize,
    },
    /// A weight is NaN or infinite.
    Weight {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// Its value.
        value: f32,
    },
    /// A bias is NaN or +∞ (−∞ is a class that never occurs).
    Bias {
        /// Its row.
        row: usize,
        /// Its value.
        value: f32,
    },
    /// Every bias is −∞: no class can occur.
    Masked,
    /// A bias is beyond what a model file holds, ±1 400 nats; one that is far below all others masks its class.
    BiasRange {
        /// Its row.
        row: usize,
        /// What it is.
        value: f32,
    },
    /// The queries have another dimension than the rows.
    QueryDimension {
        /// The rows' dimension.
        rows: usize,
        /// The queries' dimension.
        queries: usize,
    },
    /// A query holds NaN or an infinity.
    Query {
        /// The number of the query.
        query: usize,
        /// Its column.
        column: usize,
    },
    /// Scores of a query can be beyond what a model computes with.
    QueryTooLarge {
        /// Which query.
        query: usize,
        /// Its norm.
        norm: f32,
        /// The largest norm that a query of this layer may have.
        most: f32,
    },
    /// The requested work is too small for any search to be sure of scoring a class.
    Work {
        /// The requested row-equivalents.
        asked: usize,
        /// The smallest number that is enough.
        least: usize,
        /// The number of rows.
        rows: usize,
    },
    /// The finished file was refused.
    File(crate::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the weight matrix has no rows"),
            Self::Dimension(d) => {
                write!(f, "the dimension is {d}; 1 to {} are supported", crate::kernels::MAX_DIM)
            }
            Self::Classes(n) => write!(f, "{n} classes are more than a model file can hold"),
            Self::BiasLength { rows, biases } => write!(f, "{rows} rows, but {biases} biases"),
            Self::Weight { row, column, value } => {
                write!(f, "the weight at row {row}, column {column} is {value}")
            }
            Self::Bias { row, value } => write!(f, "the bias of row {row} is {value}"),
            Self::Masked => f.write_str("every bias is −∞: no class can occur"),
            Self::BiasRange { row, value } => write!(
                f,
                "the bias of row {row} is {value}: a model file holds biases within ±1400; subtract the same number from all \
                 biases, which changes no probability"
            ),
            Self::QueryDimension { rows, queries } => {
                write!(f, "the rows have {rows} columns, but the queries have {queries}")
            }
            Self::Query { query, column } => write!(f, "query {query}, column {column} is not finite"),
            Self::QueryTooLarge { query, norm, most } => write!(
                f,
                "query {query} has a norm of {norm:.3e}, and scores of this layer fit for norms up to {most:.3e}: check the scale of \
                 the queries"
            ),
            Self::Work { asked, least, rows } => write!(
                f,
                "no search keeps to {asked} of {rows} rows: {least} ({:.2} %) are the least that is sure to find a class",
                100.0 * *least as f64 / *rows as f64
            ),
            Self::File(error) => write!(f, "the model file is invalid: {error}"),
        }
    }
}

impl core::error::Error for BuildError {}

impl From<crate::Error> for BuildError {
    fn from(error: crate::Error) -> Self {
        Self::File(error)
    }
}
