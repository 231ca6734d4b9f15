//! Dot products with the DSP extension of ARMv7E-M and ARMv8-M.
//!
//! SXTB16 widens two bytes of a word at once, SMLAD multiplies and adds two 16-bit pairs. Two rows share every
//! load of the query: for 8 columns one LDM of four query words, and per row one LDRD, four SXTB16 and four SMLAD:
//! 19 instructions for 16 multiply-accumulates, and two for the loop each 32.
//!
//! LLVM keeps r6 and r7 for itself and will not lend them to `asm!`, so the temporary r6 is saved by hand.
#![allow(unsafe_code)]

use core::arch::asm;

use super::portable;

/// 8 columns of one row: the query's words in r8 to r11, the row's in r4 and r5, widened in r6.
macro_rules! eight_columns {
    ($row:literal, $sum:literal) => {
        concat!(
            "ldrd r4, r5, [",
            $row,
            "], #8\n",
            "sxtb16 r6, r4\n",
            "smlad ",
            $sum,
            ", r6, r8, ",
            $sum,
            "\n",
            "sxtb16 r4, r4, ror #8\n",
            "smlad ",
            $sum,
            ", r4, r9, ",
            $sum,
            "\n",
            "sxtb16 r6, r5\n",
            "smlad ",
            $sum,
            ", r6, r10, ",
            $sum,
            "\n",
            "sxtb16 r5, r5, ror #8\n",
            "smlad ",
            $sum,
            ", r5, r11, ",
            $sum,
            "\n",
        )
    };
}

/// 4 columns of one row: the query's words in r8 and r9.
macro_rules! four_columns {
    ($row:literal, $sum:literal) => {
        concat!(
            "ldr r4, [",
            $row,
            "], #4\n",
            "sxtb16 r5, r4\n",
            "smlad ",
            $sum,
            ", r5, r8, ",
            $sum,
            "\n",
            "sxtb16 r4, r4, ror #8\n",
            "smlad ",
            $sum,
            ", r4, r9, ",
            $sum,
            "\n",
        )
    };
}

/// The dot products of two rows with the query, over the whole words that all three have.
#[inline]
pub fn dot_pair([first, second]: [&[i8]; 2], query: &[i16]) -> [i32; 2] {
    let columns = first.len().min(second.len()).min(query.len());
    if !(is_word_aligned(first) && is_word_aligned(second) && is_word_aligned(query)) {
        return [portable::dot(first, query), portable::dot(second, query)];
    }
    let (mut first, mut second, mut query) = (first.as_ptr(), second.as_ptr(), query.as_ptr());
    let mut sums = [0i32; 2];
    // SAFETY: each pass of the first loop reads 16 columns of the rows and the query, of the second one 4, and
    // 16·(columns / 16) + 4·(columns % 16 / 4) ≤ columns, the length of the shortest slice. Nothing is written to
    // memory but the saved r6. All are word-aligned, as LDRD and LDM want. Every register written is declared, or
    // restored.
    unsafe {
        if columns >= 16 {
            asm!(
                "push {{r6}}",
                "2:",
                "ldm r12!, {{r8, r9, r10, r11}}",
                eight_columns!("r0", "r1"),
                eight_columns!("r2", "r3"),
                "ldm r12!, {{r8, r9, r10, r11}}",
                eight_columns!("r0", "r1"),
                eight_columns!("r2", "r3"),
                "subs lr, lr, #1",
                "bne 2b",
                "pop {{r6}}",
                inout("r0") first,
                inout("r1") sums[0],
                inout("r2") second,
                inout("r3") sums[1],
                out("r4") _,
                out("r5") _,
                out("r8") _,
                out("r9") _,
                out("r10") _,
                out("r11") _,
                inout("r12") query,
                inout("lr") columns / 16 => _,
            );
        }
        if columns % 16 >= 4 {
            asm!(
                "2:",
                "ldm r12!, {{r8, r9}}",
                four_columns!("r0", "r1"),
                four_columns!("r2", "r3"),
                "subs lr, lr, #1",
                "bne 2b",
                inout("r0") first => _,
                inout("r1") sums[0],
                inout("r2") second => _,
                inout("r3") sums[1],
                out("r4") _,
                out("r5") _,
                out("r8") _,
                out("r9") _,
                inout("r12") query => _,
                inout("lr") columns % 16 / 4 => _,
                options(nostack, readonly),
            );
        }
    }
    sums
}

/// The dot product of one row with the query, over the whole words that both have.
#[inline]
pub fn dot(row: &[i8], query: &[i16]) -> i32 {
    let columns = row.len().min(query.len());
    if !(is_word_aligned(row) && is_word_aligned(query)) {
        return portable::dot(row, query);
    }
    let (mut row, mut query) = (row.as_ptr(), query.as_ptr());
    let mut sum = 0i32;
    // SAFETY: as in `dot_pair`, with one row.
    unsafe {
        if columns >= 16 {
            asm!(
                "push {{r6}}",
                "2:",
                "ldm r12!, {{r8, r9, r10, r11}}",
                eight_columns!("r0", "r1"),
                "ldm r12!, {{r8, r9, r10, r11}}",
                eight_columns!("r0", "r1"),
                "subs lr, lr, #1",
                "bne 2b",
                "pop {{r6}}",
                inout("r0") row,
                inout("r1") sum,
                out("r4") _,
                out("r5") _,
                out("r8") _,
                out("r9") _,
                out("r10") _,
                out("r11") _,
                inout("r12") query,
                inout("lr") columns / 16 => _,
            );
        }
        if columns % 16 >= 4 {
            asm!(
                "2:",
                "ldm r12!, {{r8, r9}}",
                four_columns!("r0", "r1"),
                "subs lr, lr, #1",
                "bne 2b",
                inout("r0") row => _,
                inout("r1") sum,
                out("r4") _,
                out("r5") _,
                out("r8") _,
                out("r9") _,
                inout("r12") query => _,
                inout("lr") columns % 16 / 4 => _,
                options(nostack, readonly),
            );
        }
    }
    sum
}

fn is_word_aligned<T>(slice: &[T]) -> bool {
    slice.as_ptr().addr() % 4 == 0
}
