//! Dot products of int8 rows with an int16 query: the one place where the time goes.
//!
//! Every kernel gives the same integers: the sum over the whole words that row and query have. Rows are padded to
//! whole words, the query is as long as the padded row and zero in the padding. [`max_query`] keeps the 32-bit sum from overflowing for any rows.
//!
//! | kernel | where | how |
//! |---|---|---|
//! | `portable` | everywhere | a plain loop; the oracle of the others |
//! | `dsp` | ARMv7E-M, ARMv8-M with the DSP extension | SXTB16 and SMLAD on two rows per query load |
//! | `avx2` | x86-64 with `std`, detected at run time | VPMADDWD on four rows per query load |

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(zhat_dsp)]
mod dsp;
mod portable;

/// Rows are padded to a multiple of this many bytes.
pub const ROW_ALIGN: usize = 4;

/// The longest row that the format allows: at this length the query still has ten bits and a sign.
pub const MAX_DIM: usize = 16_384;

/// The largest magnitude of a quantised query value for rows of `stride` bytes: 15 bits up to 512 columns, one
/// less for each doubling after that, so that `stride · 128 · max_query(stride) < 2^31`.
pub const fn max_query(stride: usize) -> i16 {
    let limit = ((1 << 24) - 1) / if stride == 0 { 1 } else { stride };
    if limit > i16::MAX as usize { i16::MAX } else { limit as i16 }
}

/// Where column `column` of the query is kept.
///
/// SXTB16 widens bytes 0 and 2 of a word, then 1 and 3. Storing the query in that order makes up for it, and the
/// rows stay in their natural order in the file, the same for all platforms.
#[inline]
pub const fn query_slot(column: usize) -> usize {
    if cfg!(zhat_dsp) {
        match column % 4 {
            1 => column + 1,
            2 => column - 1,
            _ => column,
        }
    } else {
        column
    }
}

/// The dot products of two rows with the query.
#[inline]
pub fn dot_pair(rows: [&[i8]; 2], query: &[i16]) -> [i32; 2] {
    #[cfg(zhat_dsp)]
    return dsp::dot_pair(rows, query);
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if let Some(dots) = avx2::dot_pair(rows, query) {
        return dots;
    }
    #[cfg(not(zhat_dsp))]
    rows.map(|row| portable::dot(row, query))
}

/// The dot product of one row with the query.
#[inline]
pub fn dot(row: &[i8], query: &[i16]) -> i32 {
    #[cfg(zhat_dsp)]
    return dsp::dot(row, query);
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if let Some(dots) = avx2::dot(row, query) {
        return dots;
    }
    #[cfg(not(zhat_dsp))]
    portable::dot(row, query)
}

/// The dot products of consecutive rows with the query: one for each place in `dots` that has a whole row.
pub fn dot_rows(rows: &[i8], query: &[i16], dots: &mut [i32]) {
    // The fast kernels leave what does not fill their last group.
    #[cfg(zhat_dsp)]
    let done = dsp::dot_rows(rows, query, dots);
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    let done = avx2::dot_rows(rows, query, dots);
    #[cfg(not(any(zhat_dsp, all(target_arch = "x86_64", feature = "std"))))]
    let done = 0;
    let stride = query.len().max(1);
    let (rows, dots) = (rows.get(done * stride..).unwrap_or(&[]), dots.get_mut(done..).unwrap_or(&mut []));
    for (row, place) in rows.chunks_exact(stride).zip(dots) {
        *place = dot(row, query);
    }
}

/// The dot products of the rows of a table that are picked by their numbers: one for each place in `dots`, zero for a row
/// that the table does not have.
pub fn dot_picked(table: &[i8], picked: &[u32], query: &[i16], dots: &mut [i32]) {
    #[cfg(zhat_dsp)]
    if dsp::dot_picked(table, picked, query, dots) {
        return;
    }
    let stride = query.len();
    let row = |number: u32| table.get((number as usize).wrapping_mul(stride)..).and_then(|rest| rest.get(..stride));
    for (pair, places) in picked.chunks(2).zip(dots.chunks_mut(2)) {
        // The last of an odd number goes with itself.
        let (&[first, ..], &[.., last]) = (pair, pair) else {
            continue;
        };
        let sums = match [row(first), row(last)] {
            [Some(first), Some(last)] => dot_pair([first, last], query),
            rows => rows.map(|row| row.map_or(0, |row| dot(row, query))),
        };
        places.iter_mut().zip(sums).for_each(|(place, sum)| *place = sum);
    }
}

#[cfg(test)]
mod tests;
