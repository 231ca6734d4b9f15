//! Sums of powers with the DSP extension of ARMv7E-M and ARMv8-M: the same integers as in `log_sum`, in registers from the first
//! term to the last.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::LogSum;

/// Holds the constants that compute a power of two of a fraction, see `exp2`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PowerTable {
    pub powers: &'static [u32; 64],
    pub slope: u32,
    pub curve: u32,
}

/// Adds 2^term for every term. There may be no more terms than the mantissa has room for.
#[inline]
pub fn add_powers(sum: &mut LogSum, terms: &[i32], table: &PowerTable) {
    let ends = terms.as_ptr_range();
    // SAFETY: these are the terms.
    unsafe { add_each(sum, ends.start, ends.end, table) }
}

/// Computes 2^fraction for the term in `$term` into r12, from 2^31 up to 2^32. Overwrites `$term`.
macro_rules! power {
    ($term:literal) => {
        concat!(
            concat!("ubfx r12, ", $term, ", #12, #6\n ubfx ", $term, ", ", $term, ", #0, #12\n"),
            concat!("ldr r12, [r7, r12, lsl #2]\n mul lr, r9, ", $term, "\n add lr, r8, lr, lsr #16\n"),
            concat!("mul lr, lr, ", $term, "\n umull ", $term, ", lr, r12, lr\n add r12, r12, lr, lsr #6\n"),
        )
    };
}

/// Adds the term in `$term`, or jumps to `$far` if it lies further below the sum than the weight has bits.
macro_rules! add_term {
    ($term:literal, $far:literal) => {
        concat!(
            concat!("sub r11, r6, ", $term, ", asr #18\n cmp r11, #25\n bhi ", $far, "\n"),
            power!($term),
            "lsr r11, r10, r11\n umlal r4, r5, r12, r11\n",
        )
    };
}

/// Adds a term that lies far below the sum, or nothing if it lies too far; continues at `$next`. Jumps to `$above` if
/// the term is above the exponent of the sum.
macro_rules! add_far_term {
    ($term:literal, $above:literal, $next:literal) => {
        concat!(
            concat!("cmp r11, #0\n blt ", $above, "\n cmp r11, #57\n bge ", $next, "\n"),
            power!($term),
            concat!("subs r11, r11, #25\n lsr r12, r12, r11\n adds r4, r4, r12\n adc r5, r5, #0\n b ", $next, "\n"),
        )
    };
}

/// Adds the powers of the terms.
///
/// Takes two terms at a time, so that their loads overlap: 18.5 cycles a term. All registers are in use: the terms in
/// r0 and r3, the sum in r4, r5 and r6.
///
/// # Safety
/// `terms` up to `end` must be readable terms.
// Reads only the terms and a table with an entry for each value of six bits, and writes the sum. Restores the registers
// that a callee must preserve.
#[unsafe(naked)]
unsafe extern "C" fn add_each(sum: &mut LogSum, terms: *const i32, end: *const i32, table: &PowerTable) {
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "ldm r0, {{r4, r5, r6}}",
        "ldm r3, {{r7, r8, r9}}",
        "mov.w r10, #0x2000000",
        "10:",
        "subs r0, r2, r1",
        "beq 9f",
        "lsls r0, r0, #29", // a single one first
        "bpl 2f",
        "ldr r3, [r1], #4",
        "b 3f",
        ".p2align 2",
        "2:",
        "ldr r3, [r1, #4]",
        "ldr r0, [r1], #8",
        add_term!("r0", "4f"),
        "3:",
        add_term!("r3", "5f"),
        "6:",
        "cmp r1, r2",
        "bne 2b",
        "9:",
        "pop {{r0}}",
        "stm r0, {{r4, r5, r6}}",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        "4:",
        add_far_term!("r0", "7f", "3b"),
        "5:",
        add_far_term!("r3", "8f", "6b"),
        // The sum at the exponent of the term, which then comes again: a shift by up to 64.
        "7:",
        "subs r1, r1, #4",
        "8:",
        "subs r1, r1, #4",
        "rsb r11, r11, #0",
        "add r6, r6, r11",
        "cmp r11, #64",
        "it hi",
        "movhi r11, #64",
        "rsb r12, r11, #32",
        "sub lr, r11, #32",
        "lsr r4, r4, r11",
        "lsl r12, r5, r12",
        "lsr lr, r5, lr",
        "lsr r5, r5, r11",
        "orr r4, r4, r12",
        "orr r4, r4, lr",
        "b 10b",
    )
}
