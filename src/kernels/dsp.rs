//! Dot products with the DSP extension of ARMv7E-M and ARMv8-M.
//!
//! SXTB16 widens two bytes of a word at once, SMLAD multiplies and adds two 16-bit pairs. Two rows share every load
//! of the query: for 8 columns one LDM of four query words, and per row one LDRD, four SXTB16 and four SMLAD: 19
//! instructions for 16 multiply-accumulates, two for the loop each 64, and 14 for each pair of rows.
#![allow(unsafe_code)]

use core::arch::asm;
use core::ops::Range;

use super::portable;

/// The dot product of one row with the query.
#[inline]
pub fn dot(row: &[i8], query: &[i16]) -> i32 {
    // Single rows are rare: code for them alone would not pay for its flash.
    dot_pair([row, row], query)[0]
}

/// The dot products of two rows with the query, over the whole words that all three have.
#[inline]
pub fn dot_pair([first, second]: [&[i8]; 2], query: &[i16]) -> [i32; 2] {
    let words = first.len().min(second.len()).min(query.len()) / 4;
    let mut sums = [0; 2];
    if words > 0 && is_word_aligned(first) && is_word_aligned(second) && is_word_aligned(query) {
        // SAFETY: all are word-aligned, `words` words are in both rows and twice as many in the query; two places.
        unsafe { dot_pairs(first.as_ptr(), second.as_ptr(), 4 * words, query.as_ptr(), sums.as_mut_ptr_range()) };
    } else {
        sums = [portable::dot(first, query), portable::dot(second, query)];
    }
    sums
}

/// The dot products of consecutive rows with the query, two by two. Returns how many were done: none if something is
/// not aligned, and not the last of an odd number.
pub fn dot_rows(rows: &[i8], query: &[i16], dots: &mut [i32]) -> usize {
    let stride = query.len();
    let pairs = rows.len().checked_div(stride).map_or(0, |rows| rows.min(dots.len()) / 2);
    if pairs == 0 || !stride.is_multiple_of(4) || !is_word_aligned(rows) || !is_word_aligned(query) {
        return 0;
    }
    let Some(places) = dots.get_mut(..2 * pairs).map(<[i32]>::as_mut_ptr_range) else {
        return 0;
    };
    let first = rows.as_ptr();
    // SAFETY: all are word-aligned, 2·pairs rows of `stride` bytes are in `rows`, as many places in `dots`.
    unsafe { dot_pairs(first, first.wrapping_add(stride), stride, query.as_ptr(), places) };
    2 * pairs
}

/// The dot products of picked rows, two by two; false, and nothing done, if something is not aligned or a row is not in
/// the table.
pub fn dot_picked(table: &[i8], picked: &[u32], query: &[i16], dots: &mut [i32]) -> bool {
    let stride = query.len();
    let rows = table.len().checked_div(stride).unwrap_or(0);
    let sound = stride.is_multiple_of(4)
        && is_word_aligned(table)
        && is_word_aligned(query)
        && picked.iter().all(|&row| (row as usize) < rows);
    if !sound {
        return false;
    }
    let start = |row: u32| table.as_ptr().wrapping_add(row as usize * stride);
    let (pairs, odd) = picked.as_chunks::<2>();
    for (&[first, second], places) in pairs.iter().zip(dots.as_chunks_mut::<2>().0) {
        // SAFETY: all are word-aligned; both rows are in the table, so `stride` bytes, more than none since there are
        // rows, can be read from each; the query has as many values; two places.
        unsafe { dot_pairs(start(first), start(second), stride, query.as_ptr(), places.as_mut_ptr_range()) };
    }
    // The last of an odd number goes with itself.
    if let (&[row], Some(place)) = (odd, dots.get_mut(2 * pairs.len())) {
        let mut sums = [0; 2];
        // SAFETY: as above.
        unsafe { dot_pairs(start(row), start(row), stride, query.as_ptr(), sums.as_mut_ptr_range()) };
        *place = sums[0];
    }
    true
}

/// 8 columns of one row: the query's words in r8 to r11, the row's in r4 and r5, widened in r6.
macro_rules! eight_columns {
    ($row:literal, $sum:literal) => {
        concat!(
            concat!("ldrd r4, r5, [", $row, "], #8\n"),
            concat!("sxtb16 r6, r4\n smlad ", $sum, ", r6, r8, ", $sum, "\n"),
            concat!("sxtb16 r4, r4, ror #8\n smlad ", $sum, ", r4, r9, ", $sum, "\n"),
            concat!("sxtb16 r6, r5\n smlad ", $sum, ", r6, r10, ", $sum, "\n"),
            concat!("sxtb16 r5, r5, ror #8\n smlad ", $sum, ", r5, r11, ", $sum, "\n"),
        )
    };
}

/// 8 columns of the rows in r0 and r2, added to r1 and r3.
macro_rules! eight_columns_of_two {
    () => {
        concat!("ldm r12!, {{r8, r9, r10, r11}}\n", eight_columns!("r0", "r1"), eight_columns!("r2", "r3"))
    };
}

/// 4 columns of one row: the query's words in r8 and r9.
macro_rules! four_columns {
    ($row:literal, $sum:literal) => {
        concat!(
            concat!("ldr r10, [", $row, "], #4\n"),
            concat!("sxtb16 r11, r10\n smlad ", $sum, ", r11, r8, ", $sum, "\n"),
            concat!("sxtb16 r10, r10, ror #8\n smlad ", $sum, ", r10, r9, ", $sum, "\n"),
        )
    };
}

/// Fills `places` two by two: with the dot products of `first` and `second`, then of the two rows behind `second`, and
/// so on.
///
/// All of it is one block: what the compiler would put between two pairs takes a fifth of the time of rows of 64. It
/// keeps r6 and r7 for itself and will not lend them to `asm!`, so they are saved by hand.
///
/// # Safety
/// `places` is not empty and even; `stride` bytes, a multiple of four above zero, can be read from both rows, of the
/// query twice as many, and for every further pair the next two rows behind `second`. All are word-aligned.
#[inline(never)]
unsafe fn dot_pairs(first: *const i8, second: *const i8, stride: usize, query: *const i16, places: Range<*mut i32>) {
    // SAFETY: for each pair the loops read 32·(stride / 32) + (stride % 32) = stride columns, since 4 divides the
    // stride, and write two places. Every register written is declared, or restored; the stack is as before at the
    // end.
    unsafe {
        asm!(
            "push {{r4, r5, r6, r7}}", // stride, end of the places; r6 and r7 to be restored
            "mov r7, r1",
            "2:",
            "movs r1, #0",
            "movs r3, #0",
            "lsrs lr, r4, #5",
            "beq 4f",
            "3:",
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            "subs lr, lr, #1",
            "bne 3b",
            "4:",
            "ldrd r4, r5, [sp]",
            "ands lr, r4, #28",
            "beq 6f",
            "5:",
            "ldm r12!, {{r8, r9}}",
            four_columns!("r0", "r1"),
            four_columns!("r2", "r3"),
            "subs lr, lr, #4",
            "bne 5b",
            "6:",
            "strd r1, r3, [r7], #8",
            "mov r0, r2", // behind the second row is the first of the next pair
            "add r2, r2, r4",
            "sub r12, r12, r4, lsl #1",
            "cmp r7, r5",
            "bne 2b",
            "add sp, sp, #8",
            "pop {{r6, r7}}",
            inout("r0") first => _,
            inout("r1") places.start => _,
            inout("r2") second => _,
            out("r3") _,
            inout("r4") stride => _,
            inout("r5") places.end => _,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
            inout("r12") query => _,
            out("lr") _,
        );
    }
}

fn is_word_aligned<T>(slice: &[T]) -> bool {
    slice.as_ptr().addr().is_multiple_of(4)
}
