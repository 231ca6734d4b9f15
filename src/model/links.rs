//! Links: the rows that each row points to.

use crate::hint::keep_small;
use crate::rows::Indices;

/// The links of all rows, or of the rows that have any: the same number of other rows for each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links<'a> {
    list: Indices<'a>,
    per_row: usize,
    /// Marks the rows that have links, if not all have: for each 32 rows, a bit for each of them and the number of
    /// linked rows before them.
    linked: Option<&'a [[u32; 2]]>,
}

/// The number of rows that have a bit in one word.
const BLOCK: usize = 32;

impl<'a> Links<'a> {
    /// Returns the number of blocks for this many rows.
    pub(super) fn blocks(rows: usize) -> usize {
        rows.div_ceil(BLOCK)
    }

    pub(super) fn new(list: Indices<'a>, rows: usize, linked: Option<&'a [[u32; 2]]>) -> Option<Self> {
        let count = match linked {
            Some(blocks) => blocks.last().map_or(0, |block| end(*block)),
            None => rows,
        };
        let per_row = list.len().checked_div(count)?;
        list.len().is_multiple_of(count).then_some(Self { list, per_row, linked })
    }

    /// Returns the number of links of each row that has any.
    pub fn per_row(&self) -> usize {
        self.per_row
    }

    /// Returns the number of rows that have links.
    #[cfg(feature = "std")]
    pub fn rows(&self) -> usize {
        self.list.len().checked_div(self.per_row).unwrap_or(0)
    }

    /// Encodes the blocks, given for each row whether it has links.
    #[cfg(feature = "std")]
    pub fn encode(linked: &[bool]) -> Vec<[u32; 2]> {
        let mut before = 0;
        let block = |rows: &[bool]| {
            let bits = rows.iter().enumerate().fold(0, |bits, (i, &linked)| bits | u32::from(linked) << i);
            let block = [bits, before];
            before += bits.count_ones();
            block
        };
        linked.chunks(BLOCK).map(block).collect()
    }

    /// Returns the rows that `row` links to.
    #[inline]
    pub fn of(&self, row: usize) -> Indices<'a> {
        let place = self.linked.map_or(row, |blocks| place_in(blocks, row));
        let first = place.saturating_mul(self.per_row);
        let places = first..first.saturating_add(self.per_row);
        match self.list {
            Indices::Short(list) => Indices::Short(list.get(places).unwrap_or(&[])),
            Indices::Long(list) => Indices::Long(list.get(places).unwrap_or(&[])),
        }
    }

    #[cold]
    pub(super) fn check(&self, rows: usize) -> bool {
        let mut before = 0;
        let linked = self.linked.unwrap_or(&[]);
        let are_counted = linked.iter().all(|&block| {
            keep_small();
            let is_next = block[1] as usize == before;
            before = end(block);
            is_next
        });
        // The last block may be of fewer rows.
        let beyond = linked.last().map_or(0, |block| block[0].checked_shr((rows % BLOCK) as u32).unwrap_or(0));
        let is_within = rows.is_multiple_of(BLOCK) || beyond == 0;
        are_counted && is_within && are_below(&self.list, rows)
    }
}

/// Returns the number of rows that have links up to the end of a block.
#[cold]
#[inline(never)]
fn end([bits, before]: [u32; 2]) -> usize {
    (before as usize).saturating_add(bits.count_ones() as usize)
}

/// Returns the position of a row among those that have links; `usize::MAX` if it has none.
#[inline(never)]
fn place_in(blocks: &[[u32; 2]], row: usize) -> usize {
    let [bits, before] = blocks.get(row / BLOCK).copied().unwrap_or_default();
    let own = 1 << (row % BLOCK);
    if bits & own == 0 { usize::MAX } else { before as usize + (bits & (own - 1)).count_ones() as usize }
}

#[cold]
fn are_below(list: &Indices<'_>, rows: usize) -> bool {
    match list {
        Indices::Short(list) => list.iter().all(|&row| {
            keep_small();
            usize::from(row) < rows
        }),
        Indices::Long(list) => list.iter().all(|&row| {
            keep_small();
            (row as usize) < rows
        }),
    }
}
