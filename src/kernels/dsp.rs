//! Dot products and scores with the DSP extension of ARMv7E-M and ARMv8-M.
//!
//! SMLAD multiplies and adds two 16-bit pairs: a word of a row as it is, and once more with the low byte of each half in the
//! place of the high one (AND of the word moved up by eight: 256·a). Three rows share every load of the query: for four columns
//! five LDR that overlap and nine other instructions, 15 cycles for 12 multiply-accumulates, 6 for the loop each 64 columns, and
//! 46 for three scores and what the next three rows begin with. Registers are at their limit: a fourth row would need two more.
//! Rows that are left over go one by one, at 7 cycles for four columns.
#![allow(unsafe_code)]

use core::arch::naked_asm;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::math::LogSum;
use crate::tree::Spread;

/// What all calls for one table and one query have in common: checked once, and in the order in which the code takes it.
#[repr(C)]
pub struct Frame<'a> {
    /// Never null, so that no frame takes no more room than one.
    query: NonNull<i16>,
    /// Rounds of a loop of [`PARTS`] parts of four columns.
    rounds: usize,
    /// The scale is moved up by so many bits.
    up: u32,
    unit: i32,
    /// From the scales to the biases, in bytes.
    to_biases: usize,
    /// Bytes of code that the first round leaves out: of three rows, and of one.
    skipped_of_three: usize,
    skipped_of_one: usize,
    table: *const i16,
    stride: usize,
    rows: usize,
    /// Null if dot products are wanted as they are.
    scales: *const u16,
    borrowed: PhantomData<&'a [i16]>,
}

/// What makes scores of dot products: a scale for each row, which is moved `up`, and a bias for each, in a unit.
pub struct Scaling<'a> {
    pub scales: &'a [u16],
    pub biases: &'a [i16],
    pub up: u32,
    pub unit: i16,
}

/// Parts of four columns in a loop.
const PARTS: usize = 8;
/// Bytes of code of four columns: of three rows, and of one.
const THREE: usize = 56;
const ONE: usize = 24;

impl<'a> Frame<'a> {
    /// `None` if something is not as the code needs it: whole words, on words, and a scale and a bias for each row.
    #[inline]
    pub fn new(table: &'a [i16], query: &'a [i16], scaling: Option<Scaling<'a>>) -> Option<Self> {
        let stride = query.len();
        let rows = table.len().checked_div(stride / 2)?;
        if !(stride | table.as_ptr().addr() | query.as_ptr().addr()).is_multiple_of(4) {
            return None;
        }
        let (mut scales, mut biases, mut up, mut unit) = (core::ptr::null(), 0, 0, 0);
        if let Some(scaling) = scaling {
            if scaling.scales.len() < rows || scaling.biases.len() < rows {
                return None;
            }
            (scales, biases) = (scaling.scales.as_ptr(), scaling.biases.as_ptr().addr());
            (up, unit) = (scaling.up, scaling.unit.into());
        }
        let skipped = (stride / 4).wrapping_neg() % PARTS;
        Some(Self {
            query: NonNull::from(query).cast(),
            rounds: stride.div_ceil(4 * PARTS),
            up,
            unit,
            to_biases: biases.wrapping_sub(scales.addr()),
            skipped_of_three: skipped * THREE,
            skipped_of_one: skipped * ONE,
            table: table.as_ptr(),
            stride,
            rows,
            scales,
            borrowed: PhantomData,
        })
    }

    /// Whether it makes scores of the dot products of consecutive rows.
    #[inline]
    pub fn has_scales(&self) -> bool {
        !self.scales.is_null()
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Fills the places for the rows from `first` on; false, and nothing done, if there are fewer.
    #[inline]
    pub fn of_rows(&self, first: usize, places: &mut [i32]) -> bool {
        let ends = places.as_mut_ptr_range();
        // SAFETY: the table has a row for each place; the frame was checked when it was made, and borrows what it points to.
        self.rows.checked_sub(first).is_some_and(|left| places.len() <= left)
            && unsafe { dot_each(self, first << 1 | 1, ends.start, ends.end) }
    }

    /// Fills the places with the dot products, not the scores, of the rows with these numbers. False if a row is not in the table:
    /// places may then hold anything.
    #[inline]
    pub fn of_picked(&self, picked: &[u32], places: &mut [i32]) -> bool {
        let (count, start) = (places.len().min(picked.len()), places.as_mut_ptr());
        // SAFETY: there is a number for each place up to the end; the rest as above.
        unsafe { dot_each(self, picked.as_ptr().addr(), start, start.wrapping_add(count)) }
    }
}

/// The word of a row in `$word`, times the query's odd values in r8 and its even ones in r9, added to `$sum`.
macro_rules! four_columns {
    ($word:literal, $sum:literal) => {
        concat!(
            concat!("smlad ", $sum, ", ", $word, ", r8, ", $sum, "\n and ", $word, ", r7, ", $word, ", lsl #8\n"),
            concat!("smlad ", $sum, ", ", $word, ", r9, ", $sum, "\n"),
        )
    };
}

/// Four columns of the row at r0 and of those that are r1 and r2 bytes behind it, added to r4, r5 and r6: 56 bytes.
macro_rules! four_columns_of_three {
    () => {
        concat!(
            "ldr.w r9, [r3, #4]\n ldr.w r8, [r3], #8\n ldr.w r11, [r0, r1]\n ldr.w r12, [r0, r2]\n ldr.w r10, [r0], #4\n",
            four_columns!("r10", "r4"),
            four_columns!("r11", "r5"),
            four_columns!("r12", "r6"),
        )
    };
}

/// Four columns of the row at r0, added to r4: 24 bytes.
macro_rules! four_columns_of_one {
    () => {
        concat!("ldr.w r9, [r3, #4]\n ldr.w r8, [r3], #8\n ldr.w r10, [r0], #4\n", four_columns!("r10", "r4"))
    };
}

/// Fills the places: of rows from one on, whose number is the upper 31 bits of `which` if the lowest is one, with scores, or with dot
/// products where the frame has no scales; or of the rows whose numbers are at the address `which`, with dot products. Three rows by
/// three, then one by one. False if a number is not below the number of rows: places may then hold anything.
///
/// No register is left in the loops, so the stack has what goes on from one group of rows to the next: +0 the next place, +4 its scale
/// (zero: none), +8 the place from which on there are fewer than three (zero: rows are picked), +12 to +28 the first five fields of
/// the frame, +32 and +36 where three rows and one begin, +40 the end of the places, +44 the frame, +48 from a place to its row's number
/// (zero: none are picked). Where the parts of a loop do not divide those of a row, its first round begins in the middle.
///
/// # Safety
/// The frame is one that [`Frame::new`] made, of things that are still there. For each place there is a row from the first on, or a
/// number.
// Each row takes ⌈stride/4⌉ parts of four columns from it and from the query, and one place is written: three rows only where three
// places are left, picked ones only after their numbers were compared. Places to jump to are computed from labels with the bit
// that says Thumb. Registers that a caller keeps are restored; the stack is as before at the end.
#[unsafe(naked)]
unsafe extern "C" fn dot_each(frame: &Frame<'_>, which: usize, place: *mut i32, end: *mut i32) -> bool {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "ldm r0, {{r4, r5, r6, r7, r8}}",
        "ldrd r9, r10, [r0, #20]",
        "adr.w r11, 30f + 1",
        "add r9, r9, r11",
        "adr.w r11, 20f + 1",
        "add r10, r10, r11",
        "mov r11, r3",
        "mov r12, r0",
        "lsrs r3, r1, #1",
        "ite cc",
        "subcc.w lr, r1, r2",
        "movcs.w lr, #0",
        "push {{r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}}",
        "mov r8, r2",
        "mov.w r7, #0xff00ff00",
        "bcc 72f",
        "ldr r6, [r12, #28]",
        "ldr r1, [r12, #32]",
        "ldr r4, [r12, #40]",
        "sub.w r5, r11, #8",
        "mla r0, r3, r1, r6",
        "cmp r4, #0",
        "it ne",
        "addne.w r4, r4, r3, lsl #1",
        "push {{r2, r4, r5}}",
        "lsl.w r2, r1, #1",
        "cmp r8, r5",
        "bhs 60f",
        "48:",
        "ldr r3, [sp, #12]",
        "ldr lr, [sp, #16]",
        "ldr r11, [sp, #32]",
        "b 50f",
        // Three rows.
        ".p2align 2",
        "30:",
        four_columns_of_three!(),
        four_columns_of_three!(),
        four_columns_of_three!(),
        four_columns_of_three!(),
        four_columns_of_three!(),
        four_columns_of_three!(),
        four_columns_of_three!(),
        four_columns_of_three!(),
        "subs lr, lr, #1",
        "bne 30b",
        "ldr r7, [sp, #4]",
        "ldr r8, [sp]",
        "ldr r3, [sp, #20]",
        "ldr r9, [sp, #24]",
        "ldr r10, [sp, #28]",
        "cbz r7, 46f",
        "ldrh r11, [r7, #2]",
        "ldrh r12, [r7, #4]",
        "ldrh lr, [r7], #6",
        "add r10, r10, r7",
        "lsl r11, r11, r3",
        "lsl r12, r12, r3",
        "lsl lr, lr, r3",
        "str r7, [sp, #4]",
        "smmul r4, r4, lr",
        "smmul r5, r5, r11",
        "smmul r6, r6, r12",
        "ldrh lr, [r10, #-6]",
        "ldrh r11, [r10, #-4]",
        "ldrh r12, [r10, #-2]",
        "ldr r7, [sp, #8]",
        "smlabb r4, lr, r9, r4",
        "smlabb r5, r11, r9, r5",
        "smlabb r6, r12, r9, r6",
        "45:",
        "stm r8!, {{r4, r5, r6}}",
        "str r8, [sp]",
        "ldr r3, [sp, #12]",
        "ldr lr, [sp, #16]",
        "ldr r11, [sp, #32]",
        "cmp r8, r7",
        "mov.w r7, #0xff00ff00",
        "add.w r0, r0, r2",
        "bhs 60f",
        "50:",
        "movs r4, #0",
        "movs r5, #0",
        "movs r6, #0",
        "bx r11",
        "46:",
        "ldr r7, [sp, #8]",
        "b 45b",
        // One row.
        ".p2align 2",
        "20:",
        four_columns_of_one!(),
        four_columns_of_one!(),
        four_columns_of_one!(),
        four_columns_of_one!(),
        four_columns_of_one!(),
        four_columns_of_one!(),
        four_columns_of_one!(),
        four_columns_of_one!(),
        "subs lr, lr, #1",
        "bne 20b",
        "ldr r7, [sp, #4]",
        "ldr r8, [sp]",
        "ldr r3, [sp, #20]",
        "ldr r9, [sp, #24]",
        "ldr r10, [sp, #28]",
        "cbz r7, 22f",
        "ldrh r12, [r7, r10]",
        "ldrh lr, [r7], #2",
        "str r7, [sp, #4]",
        "lsl lr, lr, r3",
        "smmul r4, r4, lr",
        "smlabb r4, r12, r9, r4",
        "22:",
        "mov.w r7, #0xff00ff00",
        "str r4, [r8], #4",
        "str r8, [sp]",
        "60:",
        "ldr r9, [sp, #40]",
        "ldr r10, [sp, #48]",
        "subs r9, r9, r8",
        "beq 90f",
        "cmp r10, #0",
        "bne 70f",
        "61:",
        "ldr r3, [sp, #12]",
        "ldr lr, [sp, #16]",
        "movs r4, #0",
        "ldr pc, [sp, #36]",
        // Numbers of rows to their addresses.
        "72:",
        "movs r4, #0",
        "movs r5, #0",
        "push {{r2, r4, r5}}",
        "b 60b",
        "70:",
        "ldr r11, [sp, #44]",
        "ldr r0, [r10, r8]",
        "ldr r12, [r11, #32]",
        "ldr r4, [r11, #36]",
        "ldr r11, [r11, #28]",
        "cmp r9, #12",
        "bhs 71f",
        "cmp r0, r4",
        "bhs 91f",
        "mla r0, r0, r12, r11",
        "b 61b",
        "71:",
        "add r10, r10, r8",
        "ldrd r1, r2, [r10, #4]",
        "cmp r0, r4",
        "it lo",
        "cmplo r1, r4",
        "it lo",
        "cmplo r2, r4",
        "bhs 91f",
        "subs r1, r1, r0",
        "subs r2, r2, r0",
        "mla r0, r0, r12, r11",
        "mul r1, r1, r12",
        "mul r2, r2, r12",
        "b 48b",
        "91:",
        "movs r0, #0",
        "b 92f",
        "90:",
        "movs r0, #1",
        "92:",
        "add sp, sp, #52",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
    )
}

/// The numbers that a power of a fraction is made with, see `math::exp2`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PowerTable {
    pub powers: &'static [u32; 64],
    pub slope: u32,
    pub curve: u32,
}

/// Adds 2^term for all terms, which are no more than the mantissa has room for.
#[inline]
pub fn add_powers(sum: &mut LogSum, terms: &[i32], table: &PowerTable) {
    let ends = terms.as_ptr_range();
    // SAFETY: these are the terms.
    unsafe { add_each(sum, ends.start, ends.end, table) }
}

/// The power of the fraction of the term in `$term`, which is given up, in r12: from 2^31 up to 2^32.
macro_rules! power {
    ($term:literal) => {
        concat!(
            concat!("ubfx r12, ", $term, ", #12, #6\n ubfx ", $term, ", ", $term, ", #0, #12\n"),
            concat!("ldr r12, [r7, r12, lsl #2]\n mul lr, r9, ", $term, "\n add lr, r8, lr, lsr #16\n"),
            concat!("mul lr, lr, ", $term, "\n umull ", $term, ", lr, r12, lr\n add r12, r12, lr, lsr #6\n"),
        )
    };
}

/// Adds the term in `$term`; where it is further below than the weight has bits, at `$far`.
macro_rules! add_term {
    ($term:literal, $far:literal) => {
        concat!(
            concat!("sub r11, r6, ", $term, ", asr #18\n cmp r11, #25\n bhi ", $far, "\n"),
            power!($term),
            "lsr r11, r10, r11\n umlal r4, r5, r12, r11\n",
        )
    };
}

/// The same for a term that is far below: nothing if it is too far. Where it is above the exponent of the sum, at `$above`; goes on at
/// `$next`.
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
/// Two by two, so that their loads overlap: 18.5 cycles a term. All registers are in use: terms in r0 and r3, the sum in r4, r5 and r6.
///
/// # Safety
/// From the first term up to their end are terms.
// Reads the terms, and a table that has an entry for all six bits; writes the sum. Registers that a caller keeps are restored.
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

/// Makes the words of a family of nodes, at most 32, of their scores: see [`Tree::priorities`](crate::tree::Tree::priorities). Returns
/// the largest.
#[inline]
pub fn priorities(words: &mut [i32], spreads: &[[u16; 3]], gains: &[i16], spread: &Spread) -> i32 {
    if words.is_empty() || spreads.len() < words.len() || gains.len() < words.len() {
        return i32::MIN;
    }
    // SAFETY: there are words, and a spread and a gain for each.
    unsafe { priority_of_each(words.as_mut_ptr(), spreads.as_ptr(), gains.as_ptr(), words.len(), spread) }
}

/// The upper word of the product of r6 or, as `$mantissa` says, of another number with the small float in r9, moved up by
/// `Factor::HEADROOM`, in r9. `$other` is given up.
macro_rules! upper_word {
    ($other:literal, $mantissa:literal) => {
        concat!(
            concat!("lsr ", $other, ", r9, #12\n bfc r9, #12, #20\n lsl r9, r9, ", $other, "\n lsl.w r9, r9, #5\n"),
            $mantissa,
        )
    };
}

/// Adds to each score what the spread and the gain of its node add, and puts 31, 30, … into the lowest five bits; returns the largest.
///
/// # Safety
/// There are words, and a spread and a gain for each.
// Reads and writes that many; registers that a caller keeps are restored. `Spread` is laid out as in C: six words.
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
