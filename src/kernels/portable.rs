//! The dot product as everybody would write it, and the oracle of the other kernels.

use super::query_slot;

/// Σ row·query over the shorter of the two.
#[inline]
pub fn dot(row: &[i8], query: &[i16]) -> i32 {
    let mut sum = 0i32;
    if query_slot(1) == 1 {
        for (&r, &q) in row.iter().zip(query) {
            sum = sum.wrapping_add(i32::from(r) * i32::from(q));
        }
    } else {
        for (column, &r) in row.iter().enumerate() {
            let q = query.get(query_slot(column)).copied().unwrap_or(0);
            sum = sum.wrapping_add(i32::from(r) * i32::from(q));
        }
    }
    sum
}
