//! The caller's scratch memory, split into the query and the memory of a search.

use core::mem::MaybeUninit;
use core::ptr;

use super::ZhatError;
use crate::model::Model;
use crate::rows::Query;

/// Returns the words of scratch memory for a search with this many words for nodes: `ZHAT_SCRATCH_WORDS` of the header.
pub const fn scratch_words(classes: usize, dim: usize, frontier_words: usize) -> usize {
    crate::query_words(dim).saturating_add(crate::scratch_words(classes, frontier_words))
}

/// Scratch memory that is not in use yet.
pub(super) struct Memory<'a>(&'a mut [u32]);

impl<'a> Memory<'a> {
    /// Takes the caller's memory and fills it with zeros.
    ///
    /// # Safety
    /// If the pointer is neither null nor misaligned, it must point to `len` words that nobody else uses during `'a`.
    pub unsafe fn new(words: *mut u32, len: usize) -> Result<Self, ZhatError> {
        if words.is_null() {
            return Err(ZhatError::Null);
        }
        if !words.is_aligned() {
            return Err(ZhatError::Misaligned);
        }
        // SAFETY: not null and aligned, and the rest is the caller's promise. An array on a stack may be uninitialised,
        // so it becomes integers only after zeros were written.
        unsafe {
            let memory = core::slice::from_raw_parts_mut(words.cast::<MaybeUninit<u32>>(), len);
            memory.fill(MaybeUninit::new(0));
            Ok(Self(&mut *(ptr::from_mut(memory) as *mut [u32])))
        }
    }

    /// Splits off an empty query of a model, and returns it with the remaining memory.
    pub fn split(self, model: &Model<'_>) -> Result<(&'a mut Query, &'a mut [u32]), ZhatError> {
        let (query, rest) = self.0.split_at_mut_checked(model.query_words()).ok_or(ZhatError::Scratch)?;
        Ok((Query::in_words(query, model)?, rest))
    }
}
