//! The dot product without special instructions, and the oracle of the other kernels: one product after the other, in the
//! order in which the platform keeps the query.

use super::BY_WORDS;
use crate::hint::keep_small;

/// Computes Σ h·odd + 256·Σ a·even over the whole words that both have.
#[cfg_attr(not(zhat_dsp), inline)]
#[cfg_attr(zhat_dsp, inline(never), cold)] // there it serves slices that are not aligned
pub fn dot(row: &[i16], query: &[i16]) -> i32 {
    if !BY_WORDS {
        let (odd, even) = query.split_at(query.len() / 2);
        return halves(row, odd, even);
    }
    let mut sums = Sums::default();
    if let Some((rows, queries)) = words(row, query) {
        for (row, [odd, even]) in rows.iter().zip(queries) {
            keep_small();
            sums.add(*row as i16, *odd as i16, *even as i16);
            sums.add((row >> 16) as i16, (odd >> 16) as i16, (even >> 16) as i16);
        }
        return sums.finish();
    }
    for (row, query) in row.as_chunks::<2>().0.iter().zip(query.as_chunks::<4>().0) {
        // One word after the other: the compiler would mix more of them than it has registers for.
        keep_small();
        sums.add(row[0], query[0], query[2]);
        sums.add(row[1], query[1], query[3]);
    }
    sums.finish()
}

/// Computes the dot product for odd and even values in separate slices.
#[inline]
pub fn halves(row: &[i16], odd: &[i16], even: &[i16]) -> i32 {
    let mut sums = Sums::default();
    row.iter().zip(odd).zip(even).for_each(|((&pair, &odd), &even)| sums.add(pair, odd, even));
    sums.finish()
}

/// Casts row and query to words for processors that take two instructions to load half a word, ARMv6-M; `None`
/// elsewhere.
#[inline]
fn words<'a>(row: &'a [i16], query: &'a [i16]) -> Option<(&'a [u32], &'a [[u32; 2]])> {
    if cfg!(all(target_arch = "arm", not(target_has_atomic = "32"))) {
        Some((bytemuck::try_cast_slice(row).ok()?, bytemuck::try_cast_slice(query).ok()?))
    } else {
        None
    }
}

#[derive(Default)]
struct Sums {
    whole: i32,
    low: i32,
}

impl Sums {
    #[inline]
    fn add(&mut self, pair: i16, odd: i16, even: i16) {
        self.whole = self.whole.wrapping_add(i32::from(pair) * i32::from(odd));
        self.low = self.low.wrapping_add(i32::from(pair as i8) * i32::from(even));
    }

    fn finish(self) -> i32 {
        self.whole.wrapping_add(self.low << 8)
    }
}
