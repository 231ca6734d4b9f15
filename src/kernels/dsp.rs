//! Dot products with the DSP extension of ARMv7E-M and ARMv8-M.
//!
//! SXTB16 widens two bytes of a word at once, SMLAD multiplies and adds two 16-bit pairs. Two rows share every
//! load of the query: for 8 columns one LDM of four query words, and per row one LDRD, four SXTB16 and four SMLAD:
//! 19 instructions for 16 multiply-accumulates, and two for the loop each 32.
//!
//! LLVM keeps r6 and r7 for itself and will not lend them to `asm!`, so they are saved by hand.
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
            "ldr r10, [",
            $row,
            "], #4\n",
            "sxtb16 r11, r10\n",
            "smlad ",
            $sum,
            ", r11, r8, ",
            $sum,
            "\n",
            "sxtb16 r10, r10, ror #8\n",
            "smlad ",
            $sum,
            ", r10, r9, ",
            $sum,
            "\n",
        )
    };
}

/// The dot products of consecutive rows with the query, two by two. Returns how many were done: none if something is
/// not aligned, and not the last of an odd number.
///
/// All of the loop is in one block: what the compiler would put between two pairs takes a fifth of the time of a row
/// of 64.
pub fn dot_rows(rows: &[i8], query: &[i16], dots: &mut [i32]) -> usize {
    let stride = query.len();
    let aligned = is_word_aligned(rows) && is_word_aligned(query) && stride.is_multiple_of(4);
    let pairs = rows.len().checked_div(stride).map_or(0, |rows| rows.min(dots.len()) / 2);
    if !aligned || pairs == 0 {
        return 0;
    }
    let places = dots[..2 * pairs].as_mut_ptr_range();
    // SAFETY: 2·pairs rows of `stride` bytes are in `rows`, as many places in `dots`. For each pair the loops read
    // 16·(stride / 16) + (stride % 16) = stride columns of two rows and of the query, since 4 divides the stride, and
    // write two places. All are word-aligned, as LDM, LDRD and STRD want. Every register written is declared, or
    // restored; the stack is as before at the end.
    unsafe {
        asm!(
            "push {{r4, r5, r6, r7}}",
            "mov r7, r1",
            "2:", // a pair of rows: r0 and r2
            "add r2, r0, r4",
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
            "mov r0, r2",
            "sub r12, r12, r4, lsl #1",
            "cmp r7, r5",
            "bne 2b",
            "add sp, sp, #8",
            "pop {{r6, r7}}",
            inout("r0") rows.as_ptr() => _,
            inout("r1") places.start => _,
            out("r2") _,
            out("r3") _,
            inout("r4") stride => _,
            inout("r5") places.end => _,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
            inout("r12") query.as_ptr() => _,
            out("lr") _,
        );
    }
    2 * pairs
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
                out("r8") _,
                out("r9") _,
                out("r10") _,
                out("r11") _,
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
                out("r8") _,
                out("r9") _,
                out("r10") _,
                out("r11") _,
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
