//! Rows of int8 or 4-bit weights with a scale and a bias each, and the query that they are multiplied with.

mod bits;
mod indices;
mod query;
mod table;

pub use bits::Bits;
pub use indices::Indices;
#[cfg(feature = "std")]
pub(crate) use query::SCORE_LIMIT;
pub(crate) use query::{Affine, RowFormat};
pub use query::{Query, QueryBuffer, query_words};
pub use table::RowTable;
pub(crate) use table::Scorer;
