//! Rows of int8 weights with a scale and a bias each, and the query that they are multiplied with.

mod indices;
mod query;
mod table;

pub use indices::Indices;
pub(crate) use query::RowFormat;
#[cfg(feature = "std")]
pub(crate) use query::SCORE_LIMIT;
pub use query::{Query, QueryBuffer};
pub use table::RowTable;
