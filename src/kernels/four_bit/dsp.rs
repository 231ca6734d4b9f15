//! 4-bit dot products with the DSP extension of ARMv7E-M and ARMv8-M.
//!
//! For a group of 16 columns one LDRD of two words, two LDM of four words of the query, eight AND that each make two numbers
//! of a word, eight SMLAD, an AND for the scale and SMMLA: 21 instructions, and about 9 for each row and 2 for each block
//! of 64. Rows go one by one: with the sums, words and scales of two there would be no registers left for the query.
#![allow(unsafe_code)]

use core::arch::asm;
use core::ops::Range;

use super::row_len;
use crate::hint::keep_small;

/// Computes the dot products of rows with the query: of the picked ones, or else of the first ones. Writes zeros if
/// table or query does not start on a word, or a picked row is not in the table.
#[inline(never)]
pub fn dots(table: &[i16], picked: Option<&[u32]>, query: &[i16], dots: &mut [i32]) {
    let len = row_len(query.len());
    let is_aligned = (table.as_ptr().addr() | query.as_ptr().addr()).is_multiple_of(4);
    let rows = table.len().checked_div(len).unwrap_or(0);
    let is_sound = is_aligned && rows > 0 && query.len().is_multiple_of(4);
    let (numbers, count) = match picked {
        _ if !is_sound => return dots.fill(0),
        Some(picked) if are_below(picked, rows) => (picked.as_ptr(), picked.len()),
        Some(_) => return dots.fill(0),
        None => (core::ptr::null(), rows),
    };
    let count = count.min(dots.len());
    if count > 0 {
        let start = dots.as_mut_ptr();
        // SAFETY: table and query are on words, the query has columns, and there is a row for each place.
        unsafe { dot_each(table.as_ptr(), numbers, query, 2 * len, start..start.wrapping_add(count)) };
    }
}

fn are_below(picked: &[u32], rows: usize) -> bool {
    picked.iter().all(|&row| {
        keep_small();
        (row as usize) < rows
    })
}

/// Makes two numbers of the word in `$word` and multiplies them with the query's word in `$query`, by `$multiply` with
/// `$to`.
macro_rules! two_columns {
    ($word:literal, $query:literal, $multiply:literal, $to:literal) => {
        concat!("and r1, r6, ", $word, "\n", $multiply, " r5, r1, ", $query, $to, "\n")
    };
}

/// Loads four words of the query into r8, r9, r10 and lr and multiplies them with the word in `$word`; the first
/// product by `$multiply` with `$to`.
macro_rules! eight_columns {
    ($word:literal, $multiply:literal, $to:literal) => {
        concat!(
            "ldm r2!, {{r8, r9, r10, lr}}\n",
            two_columns!($word, "r8", $multiply, $to),
            "and r1, r6, ",
            $word,
            ", lsl #4\n smlad r5, r1, r9, r5\n",
            "and r1, r6, ",
            $word,
            ", lsl #8\n smlad r5, r1, r10, r5\n",
            "and r1, r6, ",
            $word,
            ", lsl #12\n smlad r5, r1, lr, r5\n",
        )
    };
}

/// Multiplies a group, whose scale is `$shift` below the highest bits of the word in r4, and adds it to r3: 84 bytes.
/// Its second word is at byte 40, the code after it at byte 76.
macro_rules! group {
    ($shift:literal) => {
        concat!(
            "ldrd r11, r12, [r0], #8\n",
            eight_columns!("r11", "smuad", ""),
            eight_columns!("r12", "smlad", ", r5"),
            "and r1, r6, r4, lsl #",
            $shift,
            "\n smmla r3, r5, r1, r3\n",
        )
    };
}

/// Fills `places` with the dot products of the rows at the indices in `numbers` or, if that is null, of consecutive
/// rows.
///
/// A frame on the stack has what each row begins with: one LDM loads the query's address, zero for the total, the
/// number of blocks, and where to begin: at the first group of the first block, or in front of it where that group has
/// fewer columns. The compiler does not lend r6 and r7 to `asm!`: they are saved by hand.
///
/// # Safety
/// Table and query are on words; the query's columns are a multiple of four, and at least four; a row has `row_bytes`,
/// which is twice its [`row_len`]. `places` is not empty, and the table has a row for each place.
#[inline(always)]
unsafe fn dot_each(table: *const i16, numbers: *const u32, query: &[i16], row_bytes: usize, places: Range<*mut i32>) {
    // SAFETY: for each row the code reads ⌈stride/64⌉ words of scales, and ⌈stride/8⌉ words of numbers: whole groups of
    // two, after none, one (4 or 8 columns) or two (12) of the group that has fewer columns. Of the query it reads what
    // belongs to them, 4, 8, 12 and 16 values. Each row writes one place. Places to jump to are computed from labels with
    // the bit that says Thumb; a group is 84 bytes. Every register written is declared, or restored; the stack is as before
    // at the end.
    unsafe {
        asm!(
            "push {{r6, r7}}",
            "subs r7, r5, #1",
            "lsrs r10, r7, #6",
            "add r7, r10, #1",          // blocks
            "rsbs r6, r5, #0",
            "ubfx r6, r6, #4, #2",      // groups that the first block does not have
            "movs r8, #84",
            "adr r11, 3f + 1",
            "mla r11, r6, r8, r11",     // the first group that it has
            "add r12, r11, #40",        // its second word
            "ands r10, r5, #15",
            "beq 2f",
            "adr.w r6, 9f + 1",           // after four columns: eight more
            "cmp r10, #8",
            "it lo",
            "addlo r6, r11, #76",       // or the scale
            "ite eq",
            "adreq r11, 5f + 1",
            "adrne r11, 4f + 1",
            "2:",
            "cmp r9, #0",
            "ite ne",
            "adrne r8, 7f + 1",
            "adreq r8, 8f + 1",
            "sub r9, r9, r3",
            // +16: places, end, table, bytes of a row, numbers − places, next row, after four columns, second word
            "push {{r0, r1, r6, r8, r9, r12}}",
            "push {{r3, r4}}",
            "movs r3, #0",
            "push {{r2, r3, r7, r11}}",
            "mov.w r6, #0xf000f000",
            "ldrd r8, r9, [sp, #16]",
            "ldr pc, [sp, #36]",
            // The number of a row to its address.
            "7:",
            "ldr r9, [sp, #40]",
            "ldr r9, [r9, r8]",
            "ldrd r10, r11, [sp, #24]",
            "mla r0, r9, r11, r10",
            "8:",
            "ldr r4, [r0], #4",
            "ldm sp, {{r2, r3, r7, pc}}",
            // Four columns: the last ones of a word.
            "4:",
            "ldr r11, [r0], #4",
            "ldm r2!, {{r8, r9}}",
            "and r1, r6, r11, lsl #8",
            "smuad r5, r1, r8",
            "and r1, r6, r11, lsl #12",
            "smlad r5, r1, r9, r5",
            "ldr pc, [sp, #32]",
            // Eight columns.
            "5:",
            "movs r5, #0",
            "9:",
            "ldr r12, [r0], #4",
            "ldr pc, [sp, #44]",
            ".p2align 2",               // of the whole: ADR counts from words
            "6:",
            "ldr r4, [r0], #4",
            "3:",
            group!("16"),
            group!("20"),
            group!("24"),
            group!("28"),
            "subs r7, r7, #1",
            "bne 6b",
            "ldrd r8, r9, [sp, #16]",
            "str r3, [r8], #4",
            "str r8, [sp, #16]",
            "cmp r8, r9",
            "it ne",
            "ldrne pc, [sp, #36]",
            "add sp, sp, #48",
            "pop {{r6, r7}}",
            inout("r0") table => _,
            inout("r1") row_bytes => _,
            inout("r2") query.as_ptr() => _,
            inout("r3") places.start => _,
            inout("r4") places.end => _,
            inout("r5") query.len() => _,
            out("r8") _,
            inout("r9") numbers => _,
            out("r10") _,
            out("r11") _,
            out("r12") _,
            out("lr") _,
        );
    }
}
