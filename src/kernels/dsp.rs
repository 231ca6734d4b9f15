//! Dot products with the DSP extension of ARMv7E-M and ARMv8-M.
//!
//! SMLAD multiplies and adds two 16-bit pairs: a word of a row as it is, and once more with the low byte of each half,
//! which SXTB16 widens. Two rows share every load of the query: for 8 columns one LDM of four query words, and per row
//! one LDRD, two SXTB16 and four SMLAD: 15 instructions for 16 multiply-accumulates, two for the loop each 128, and
//! 11 for each pair of rows.
#![allow(unsafe_code)]

use core::arch::asm;
use core::ops::Range;

use super::portable;
use crate::hint::keep_small;

/// The dot product of one row with the query.
#[inline]
pub fn dot(row: &[i16], query: &[i16]) -> i32 {
    if row.len() >= query.len() / 2 && is_sound(row, query) {
        // SAFETY: both are sound, and the row is as long as the query.
        unsafe { dot_one(row.as_ptr(), query) }
    } else {
        portable::dot(row, query)
    }
}

/// The dot products of rows with the query: of those that are picked by their numbers, or of the first ones. False, and
/// nothing done, if something is not sound or a row is not in the table.
#[inline(never)]
pub fn dots(table: &[i16], picked: Option<&[u32]>, query: &[i16], dots: &mut [i32]) -> bool {
    if !is_sound(table, query) {
        return false;
    }
    let pairs = query.len() / 2;
    let rows = table.len() / pairs;
    let (numbers, count) = match picked {
        Some(picked) if are_below(picked, rows) => (picked.as_ptr(), picked.len()),
        Some(_) => return false,
        None => (core::ptr::null(), rows),
    };
    let count = count.min(dots.len());
    if count > 1 {
        let start = dots.as_mut_ptr();
        // SAFETY: table and query are sound, the table has the rows, and there is one for each of an even number of
        // places.
        unsafe { dot_pairs(table.as_ptr(), numbers, query, start..start.wrapping_add(count & !1)) };
    }
    if count & 1 == 1 {
        let last = count - 1;
        let row = picked.and_then(|picked| picked.get(last)).map_or(last, |&row| row as usize);
        if let Some(place) = dots.get_mut(last) {
            // SAFETY: as above.
            *place = unsafe { dot_one(table.as_ptr().wrapping_add(row * pairs), query) };
        }
    }
    true
}

fn are_below(picked: &[u32], rows: usize) -> bool {
    picked.iter().all(|&row| {
        keep_small();
        (row as usize) < rows
    })
}

/// What both blocks ask for: whole words, on words, and eight columns or more.
fn is_sound(rows: &[i16], query: &[i16]) -> bool {
    query.len() >= 8
        && query.len().is_multiple_of(4)
        && (rows.as_ptr().addr() | query.as_ptr().addr()).is_multiple_of(4)
}

/// 8 columns of one row: the query's words in r8, r9, r10 and lr, the row's in r11 and r12.
macro_rules! eight_columns {
    ($row:literal, $whole:literal, $low:literal) => {
        concat!(
            concat!("ldrd r11, r12, [", $row, "], #8\n"),
            concat!("smlad ", $whole, ", r11, r8, ", $whole, "\n sxtb16 r11, r11\n"),
            concat!("smlad ", $whole, ", r12, r10, ", $whole, "\n sxtb16 r12, r12\n"),
            concat!("smlad ", $low, ", r11, r9, ", $low, "\n smlad ", $low, ", r12, lr, ", $low, "\n"),
        )
    };
}

/// 8 columns of the rows in r0 and r1, added to r3 and r5, r4 and r6: 60 bytes.
macro_rules! eight_columns_of_two {
    () => {
        concat!("ldm r2!, {{r8, r9, r10, lr}}\n", eight_columns!("r0", "r3", "r5"), eight_columns!("r1", "r4", "r6"))
    };
}

/// 4 columns of one row: the query's words in r8 and r9.
macro_rules! four_columns {
    ($row:literal, $whole:literal, $low:literal) => {
        concat!(
            concat!("ldr r11, [", $row, "], #4\n"),
            concat!("smlad ", $whole, ", r11, r8, ", $whole, "\n sxtb16 r11, r11\n"),
            concat!("smlad ", $low, ", r11, r9, ", $low, "\n"),
        )
    };
}

/// Fills `places` two by two with the dot products of the rows with these numbers or, if there are none, of consecutive
/// ones.
///
/// All of it is one block: what the compiler would put between two pairs takes a fifth of the time of rows of 64. No
/// register is left in it, so a frame on the stack has what each pair begins with: one LDM loads the query's address,
/// zeros for the four sums, the number of passes of the loop, and where to begin. That is inside the loop where the columns
/// are not a multiple of 64, in front of it where they are not one of 8, and where two numbers are turned into addresses
/// if rows are picked. r6 and r7 the compiler will not lend to `asm!`: they are saved by hand.
///
/// # Safety
/// Table and query are sound. `places` is not empty and even, and the table has a row for each place.
#[inline(always)]
unsafe fn dot_pairs(table: *const i16, numbers: *const u32, query: &[i16], places: Range<*mut i32>) {
    // SAFETY: for each pair 8·⌊stride/8⌋ + stride % 8 = stride columns are read from both rows and the query, since 4
    // divides the stride, and two places written. Places to jump to are computed from labels with the bit that says
    // Thumb; the loop is entered at one of its eight parts of 60 bytes each. Every register written is declared, or
    // restored; the stack is as before at the end.
    unsafe {
        asm!(
            "push {{r6, r7}}",
            "lsrs r6, r5, #3",          // parts of 8 columns
            "adds r7, r6, #7",
            "lsrs r7, r7, #3",          // rounds of the loop, the first from the middle if 8 does not divide the parts
            "rsbs r6, r6, #0",
            "and r6, r6, #7",           // parts that it leaves out
            "rsb r6, r6, r6, lsl #4",
            "add r1, r0, r5",           // the second row
            "adr r11, 3f + 1",
            "add r6, r11, r6, lsl #2",  // 60 bytes each
            "mov r10, r6",
            "tst r5, #4",
            "it ne",
            "adrne r10, 5f + 1",
            "mov r11, r10",
            "cmp r9, #0",
            "it ne",
            "adrne r11, 7f + 1",
            "sub r9, r9, r3",
            "push {{r0, r3, r4, r5, r6, r9, r10}}", // +28: table, places, end, stride, loop, numbers − places, four columns
            "mov r8, r3",
            "movs r3, #0",
            "movs r4, #0",
            "movs r5, #0",
            "movs r6, #0",
            "push {{r2, r3, r4, r5, r6, r7, r11}}",
            "ldm sp, {{r2, r3, r4, r5, r6, r7, pc}}",
            // Two numbers of rows to their addresses.
            "7:",
            "ldr r9, [sp, #48]",
            "add r9, r9, r8",
            "ldrd r0, r1, [r9]",
            "ldr r9, [sp, #28]",
            "ldr r10, [sp, #40]",
            "mla r0, r0, r10, r9",
            "mla r1, r1, r10, r9",
            "ldr pc, [sp, #52]",
            // Four columns.
            "5:",
            "ldm r2!, {{r8, r9}}",
            four_columns!("r0", "r3", "r5"),
            four_columns!("r1", "r4", "r6"),
            "ldr pc, [sp, #44]",
            ".p2align 2",
            "3:",
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            eight_columns_of_two!(),
            "subs r7, r7, #1",
            "bne 3b",
            "ldrd r8, r9, [sp, #32]",
            "ldr r10, [sp, #40]",
            "add r3, r3, r5, lsl #8",
            "add r4, r4, r6, lsl #8",
            "strd r3, r4, [r8], #8",
            "str r8, [sp, #32]",
            "mov r0, r1",               // after the second row is the first of the next pair
            "add r1, r1, r10",
            "cmp r8, r9",
            "it ne",
            "ldmne sp, {{r2, r3, r4, r5, r6, r7, pc}}",
            "add sp, sp, #56",
            "pop {{r6, r7}}",
            inout("r0") table => _,
            out("r1") _,
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

/// The dot product of one row.
///
/// # Safety
/// Row and query are sound, the row half as many numbers as the query.
#[inline(never)]
unsafe fn dot_one(row: *const i16, query: &[i16]) -> i32 {
    let (whole, low): (i32, i32);
    // SAFETY: 8·⌊stride/8⌋ + stride % 8 = stride columns are read from both, since 4 divides the stride.
    unsafe {
        asm!(
            "lsr r1, r3, #3",
            "2:",
            "ldm r2!, {{r8, r9, r10, lr}}",
            eight_columns!("r0", "r4", "r5"),
            "subs r1, r1, #1",
            "bne 2b",
            "tst r3, #4",
            "beq 3f",
            "ldm r2, {{r8, r9}}",
            four_columns!("r0", "r4", "r5"),
            "3:",
            inout("r0") row => _,
            out("r1") _,
            inout("r2") query.as_ptr() => _,
            in("r3") query.len(),
            inout("r4") 0 => whole,
            inout("r5") 0 => low,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
            out("r12") _,
            out("lr") _,
        );
    }
    whole.wrapping_add(low << 8)
}
