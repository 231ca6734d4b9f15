//! Dot products of int8 rows with an int16 query, which take most of a query's time. 4-bit rows are in `four_bit`
//! (feature `rows4`).
//!
//! **Rows.** The weights a and b of columns 2j and 2j+1 are stored as one signed 16-bit number, h = a + 256·b
//! ([`pair`]). A processor that multiplies 16-bit numbers takes h as it is: for b there is nothing to widen.
//!
//! **Query.** Each pair of columns has two values, `odd` for column 2j+1 and `even` for column 2j, and a dot product is
//!
//! ```text
//! S = Σ h·odd + 256·Σ a·even = 256·Σ (b·odd + a·(even + odd/256))
//! ```
//!
//! The part of the odd value that a is multiplied with is known when the query is rounded, and `even` makes up for it:
//! column 2j has the value even + odd/256, as near to the truth as any rounding to whole numbers. S is the dot product
//! times 256.
//!
//! All arithmetic is modulo 2^32, and sums on the way may wrap; [`Query`](crate::Query) is scaled so that S does not.
//! Every kernel gives the same 32 bits for all inputs: the sum over the whole words that row and query have. Rows are
//! padded to whole words, the query is as long as the padded row and zero in the padding.
//!
//! | kernel | where | how |
//! |---|---|---|
//! | `portable` | everywhere | a plain loop; the oracle of the others |
//! | `dsp` | ARMv7E-M, ARMv8-M with the DSP extension | SMLAD on three rows per query load, AND for a alone |
//! | `avx2` | x86-64 with `std`, detected at run time | VPMADDWD on four rows per query load |

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(zhat_dsp)]
mod dsp;
#[cfg(feature = "rows4")]
pub mod four_bit;
mod portable;
mod squares;

#[cfg(zhat_dsp)]
pub use dsp::{Frame, Scaling};
pub use squares::squares;

use crate::hint::keep_small;

/// Rows are padded to a multiple of this many bytes.
pub const ROW_ALIGN: usize = 4;

/// The longest row that the format allows. The longer the rows, the fewer bits are left for a column of the query; from
/// about 4 000 columns on, rounding it costs more than rounding the rows to int8.
pub const MAX_DIM: usize = 16_384;

/// Packs the weights of an even column and of the odd one after it as they are stored.
#[inline]
pub const fn pair(even: i8, odd: i8) -> i16 {
    ((odd as i16) << 8).wrapping_add(even as i16)
}

/// Unpacks a pair: the even column's weight, then the odd one's. If the stored number is invalid because one is above
/// 127, the result has −128, which is no valid weight either.
#[inline]
pub const fn weights(pair: i16) -> [i8; 2] {
    let even = pair as i8;
    [even, (pair.wrapping_sub(even as i16) >> 8) as i8]
}

/// True if the query is stored word by word, the odd values of four columns and then their even ones, which a small
/// processor loads together. Others store all odd values in the first half, all even ones in the second.
const BY_WORDS: bool = cfg!(any(zhat_dsp, target_os = "none"));

/// Returns the position of the value of `column` in a query of `stride` columns.
#[inline]
pub const fn query_slot(column: usize, stride: usize) -> usize {
    let even = column.is_multiple_of(2);
    if BY_WORDS {
        column / 4 * 4 + column % 4 / 2 + if even { 2 } else { 0 }
    } else {
        column / 2 + if even { stride / 2 } else { 0 }
    }
}

/// Calls `each(even, odd)` for the values of all pairs of columns, in order.
#[inline]
pub(crate) fn for_each_pair(query: &mut [i16], mut each: impl FnMut(&mut i16, &mut i16)) {
    if BY_WORDS {
        for [odd_0, odd_1, even_0, even_1] in query.as_chunks_mut().0 {
            keep_small();
            each(even_0, odd_0);
            each(even_1, odd_1);
        }
    } else {
        let (odd, even) = query.split_at_mut(query.len() / 2);
        even.iter_mut().zip(odd).for_each(|(even, odd)| each(even, odd));
    }
}

/// Computes the dot product of one row with the query.
#[inline]
pub fn dot(row: &[i16], query: &[i16]) -> i32 {
    #[cfg(zhat_dsp)]
    {
        let mut dots = [0];
        if dsp::Frame::new(row, query, None).is_some_and(|frame| frame.of_rows(0, &mut dots)) {
            return dots[0];
        }
    }
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if let Some(dots) = avx2::dot(row, query) {
        return dots;
    }
    portable::dot(row, query)
}

/// Computes the dot products of consecutive rows with the query, one for each place in `dots` that has a whole row.
#[inline]
pub fn dot_rows(rows: &[i16], query: &[i16], dots: &mut [i32]) {
    #[cfg(zhat_dsp)]
    if let Some(frame) = dsp::Frame::new(rows, query, None) {
        let count = frame.rows().min(dots.len());
        frame.of_rows(0, &mut dots[..count]);
        return;
    }
    dot_rows_one_by_one(rows, query, dots);
}

/// Computes the dot products without DSP instructions. Where there are DSP instructions, only unaligned rows come here.
#[cfg_attr(zhat_dsp, cold, inline(never))]
fn dot_rows_one_by_one(rows: &[i16], query: &[i16], dots: &mut [i32]) {
    // AVX2 leaves the rows that do not fill its last group of four.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    let done = avx2::dot_rows(rows, query, dots);
    #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
    let done = 0;
    let pairs = (query.len() / 2).max(1);
    let (rows, dots) = (rows.get(done * pairs..).unwrap_or(&[]), dots.get_mut(done..).unwrap_or(&mut []));
    for (row, place) in rows.chunks_exact(pairs).zip(dots) {
        *place = other_dot(row, query);
    }
}

/// Computes the dot products of the rows of a table whose indices are in `picked`: one for each place in `dots`, zero
/// for a row that the table does not have.
#[inline]
pub fn dot_picked(table: &[i16], picked: &[u32], query: &[i16], dots: &mut [i32]) {
    #[cfg(zhat_dsp)]
    if dsp::Frame::new(table, query, None).is_some_and(|frame| frame.of_picked(picked, dots)) {
        return;
    }
    dot_picked_one_by_one(table, picked, query, dots);
}

#[cfg_attr(zhat_dsp, cold, inline(never))]
fn dot_picked_one_by_one(table: &[i16], picked: &[u32], query: &[i16], dots: &mut [i32]) {
    let pairs = query.len() / 2;
    for (place, &row) in dots.iter_mut().zip(picked) {
        let rest = table.get((row as usize).wrapping_mul(pairs)..).unwrap_or(&[]);
        *place = rest.get(..pairs).map_or(0, |row| other_dot(row, query));
    }
}

#[cfg(not(zhat_dsp))]
use self::dot as other_dot;
/// The kernel for one row. Where there are DSP instructions, only unaligned rows use it.
#[cfg(zhat_dsp)]
use portable::dot as other_dot;

#[cfg(test)]
mod tests;
