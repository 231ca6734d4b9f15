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

/// Holds what all calls for one table and one query share: checked once, with the fields in the order in which the
/// assembly loads them.
#[repr(C)]
pub struct Frame<'a> {
    /// Never null, so that an `Option` of a frame takes no more room than a frame.
    query: NonNull<i16>,
    /// The number of rounds of the loop of [`PARTS`] parts of four columns.
    rounds: usize,
    /// The number of bits by which scales are shifted left.
    up: u32,
    unit: i32,
    /// The distance from the scales to the biases, in bytes.
    to_biases: usize,
    /// The bytes of code that the first round skips: of three rows, and of one.
    skipped_of_three: usize,
    skipped_of_one: usize,
    table: *const i16,
    stride: usize,
    rows: usize,
    /// Null if dot products are wanted, not scores.
    scales: *const u16,
    borrowed: PhantomData<&'a [i16]>,
}

/// Turns dot products into scores: a scale for each row, shifted left by `up` bits, and a bias for each, in units of
/// `unit`.
pub struct Scaling<'a> {
    pub scales: &'a [u16],
    pub biases: &'a [i16],
    pub up: u32,
    pub unit: i16,
}

/// The number of parts of four columns in a round of the loop.
const PARTS: usize = 8;
/// The bytes of code for four columns: of three rows, and of one.
const THREE: usize = 56;
const ONE: usize = 24;

impl<'a> Frame<'a> {
    /// Prepares a table and a query. `None` unless both are whole words on word boundaries, and each row has a scale
    /// and a bias.
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

    /// Returns the number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Fills the places with the results of the rows from `first` on. Returns false and does nothing if there are fewer
    /// rows.
    #[inline]
    pub fn of_rows(&self, first: usize, places: &mut [i32]) -> bool {
        let ends = places.as_mut_ptr_range();
        // SAFETY: the table has a row for each place; the frame was checked when it was made, and borrows what it points to.
        self.rows.checked_sub(first).is_some_and(|left| places.len() <= left)
            && unsafe { dot_each(self, first << 1 | 1, ends.start, ends.end) }
    }

    /// Fills the places with the dot products, not the scores, of the rows whose indices are in `picked`. Returns false
    /// if a row is not in the table; places may then hold anything.
    #[inline]
    pub fn of_picked(&self, picked: &[u32], places: &mut [i32]) -> bool {
        let (count, start) = (places.len().min(picked.len()), places.as_mut_ptr());
        // SAFETY: there is a number for each place up to the end; the rest as above.
        unsafe { dot_each(self, picked.as_ptr().addr(), start, start.wrapping_add(count)) }
    }
}

/// Multiplies the word of a row in `$word` with the query's odd values in r8 and its even ones in r9, and adds the
/// products to `$sum`.
macro_rules! four_columns {
    ($word:literal, $sum:literal) => {
        concat!(
            concat!("smlad ", $sum, ", ", $word, ", r8, ", $sum, "\n and ", $word, ", r7, ", $word, ", lsl #8\n"),
            concat!("smlad ", $sum, ", ", $word, ", r9, ", $sum, "\n"),
        )
    };
}

/// Adds the products of four columns of the row at r0, and of those r1 and r2 bytes behind it, to r4, r5 and r6: 56
/// bytes.
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

/// Adds the products of four columns of the row at r0 to r4: 24 bytes.
macro_rules! four_columns_of_one {
    () => {
        concat!("ldr.w r9, [r3, #4]\n ldr.w r8, [r3], #8\n ldr.w r10, [r0], #4\n", four_columns!("r10", "r4"))
    };
}

/// Fills the places, three rows at a time and then one by one. Returns false if an index is not below the number of
/// rows; places may then hold anything.
///
/// If the lowest bit of `which` is one, its upper 31 bits are the index of the first of consecutive rows, which give
/// scores, or dot products if the frame has no scales. Otherwise `which` is the address of the indices of picked rows,
/// which give dot products.
///
/// The loops use all registers, so the stack holds what carries over from one group of rows to the next: +0 the next
/// place, +4 its scale (zero: none), +8 the place from which on fewer than three are left (zero: rows are picked), +12
/// to +28 the first five fields of the frame, +32 and +36 the code addresses where three rows and one begin, +40 the
/// end of the places, +44 the frame, +48 the distance from a place to its row's index (zero: none are picked). Where
/// the parts of a loop do not divide those of a row, its first round begins in the middle.
///
/// # Safety
/// The frame must come from [`Frame::new`], and its borrows must be alive. For each place there must be a row from the
/// first on, or an index.
// Each row takes ⌈stride/4⌉ parts of four columns from it and from the query, and one place is written: three rows only
// where three places are left, picked ones only after their indices were compared. Jump addresses are computed from
// labels with the Thumb bit set. Restores the registers that a callee must preserve, and the stack.
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
        // From indices of rows to their addresses.
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
