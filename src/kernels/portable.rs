//! The dot product as everybody would write it, and the oracle of the other kernels.

use super::{ROW_ALIGN, query_slot};

/// Σ row·query over the whole words that both have.
#[cfg_attr(not(zhat_dsp), inline)]
#[cfg_attr(zhat_dsp, inline(never), cold)] // there it serves slices that are not aligned
pub fn dot(row: &[i8], query: &[i16]) -> i32 {
    let mut sum = 0i32;
    for (row, query) in row.as_chunks::<ROW_ALIGN>().0.iter().zip(query.as_chunks::<ROW_ALIGN>().0) {
        for (column, &r) in row.iter().enumerate() {
            sum = sum.wrapping_add(i32::from(r) * i32::from(query[query_slot(column)]));
        }
    }
    sum
}
