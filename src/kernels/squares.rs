//! The validation of a row when a model is opened: the sum of the squares of its weights, and a test that each is a
//! valid weight.
#![cfg_attr(zhat_dsp, allow(unsafe_code))]

use crate::hint::keep_small;

/// Returns the sum of the squares of the weights of whole words; `None` if one of them is −128, which is no valid
/// weight.
#[inline]
pub fn squares(row: &[i16]) -> Option<u32> {
    #[cfg(zhat_dsp)]
    if row.as_ptr().addr().is_multiple_of(4) && !row.is_empty() && row.len().is_multiple_of(2) {
        // SAFETY: whole words, one or more, on words.
        return unsafe { with_dsp(row) };
    }
    portable(row)
}

/// Computes the sum one weight at a time: the oracle of the DSP version.
#[cfg_attr(zhat_dsp, inline(never), cold)]
pub(super) fn portable(row: &[i16]) -> Option<u32> {
    let (mut sum, mut least) = (0, 0);
    for &pair in row {
        keep_small();
        let [even, odd] = super::weights(pair).map(i32::from);
        sum += even * even + odd * odd;
        least = least.min(even).min(odd);
    }
    (least > -128).then_some(sum as u32)
}

/// Adds the squares of the four weights of a word and checks them. The even weights, then the odd ones, are widened to
/// 16 bits, squared and added by SMLAD; adding 127 to each must not give a negative number. 9 instructions for 4
/// weights.
#[cfg(zhat_dsp)]
macro_rules! four_weights {
    ($word:literal) => {
        concat!(
            concat!("sxtb16 {even}, ", $word, "\n ssub16 ", $word, ", ", $word, ", {even}\n"),
            "smlad {sum}, {even}, {even}, {sum}\n sadd16 {even}, {even}, {most}\n orr {signs}, {signs}, {even}\n",
            concat!("sxtb16 ", $word, ", ", $word, ", ror #8\n smlad {sum}, ", $word, ", ", $word, ", {sum}\n"),
            concat!("sadd16 ", $word, ", ", $word, ", {most}\n orr {signs}, {signs}, ", $word, "\n"),
        )
    };
}

/// Computes the sum with DSP instructions.
///
/// # Safety
/// The row must be whole words, at least one, and start on a word boundary.
#[cfg(zhat_dsp)]
#[inline(never)]
unsafe fn with_dsp(row: &[i16]) -> Option<u32> {
    let (sum, signs): (u32, u32);
    // SAFETY: reads the words from the start of the row to its end: one if they are odd, then two by two.
    unsafe {
        core::arch::asm!(
            "sub {first}, {end}, {at}",
            "tst {first}, #4",
            "beq 2f",
            "ldr {first}, [{at}], #4",
            four_weights!("{first}"),
            "b 3f",
            "2:",
            "ldrd {first}, {second}, [{at}], #8",
            four_weights!("{first}"),
            four_weights!("{second}"),
            "3:",
            "cmp {at}, {end}",
            "bne 2b",
            at = inout(reg) row.as_ptr() => _,
            end = in(reg) row.as_ptr_range().end,
            most = in(reg) 0x007f_007f,
            sum = inout(reg) 0 => sum,
            signs = inout(reg) 0 => signs,
            first = out(reg) _,
            second = out(reg) _,
            even = out(reg) _,
            options(nostack, readonly),
        );
    }
    (signs & 0x8000_8000 == 0).then_some(sum)
}
