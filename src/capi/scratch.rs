//! The caller's scratch memory, split: the query, then what a search needs.

use core::mem::MaybeUninit;
use core::ptr;

use super::ZhatError;
use crate::model::Model;
use crate::rows::Query;

/// Words of scratch memory for a search with this many words for nodes: `ZHAT_SCRATCH_WORDS` of the header.
pub const fn scratch_words(classes: usize, dim: usize, frontier_words: usize) -> usize {
    crate::query_words(dim).saturating_add(crate::scratch_words(classes, frontier_words))
}

/// Memory that is still free.
pub(super) struct Memory<'a>(&'a mut [u32]);

impl<'a> Memory<'a> {
    /// # Safety
    /// If the pointer is neither null nor misaligned, it points to `len` words that nobody else uses during `'a`.
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

    /// An empty query of a model, and what is left.
    pub fn split(self, model: &Model<'_>) -> Result<(&'a mut Query, &'a mut [u32]), ZhatError> {
        let (query, rest) = self.0.split_at_mut_checked(model.query_words()).ok_or(ZhatError::Scratch)?;
        Ok((Query::in_words(query, model)?, rest))
    }
}
