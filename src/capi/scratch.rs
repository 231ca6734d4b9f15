//! The caller's scratch memory, parted: the query, the set of seen rows, the frontier.

use core::mem::MaybeUninit;
use core::ptr;

use super::ZhatError;
use crate::kernels::ROW_ALIGN;
use crate::rows::{Query, QueryBuffer};
use crate::search::{Buffers, seen_words};

/// Words of scratch memory for a search with so much room for nodes: `ZHAT_SCRATCH_WORDS` of the header.
pub const fn scratch_words(classes: usize, dim: usize, room: usize) -> usize {
    query_words(dim).saturating_add(seen_words(classes)).saturating_add(room)
}

/// Words of scratch memory that Exact needs: `ZHAT_EXACT_SCRATCH_WORDS` of the header.
pub(super) const fn query_words(dim: usize) -> usize {
    (size_of::<QueryBuffer<0>>() + dim.next_multiple_of(ROW_ALIGN) * size_of::<i16>()) / size_of::<u32>()
}

/// Memory that is still to be given away.
pub(super) struct Memory<'a>(&'a mut [u32]);

impl<'a> Memory<'a> {
    /// # Safety
    /// If the pointer is neither null nor misaligned, it points to so many words that nobody else uses during `'a`.
    pub unsafe fn new(words: *mut u32, len: usize) -> Result<Self, ZhatError> {
        if words.is_null() {
            return Err(ZhatError::Null);
        }
        if !words.is_aligned() {
            return Err(ZhatError::Misaligned);
        }
        // SAFETY: not null and aligned, and the rest is the caller's promise. An array on a stack holds nothing yet, so
        // that it becomes integers only after it was written.
        unsafe {
            let memory = core::slice::from_raw_parts_mut(words.cast::<MaybeUninit<u32>>(), len);
            memory.fill(MaybeUninit::new(0));
            Ok(Self(&mut *(ptr::from_mut(memory) as *mut [u32])))
        }
    }

    fn take(&mut self, words: usize) -> Result<&'a mut [u32], ZhatError> {
        let memory = core::mem::take(&mut self.0);
        let (taken, rest) = memory.split_at_mut_checked(words).ok_or(ZhatError::Scratch)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A query of so many columns, padding included, without a value.
    pub fn query(&mut self, stride: usize) -> Result<&'a mut Query, ZhatError> {
        let start = self.take(query_words(stride))?.as_mut_ptr();
        // SAFETY: aligned to a word, as a query is, and large enough for one of `stride` columns. A `Query` is laid out
        // as in C, so that one without columns is the start of any other, and the columns behind it are zeros.
        unsafe {
            start.cast::<QueryBuffer<0>>().write(QueryBuffer::empty());
            Ok(&mut *(ptr::slice_from_raw_parts_mut(start.cast::<i16>(), stride) as *mut Query))
        }
    }

    /// What a search needs; the frontier takes all that is left.
    pub fn buffers(mut self, classes: usize) -> Result<Buffers<'a>, ZhatError> {
        Ok(Buffers { seen: self.take(seen_words(classes))?, frontier: self.0 })
    }
}
