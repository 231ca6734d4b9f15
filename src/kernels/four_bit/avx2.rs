//! 4-bit dot products with AVX2: a block of 64 columns at a time, four groups in lanes two by two.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::{BLOCK, WORD, before, row_len};

/// The words of a block, with its scales.
const WORDS: usize = 1 + BLOCK / WORD;
/// The number of rows that share the preparation of a block of the query.
const TOGETHER: usize = 4;

/// Computes the dot products of these rows, one for each place; zero for a row that is too short. Returns false and
/// does nothing if this processor does not have AVX2.
pub fn dots<'a>(rows: impl Iterator<Item = &'a [i16]>, query: &[i16], dots: &mut [i32]) -> bool {
    if !is_x86_feature_detected!("avx2") || !query.len().is_multiple_of(4) {
        return false;
    }
    let mut rows = rows.zip(dots);
    loop {
        let mut none = 0;
        let mut four: [(&[i16], Option<&mut i32>); TOGETHER] = core::array::from_fn(|_| match rows.next() {
            Some((row, place)) => (row, Some(place)),
            None => (&[][..], None),
        });
        // SAFETY: AVX2 was found.
        let sums = unsafe { together(core::array::from_fn(|i| four[i].0), query) };
        for ((_, place), sum) in four.iter_mut().zip(sums) {
            match place {
                Some(place) => **place = sum,
                None => none += 1,
            }
        }
        if none > 0 {
            return true;
        }
    }
}

#[target_feature(enable = "avx2")]
fn together(rows: [&[i16]; TOGETHER], query: &[i16]) -> [i32; TOGETHER] {
    let stride = query.len();
    let (odd, even) = query.split_at(stride / 2);
    let front = before(stride);
    let rows = rows.map(|row| if row.len() < row_len(stride) { &[][..] } else { row });
    let mut totals = [_mm256_setzero_si256(); TOGETHER];
    for block in 0..stride.div_ceil(BLOCK) {
        // The values and words of the block, with zeros in front of the first column.
        let mut values = [[0i16; BLOCK / 2]; 2];
        let (from, missing) = (block * BLOCK, if block == 0 { front } else { 0 });
        for (values, half) in values.iter_mut().zip([odd, even]) {
            let start = (from + missing - front) / 2;
            values[missing / 2..].copy_from_slice(&half[start..start + (BLOCK - missing) / 2]);
        }
        let [first, third] = apart(&values[0]);
        let [second, fourth] = apart(&values[1]);
        let factors = [first, second, third, fourth];
        let absent = front / WORD;
        for (total, row) in totals.iter_mut().zip(rows) {
            if row.is_empty() {
                continue;
            }
            let mut words = [[0i16; 2]; WORDS];
            let skipped = missing / WORD;
            let start = if block == 0 { 0 } else { block * WORDS - absent };
            let own = row[2 * start..][..2 * (WORDS - skipped)].as_chunks().0;
            words[0] = own[0];
            words[1 + skipped..].copy_from_slice(&own[1..]);
            *total = _mm256_add_epi32(*total, of_block(&words, factors));
        }
    }
    totals.map(|total| {
        let mut lanes = [0i32; 8];
        // SAFETY: `lanes` holds 32 bytes; an unaligned store.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), total) };
        lanes.iter().fold(0i32, |sum, &lane| sum.wrapping_add(lane))
    })
}

/// Splits the words of half a block of the query into those at even places and those at odd ones, each in order.
#[target_feature(enable = "avx2")]
fn apart(values: &[i16; BLOCK / 2]) -> [__m256i; 2] {
    let start = values.as_ptr();
    // SAFETY: 32 values are 64 bytes; unaligned loads.
    let [low, high] = unsafe { [_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(16).cast())] };
    let [low, high] = [low, high].map(|half| _mm256_castsi256_ps(half));
    let even = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
    let odd = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
    [even, odd].map(|mixed| _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed))
}

/// Multiplies the sum of each group with its scale, in the lanes 0, 2, 4 and 6.
#[target_feature(enable = "avx2")]
fn of_block(words: &[[i16; 2]; WORDS], factors: [__m256i; 4]) -> __m256i {
    let mask = _mm256_set1_epi32(0xf000_f000_u32 as i32);
    // SAFETY: nine words, of which eight are loaded; an unaligned load.
    let mut numbers = unsafe { _mm256_loadu_si256(words.as_ptr().add(1).cast()) };
    let mut sums = _mm256_setzero_si256();
    for factor in factors {
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_and_si256(numbers, mask), factor));
        numbers = _mm256_slli_epi32::<4>(numbers);
    }
    let sums = _mm256_srai_epi32::<4>(_mm256_add_epi32(sums, _mm256_shuffle_epi32::<0b10_11_00_01>(sums)));
    // A lane that is shifted by 32 has the scale zero.
    let shifts = _mm256_setr_epi32(16, 32, 20, 32, 24, 32, 28, 32);
    let scales = _mm256_sllv_epi32(_mm256_set1_epi32(super::to_word(words[0]) as i32), shifts);
    _mm256_mullo_epi32(sums, _mm256_srai_epi32::<28>(scales))
}
