//! Queries in the caller's memory, for models whose dimension is known only at run time.

#![allow(unsafe_code)]

use core::ptr;

use super::{Query, QueryBuffer};
use crate::kernels::ROW_ALIGN;

/// Returns the number of words that a query for a model of dimension `dim` takes.
/// [`Model::query_words`](crate::Model::query_words) returns it for an open model.
///
/// ```
/// let memory = [0_u32; zhat::query_words(64)];
/// assert_eq!(memory.len(), 36);
/// ```
pub const fn query_words(dim: usize) -> usize {
    (size_of::<QueryBuffer<0>>() + dim.next_multiple_of(ROW_ALIGN) * size_of::<i16>()) / size_of::<u32>()
}

impl Query {
    /// Makes an empty query of `stride` columns, padding included, in the first `query_words(stride)` words; `None` if
    /// there are fewer.
    pub(crate) fn of_stride(words: &mut [u32], stride: usize) -> Option<&mut Self> {
        let words = words.get_mut(..query_words(stride))?;
        words.fill(0);
        let start = words.as_mut_ptr();
        // SAFETY: a `Query` is laid out as in C and aligned to a word, so that one without columns is the start of any
        // other, and its columns follow it without a gap: `query_words` is the sum of both. The words are borrowed as long
        // as the query is, and all of its fields are integers and floats, for which any bits are a value.
        unsafe {
            start.cast::<QueryBuffer<0>>().write(QueryBuffer::empty());
            Some(&mut *(ptr::slice_from_raw_parts_mut(start.cast::<i16>(), stride) as *mut Self))
        }
    }

    /// Returns the query that [`Query::of_stride`] made in these words and that was set later. For C, which holds only
    /// the words. If they hold something else by now, [`Query::check_rows`] refuses it as no query or as another
    /// model's.
    #[cfg(feature = "capi")]
    pub(crate) fn left_in(words: &[u32], stride: usize) -> Option<&Self> {
        let words = words.get(..query_words(stride))?;
        // SAFETY: as above; nothing is written.
        unsafe { Some(&*(ptr::slice_from_raw_parts(words.as_ptr().cast::<i16>(), stride) as *const Self)) }
    }
}
