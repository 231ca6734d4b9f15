//! Dot products of 4-bit rows with an int16 query.
//!
//! **Rows.** Sixteen columns share a scale: a weight is w = s·n, with s and n whole numbers from −8 to 7. A negative s
//! turns the range of n around, so that the longer end of it is where the larger weights are. |w| is at most 64, so the
//! bounds for int8 weights hold.
//!
//! A row is as if columns in front filled it up to whole blocks of 64. A block is a word with the scales of its four groups
//! in its low half, the first in the highest four bits, and then eight words of n. What is in front of the first column has
//! no words, and its scales are zero. The high half of the first word of scales is the scale of the whole row, that of
//! others is zero. Eight columns share a word in the order in which a small processor
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
#[cfg(any(test, not(zhat_dsp)))]
mod portable;

#[cfg(test)]
mod tests;

use super::ROW_ALIGN;
use crate::hint::keep_small;

/// Columns that share a scale.
pub const GROUP: usize = 16;
/// Columns that share a word of scales.
pub const BLOCK: usize = 64;
/// Columns in a word.
const WORD: usize = 8;

/// Returns the length of a row of `stride` columns in the file, in 16-bit numbers, two for each word.
#[inline]
pub const fn row_len(stride: usize) -> usize {
    2 * (stride.div_ceil(WORD) + stride.div_ceil(BLOCK))
}

/// Returns the smallest sum of squares of a row's weights that a query has to be quantised for, so that no group's sum
/// overflows.
///
/// No n is above 8, so the norm of a group's is at most 8·√16. With a query whose norm is below 2^14 the sum stays
/// below 2^19, which is what 32 bits have left after 12. Rows of 512 or longer imply that norm; rows shorter than a
/// group need less.
pub const fn least_largest_row(stride: usize) -> u32 {
    let columns = if stride < GROUP { stride } else { GROUP };
    (columns as u32) << 14
}

/// Returns the number of absent columns in front of the first one.
const fn before(stride: usize) -> usize {
    stride.next_multiple_of(BLOCK) - stride
}

/// Returns the position of `column` in a row: its word of scales and its word, each with the number of bits below the
/// column's.
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
    [(start, 12 - 4 * (at % BLOCK / GROUP) as u32), (word, (16 * half + 12 - 4 * order) as u32)]
}

/// The position of a row's own scale, in 16-bit numbers.
pub(crate) const SCALE: usize = 1;

/// Returns the weight of a column; zero if the row has no such column.
pub fn weight(row: &[i16], column: usize, stride: usize) -> i8 {
    let [scale, number] = place(column, stride).map(|(word, low)| match row.get(2 * word..2 * word + 2) {
        Some(&[first, second]) => four_bits(to_word([first, second]) << (28 - low)),
        _ => 0,
    });
    (scale * number) as i8
}

/// Returns the scales of rows, consecutive ones a row's length apart; `None` if the rows do not start on a word.
pub fn scales(rows: &[i16]) -> Option<&[u16]> {
    let is_aligned = rows.as_ptr().addr().is_multiple_of(size_of::<u32>());
    is_aligned.then(|| bytemuck::cast_slice(rows.get(SCALE..).unwrap_or(&[])))
}

/// Joins two numbers to a word as in the file.
#[inline]
const fn to_word([low, high]: [i16; 2]) -> u32 {
    low as u16 as u32 | (high as u32) << 16
}

/// Returns the highest four bits as a signed number.
#[inline]
const fn four_bits(word: u32) -> i32 {
    word as i32 >> 28
}

/// Returns the sum of the squares of a row's weights. `None` if a bit is set where there are no columns: in front of
/// the first, or behind the last of `dim`, which the stride rounds up.
#[inline(never)]
pub fn squares(row: &[i16], dim: usize) -> Option<u32> {
    let stride = dim.next_multiple_of(ROW_ALIGN);
    let (mut at, mut is_first, mut is_start) = (before(stride), true, true);
    let (mut scales, mut sum, mut total, mut last) = (0u32, 0i32, 0u32, 0u32);
    for &pair in row.as_chunks().0 {
        let mut word = to_word(pair);
        if is_start {
            let absent = at / GROUP * 4;
            scales = word << 16 << absent;
            // Nothing is in front of the first column's scale, and the row has one scale.
            if scales >> absent != word << 16 || !is_first && word >> 16 != 0 {
                return None;
            }
            (is_first, is_start) = (false, false);
            continue;
        }
        // The first word may have four columns only: those that come last.
        if !at.is_multiple_of(WORD) && word & 0xff00_ff00 != 0 {
            return None;
        }
        last = word;
        while word != 0 {
            keep_small();
            sum += four_bits(word).pow(2);
            word <<= 4;
        }
        at += WORD - at % WORD;
        if at.is_multiple_of(GROUP) {
            total += (four_bits(scales).pow(2) * sum) as u32;
            (sum, scales) = (0, scales << 4);
            if at == BLOCK {
                (at, is_start) = (0, true);
            }
        }
    }
    // Columns 7, 6 and 5 of the last word.
    static PADDING: [u32; ROW_ALIGN] = [0, 0x00f0_0000, 0x00ff_0000, 0x00ff_00f0];
    (last & PADDING[(stride - dim) % ROW_ALIGN] == 0).then_some(total)
}

/// Computes the dot products of rows of a table with the query: of the picked ones, or else of the first ones. Fills
/// each place in `dots`; writes zero for a picked row that the table does not have, and nothing if there is no row
/// left.
///
/// Table and query must start on a word. The DSP kernel writes zeros if they do not, or if any picked row is not in the
/// table; no model and no search picks such a row.
#[inline]
pub fn dots(table: &[i16], picked: Option<&[u32]>, query: &[i16], dots: &mut [i32]) {
    #[cfg(zhat_dsp)]
    dsp::dots(table, picked, query, dots);
    #[cfg(not(zhat_dsp))]
    each(table, picked, query, dots);
}

/// Computes the dot products with the kernels that take one row or a few.
#[cfg(not(zhat_dsp))]
#[inline(never)]
fn each(table: &[i16], picked: Option<&[u32]>, query: &[i16], dots: &mut [i32]) {
    let len = row_len(query.len());
    let row = |row: usize| {
        let start = row.wrapping_mul(len);
        table.get(start..start.wrapping_add(len))
    };
    let count = picked.map_or_else(|| table.len().checked_div(len).unwrap_or(0), <[u32]>::len);
    let number = |at: usize| picked.map_or(Some(at), |picked| picked.get(at).map(|&row| row as usize));
    let rows = (0..count).map(|at| number(at).and_then(row).unwrap_or(&[]));
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if avx2::dots(rows.clone(), query, dots) {
        return;
    }
    for (place, row) in dots.iter_mut().zip(rows) {
        keep_small();
        *place = portable::dot(row, query);
    }
}

/// Packs numbers and scales as a row. The weight of a column is its number times the scale of its group; the first
/// group may have fewer columns.
#[cfg(any(test, feature = "std"))]
pub fn pack(numbers: &[i8], scales: &[i8]) -> Vec<i16> {
    let stride = numbers.len();
    let mut words = vec![0u32; row_len(stride) / 2];
    for (column, &number) in numbers.iter().enumerate() {
        let [scale_at, number_at] = place(column, stride);
        let scale = scales[group_of(column, stride)];
        for ((word, low), value) in [(scale_at, scale), (number_at, number)] {
            words[word] = words[word] & !(0xf << low) | (value as u32 & 0xf) << low;
        }
    }
    words.iter().flat_map(|&word| [word as i16, (word >> 16) as i16]).collect()
}

/// Returns the group of a column in a row of `stride` columns.
#[cfg(any(test, feature = "std"))]
pub const fn group_of(column: usize, stride: usize) -> usize {
    (column + before(stride) % GROUP) / GROUP
}
