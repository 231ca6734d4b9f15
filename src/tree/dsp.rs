//! Priorities of nodes with the DSP extension of ARMv7E-M and ARMv8-M: the same integers as in [`Tree::priorities`](super::Tree::priorities),
//! in registers.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::Spread;

/// Turns the scores of a family of at most 32 nodes into priorities, as [`Tree::priorities`](super::Tree::priorities)
/// does. Returns the largest.
#[inline]
pub fn priorities(words: &mut [i32], spreads: &[[u16; 3]], gains: &[i16], spread: &Spread) -> i32 {
    if words.is_empty() || spreads.len() < words.len() || gains.len() < words.len() {
        return i32::MIN;
    }
    // SAFETY: there are words, and a spread and a gain for each.
    unsafe { priority_of_each(words.as_mut_ptr(), spreads.as_ptr(), gains.as_ptr(), words.len(), spread) }
}

/// Computes into r9 the upper word of a product with the small float in r9, shifted left by `Factor::HEADROOM`. The
/// other factor is r6 or the number that `$mantissa` loads. Overwrites `$other`.
macro_rules! upper_word {
    ($other:literal, $mantissa:literal) => {
        concat!(
            concat!("lsr ", $other, ", r9, #12\n bfc r9, #12, #20\n lsl r9, r9, ", $other, "\n lsl.w r9, r9, #5\n"),
            $mantissa,
        )
    };
}

/// Adds the spread and the gain of each node to its score, and puts 31, 30, … into the lowest five bits; returns the
/// largest.
///
/// # Safety
/// There is at least one word, and a spread and a gain for each.
// Reads and writes exactly that many. Restores the registers that a callee must preserve. `Spread` is laid out as in C:
// six words.
#[unsafe(naked)]
unsafe extern "C" fn priority_of_each(
    words: *mut i32,
    spreads: *const [u16; 3],
    gains: *const i16,
    count: usize,
    spread: &Spread,
) -> i32 {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "ldr r9, [sp, #36]",
        "ldm r9, {{r6, r7, r8}}",
        "mov.w r5, #0x80000000",
        "rsb r4, r3, #31",
        "movs r3, #31",
        ".p2align 2",
        "2:",
        "ldrh r9, [r1]",
        "ldrh r10, [r1, #4]",
        "ldrsh r11, [r2], #2",
        "ldr r12, [r0]",
        upper_word!("lr", "umull lr, r9, r9, r6\n"),
        "lsr r9, r9, r7",
        "lsl r10, r10, #7",
        "lsr lr, r10, r8",
        "cmp r9, lr",
        "bhi 4f",
        "lsl r9, r9, r8",
        "3:",
        "qadd r12, r12, r9",
        "lsl r11, r11, #8",
        "qadd r12, r12, r11",
        "bfi r12, r3, #0, #5",
        "adds r1, r1, #6",
        "cmp r12, r5",
        "it gt",
        "movgt r5, r12",
        "str r12, [r0], #4",
        "subs r3, r3, #1",
        "cmp r3, r4",
        "bne 2b",
        "mov r0, r5",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        // The frozen form.
        "4:",
        "ldrh r9, [r1, #2]",
        "ldr lr, [sp, #36]",
        upper_word!("r11", "ldr r11, [lr, #12]\n umull r11, r9, r9, r11\n"),
        "ldr r11, [lr, #16]",
        "lsr r9, r9, r11",
        "ldr r11, [lr, #20]",
        "mov.w lr, #0x40000000",
        "lsr lr, lr, r11",
        "cmp r9, lr",
        "it hi",
        "movhi r9, lr",
        "lsl r9, r9, r11",
        "sub r9, r9, r10",
        "ldrsh r11, [r2, #-2]",
        "b 3b",
    )
}
