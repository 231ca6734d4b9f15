//! A query in the caller's memory: for models whose dimension is only known at run time.

#![allow(unsafe_code)]

use core::ptr;

use super::{Query, QueryBuffer};
use crate::kernels::ROW_ALIGN;

/// The words that a query of a model of dimension `dim` takes: [`Model::query_words`](crate::Model::query_words) at compile
/// time.
///
/// ```
/// let memory = [0_u32; zhat::query_words(64)];
/// assert_eq!(memory.len(), 36);
/// ```
pub const fn query_words(dim: usize) -> usize {
    (size_of::<QueryBuffer<0>>() + dim.next_multiple_of(ROW_ALIGN) * size_of::<i16>()) / size_of::<u32>()
}

impl Query {
    /// Memory of `query_words(stride)` words as an empty query of `stride` columns, padding included; `None` if
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

    /// The query that was set in memory of [`Query::of_stride`], for C, which has the words alone. Where they hold something
    /// else by now, it is a query of another model, or of none: [`Query::check_rows`] tells.
    #[cfg(feature = "capi")]
    pub(crate) fn left_in(words: &[u32], stride: usize) -> Option<&Self> {
        let words = words.get(..query_words(stride))?;
        // SAFETY: as above; nothing is written.
        unsafe { Some(&*(ptr::slice_from_raw_parts(words.as_ptr().cast::<i16>(), stride) as *const Self)) }
    }
}
