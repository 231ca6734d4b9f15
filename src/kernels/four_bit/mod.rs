//! Dot products of 4-bit rows with an int16 query.
//!
//! **Rows.** Sixteen columns share a scale: a weight is w = s·n, with s and n whole numbers from −8 to 7. A negative s
//! turns the range of n around, so that the longer end of it is where the larger weights are. |w| is at most 64: what holds
//! for int8 weights holds for these.
//!
//! A row is as if columns in front filled it up to whole blocks of 64. A block is a word with the scales of its four groups,
//! the first in the highest four bits, sixteen zeros below the last, and then eight words of n. What is in front of the
//! first column has no words, and its scales are zero. Eight columns share a word in the order in which a small processor
//! keeps the query, columns 1 and 3, 0 and 2, 5 and 7, 4 and 6: the first of each two in the low half of the word, the
//! second in the high half, from the highest four bits down.
//!
//! ```text
//! bits   31…28  27…24  23…20  19…16 | 15…12  11…8   7…4    3…0
//! n of     3      2      7      6   |   1      0      5      4
//! ```
//!
//! Four bits at the top of sixteen are 4096·n: one AND with a shift makes two factors of SMLAD, and there is nothing to
//! add for the sign.
//!
//! **Query.** One value for each column, where [`query_slot`](super::query_slot) says. A dot product is
//!
//! ```text
//! S = Σ_groups s · ((4096·Σ n·value) / 16) = 256·Σ w·value
//! ```
//!
//! modulo 2^32, as are the sums of the groups: they are exact where the norm of the values is below 2^14
//! ([`least_largest_row`]).

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(zhat_dsp)]
mod dsp;
mod portable;

#[cfg(test)]
mod tests;

use crate::hint::keep_small;

/// Columns that share a scale.
pub const GROUP: usize = 16;
/// Columns that share a word of scales.
pub const BLOCK: usize = 64;
/// Columns in a word.
const WORD: usize = 8;

/// A row of `stride` columns as the file has it: 16-bit numbers, two for each word.
#[inline]
pub const fn row_len(stride: usize) -> usize {
    2 * (stride.div_ceil(WORD) + stride.div_ceil(BLOCK))
}

/// The sum of squares of a row's weights that a query has to be made for at least, so that no group's sum overflows.
///
/// No n is above 8: a group's are at most 8·√16 long, and with a query whose norm is below 2^14 the sum stays below 2^19, what
/// 32 bits have left after 12. That is the norm for rows of 512 or longer; of fewer columns than a group, for
/// shorter ones.
pub const fn least_largest_row(stride: usize) -> u32 {
    let columns = if stride < GROUP { stride } else { GROUP };
    (columns as u32) << 14
}

/// Columns in front of the first one.
const fn before(stride: usize) -> usize {
    stride.next_multiple_of(BLOCK) - stride
}

/// Where a row has `column`: its word of scales, its word, and the bits in both that are below the number.
const fn place(column: usize, stride: usize) -> [(usize, u32); 2] {
    let front = before(stride);
    let at = column + front;
    let block = at / BLOCK;
    // The first block has fewer words, the others nine.
    let missing = front / WORD;
    let start = if block == 0 { 0 } else { block * (1 + BLOCK / WORD) - missing };
    let word = start + 1 + at % BLOCK / WORD - if block == 0 { missing } else { 0 };
    let half = at % 4 / 2;
    let order = at % WORD / 4 * 2 + 1 - at % 2;
    [(start, 28 - 4 * (at % BLOCK / GROUP) as u32), (word, (16 * half + 12 - 4 * order) as u32)]
}

/// Whether the number at `at` of a row is the low half of a word of scales: always zero.
pub const fn is_below_scales(at: usize, stride: usize) -> bool {
    let first = 2 * (1 + (BLOCK - before(stride)).div_ceil(WORD));
    at == 0 || at >= first && (at - first).is_multiple_of(2 * (1 + BLOCK / WORD))
}

/// The weight of a column; zero where a row has none.
pub fn weight(row: &[i16], column: usize, stride: usize) -> i8 {
    let [scale, number] = place(column, stride).map(|(word, low)| match row.get(2 * word..2 * word + 2) {
        Some(&[first, second]) => four_bits(to_word([first, second]) << (28 - low)),
        _ => 0,
    });
    (scale * number) as i8
}

/// Two numbers as the word that they are in the file.
#[inline]
const fn to_word([low, high]: [i16; 2]) -> u32 {
    low as u16 as u32 | (high as u32) << 16
}

/// The highest four bits as a signed number.
#[inline]
const fn four_bits(word: u32) -> i32 {
    word as i32 >> 28
}

/// The sum of the squares of a row's weights; `None` if there is anything where there are no columns.
pub fn squares(row: &[i16], stride: usize) -> Option<u32> {
    let mut words = row.as_chunks().0.iter().map(|&pair| to_word(pair));
    let (mut total, mut at) = (0u32, before(stride));
    for _ in 0..stride.div_ceil(BLOCK) {
        let scales = words.next()?;
        let mut left = scales << (at / GROUP * 4);
        // In front of the first column's scale, and below the last one.
        if left >> (at / GROUP * 4) != scales || scales as u16 != 0 {
            return None;
        }
        while at < BLOCK {
            let (mut sum, end) = (0, at - at % GROUP + GROUP);
            while at < end {
                let mut word = words.next()?;
                // The first word may have four columns only: those that come last.
                if at % WORD != 0 && word & 0xff00_ff00 != 0 {
                    return None;
                }
                for _ in 0..WORD {
                    keep_small();
                    sum += four_bits(word).pow(2);
                    word <<= 4;
                }
                at += WORD - at % WORD;
            }
            total += (four_bits(left).pow(2) * sum) as u32;
            left <<= 4;
        }
        at = 0;
    }
    Some(total)
}

/// The dot product of one row with the query.
#[inline]
pub fn dot(row: &[i16], query: &[i16]) -> i32 {
    let mut dots = [0];
    dot_rows(row, query, &mut dots);
    dots[0]
}

/// The dot products of consecutive rows with the query: one for each place in `dots` that has a whole row.
pub fn dot_rows(rows: &[i16], query: &[i16], dots: &mut [i32]) {
    #[cfg(zhat_dsp)]
    if dsp::dots(rows, None, query, dots) {
        return;
    }
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if avx2::dots(rows.chunks_exact(row_len(query.len()).max(1)), query, dots) {
        return;
    }
    for (row, place) in rows.chunks_exact(row_len(query.len()).max(1)).zip(dots) {
        *place = portable::dot(row, query);
    }
}

/// The dot products of the rows of a table that are picked by their numbers: one for each place in `dots`, zero for a row
/// that the table does not have.
pub fn dot_picked(table: &[i16], picked: &[u32], query: &[i16], dots: &mut [i32]) {
    #[cfg(zhat_dsp)]
    if dsp::dots(table, Some(picked), query, dots) {
        return;
    }
    let len = row_len(query.len());
    let row = |&row: &u32| {
        let rest = table.get((row as usize).wrapping_mul(len)..).unwrap_or(&[]);
        rest.get(..len).unwrap_or(&[])
    };
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if avx2::dots(picked.iter().map(row), query, dots) {
        return;
    }
    for (place, row) in dots.iter_mut().zip(picked.iter().map(row)) {
        *place = portable::dot(row, query);
    }
}

/// Numbers and scales as a row: the weight of a column is its number times the scale of its group, of which the first may
/// have fewer columns.
#[cfg(any(test, feature = "std"))]
pub fn pack(numbers: &[i8], scales: &[i8]) -> alloc::vec::Vec<i16> {
    let stride = numbers.len();
    let mut words = alloc::vec![0u32; row_len(stride) / 2];
    for (column, &number) in numbers.iter().enumerate() {
        let [scale_at, number_at] = place(column, stride);
        let scale = scales[group_of(column, stride)];
        for ((word, low), value) in [(scale_at, scale), (number_at, number)] {
            words[word] = words[word] & !(0xf << low) | (value as u32 & 0xf) << low;
        }
    }
    words.iter().flat_map(|&word| [word as i16, (word >> 16) as i16]).collect()
}

/// The group of a column in a row of `stride` columns.
#[cfg(any(test, feature = "std"))]
pub const fn group_of(column: usize, stride: usize) -> usize {
    (column + before(stride) % GROUP) / GROUP
}
