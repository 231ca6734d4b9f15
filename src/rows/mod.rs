//! Rows of int8 or 4-bit weights with a scale and a bias each, and the query that they are multiplied with.

mod bits;
mod query;
mod table;

pub use bits::Bits;
#[cfg(feature = "std")]
pub(crate) use query::SCORE_LIMIT;
pub(crate) use query::{Affine, RowFormat};
pub use query::{Query, QueryBuffer, query_words};
pub use table::RowTable;
pub(crate) use table::Scorer;

use crate::hint::keep_small;

// Indices of rows or classes, in sixteen bits each where that is enough.

/// A list of indices, u16 or u32 as the file has it.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// Sixteen bits each: up to 65 536 classes.
    Short(&'a [u16]),
    /// Thirty-two bits each.
    Long(&'a [u32]),
}

impl<'a> Indices<'a> {
    /// Returns true if indices below `limit` are stored in sixteen bits each.
    pub const fn are_short(limit: usize) -> bool {
        limit <= 1 << 16
    }

    /// Reads a section of indices below `limit`; `None` if its length is no multiple of theirs.
    pub(crate) fn parse(bytes: &'a [u8], limit: usize) -> Option<Self> {
        if Self::are_short(limit) {
            bytemuck::try_cast_slice(bytes).ok().map(Self::Short)
        } else {
            bytemuck::try_cast_slice(bytes).ok().map(Self::Long)
        }
    }

    /// Returns the number of indices.
    pub fn len(&self) -> usize {
        match self {
            Self::Short(list) => list.len(),
            Self::Long(list) => list.len(),
        }
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds an index and returns its position. Reads the list from its start.
    #[cold]
    #[inline(never)]
    pub(crate) fn position(&self, index: usize) -> Option<usize> {
        match self {
            Self::Short(list) => list.iter().position(|&other| {
                keep_small();
                usize::from(other) == index
            }),
            Self::Long(list) => list.iter().position(|&other| {
                keep_small();
                other as usize == index
            }),
        }
    }

    /// Returns the index at a position.
    #[inline]
    pub fn get(&self, at: usize) -> Option<usize> {
        match self {
            Self::Short(list) => list.get(at).map(|&index| usize::from(index)),
            Self::Long(list) => list.get(at).map(|&index| index as usize),
        }
    }
}
