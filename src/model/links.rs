//! The rows that each row leads to.

use crate::rows::Indices;

/// For each row, the same number of other rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links<'a> {
    list: Indices<'a>,
    per_row: usize,
}

impl<'a> Links<'a> {
    pub(super) fn new(list: Indices<'a>, rows: usize) -> Option<Self> {
        let per_row = list.len().checked_div(rows)?;
        list.len().is_multiple_of(rows).then_some(Self { list, per_row })
    }

    /// How many rows each row leads to.
    #[cfg(feature = "std")]
    pub fn per_row(&self) -> usize {
        self.per_row
    }

    /// The rows that `row` leads to.
    #[inline]
    pub fn of(&self, row: usize) -> Indices<'a> {
        let first = row.saturating_mul(self.per_row);
        let places = first..first.saturating_add(self.per_row);
        match self.list {
            Indices::Short(list) => Indices::Short(list.get(places).unwrap_or(&[])),
            Indices::Long(list) => Indices::Long(list.get(places).unwrap_or(&[])),
        }
    }

    pub(super) fn check(&self, rows: usize) -> bool {
        (0..self.list.len()).all(|place| self.list.get(place).is_some_and(|row| row < rows))
    }
}
