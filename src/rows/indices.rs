//! Numbers of rows or classes: sixteen bits each where that is enough.

use crate::hint::keep_small;

/// A list of indices, u16 or u32 as the file has it.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// Sixteen bits each: up to 65 536 classes.
    Short(&'a [u16]),
    /// Thirty-two bits each.
    Long(&'a [u32]),
}

impl<'a> Indices<'a> {
    /// Whether indices below `limit` are stored in sixteen bits.
    pub const fn are_short(limit: usize) -> bool {
        limit <= 1 << 16
    }

    /// Reads a section of indices below `limit`; `None` if it is not whole numbers.
    pub(crate) fn parse(bytes: &'a [u8], limit: usize) -> Option<Self> {
        if Self::are_short(limit) {
            bytemuck::try_cast_slice(bytes).ok().map(Self::Short)
        } else {
            bytemuck::try_cast_slice(bytes).ok().map(Self::Long)
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Short(list) => list.len(),
            Self::Long(list) => list.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of an index: looks through all of them.
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

    /// The index at a place.
    #[inline]
    pub fn get(&self, at: usize) -> Option<usize> {
        match self {
            Self::Short(list) => list.get(at).map(|&index| usize::from(index)),
            Self::Long(list) => list.get(at).map(|&index| index as usize),
        }
    }
}
