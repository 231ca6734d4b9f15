//! Dot products with AVX2: sixteen pairs of columns at a time, as they are stored, multiplied and added by VPMADDWD.
//!
//! A pair shifted left by eight is 256·a: all sums are already 256 times those of the weights, and there is nothing to
//! widen. Four rows share every load of the query. Detected at run time, so one binary serves all x86-64 hosts.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

const LANES: usize = 16;

/// Computes the dot product; `None` if this processor has no AVX2.
pub fn dot(row: &[i16], query: &[i16]) -> Option<i32> {
    // SAFETY: AVX2 was found.
    is_x86_feature_detected!("avx2").then(|| unsafe { dots([row], query)[0] })
}

/// Computes the dot products of consecutive rows, four at a time, if this processor has AVX2. Returns the number of
/// rows done.
pub fn dot_rows(rows: &[i16], query: &[i16], dots: &mut [i32]) -> usize {
    let pairs = query.len() / 2;
    if !is_x86_feature_detected!("avx2") || pairs == 0 {
        return 0;
    }
    let mut done = 0;
    for (four, place) in rows.chunks_exact(4 * pairs).zip(dots.as_chunks_mut().0) {
        let rows = core::array::from_fn(|i| &four[i * pairs..][..pairs]);
        // SAFETY: AVX2 was found.
        *place = unsafe { self::dots::<4>(rows, query) };
        done += 4;
    }
    done
}

#[target_feature(enable = "avx2")]
fn dots<const R: usize>(rows: [&[i16]; R], query: &[i16]) -> [i32; R] {
    let (odd, even) = query.split_at(query.len() / 2);
    let pairs = rows.iter().fold(odd.len(), |least, row| least.min(row.len()));
    let mut sums = [_mm256_setzero_si256(); R];
    let blocks = pairs / LANES;
    for block in 0..blocks {
        let at = block * LANES;
        // SAFETY: at + LANES ≤ pairs ≤ the length of every row and of both halves of the query; unaligned loads.
        let [odd, even] = [odd, even].map(|half| unsafe { _mm256_loadu_si256(half.as_ptr().add(at).cast()) });
        for (sum, row) in sums.iter_mut().zip(rows) {
            // SAFETY: as above.
            let row = unsafe { _mm256_loadu_si256(row.as_ptr().add(at).cast()) };
            let low = _mm256_slli_epi16::<8>(row);
            let both = _mm256_add_epi32(_mm256_madd_epi16(row, odd), _mm256_madd_epi16(low, even));
            *sum = _mm256_add_epi32(*sum, both);
        }
    }
    let at = blocks * LANES;
    core::array::from_fn(|r| {
        let mut lanes = [0i32; 8];
        // SAFETY: `lanes` holds 32 bytes; an unaligned store.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums[r]) };
        let sum = lanes.iter().fold(0i32, |sum, &lane| sum.wrapping_add(lane));
        sum.wrapping_add(super::portable::halves(&rows[r][at..pairs], &odd[at..pairs], &even[at..pairs]))
    })
}
