//! Dot products with AVX2: sixteen columns widened by VPMOVSXBW, multiplied and paired by VPMADDWD.
//!
//! Four rows share every load of the query. Found at run time, so one binary serves all x86-64 hosts.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

const LANES: usize = 16;

/// The dot product, if this processor has AVX2.
pub fn dot(row: &[i8], query: &[i16]) -> Option<i32> {
    // SAFETY: AVX2 was found.
    is_x86_feature_detected!("avx2").then(|| unsafe { dots([row], query)[0] })
}

/// Two dot products, if this processor has AVX2.
pub fn dot_pair(rows: [&[i8]; 2], query: &[i16]) -> Option<[i32; 2]> {
    // SAFETY: AVX2 was found.
    is_x86_feature_detected!("avx2").then(|| unsafe { dots(rows, query) })
}

/// The dot products of consecutive rows, four by four, if this processor has AVX2. Returns how many were done.
pub fn dot_rows(rows: &[i8], query: &[i16], dots: &mut [i32]) -> usize {
    if !is_x86_feature_detected!("avx2") || query.is_empty() {
        return 0;
    }
    let stride = query.len();
    let mut done = 0;
    for (four, place) in rows.chunks_exact(4 * stride).zip(dots.as_chunks_mut().0) {
        let rows = core::array::from_fn(|i| &four[i * stride..][..stride]);
        // SAFETY: AVX2 was found.
        *place = unsafe { self::dots::<4>(rows, query) };
        done += 4;
    }
    done
}

#[target_feature(enable = "avx2")]
fn dots<const R: usize>(rows: [&[i8]; R], query: &[i16]) -> [i32; R] {
    let columns = rows.iter().fold(query.len(), |least, row| least.min(row.len()));
    let mut sums = [_mm256_setzero_si256(); R];
    let blocks = columns / LANES;
    for block in 0..blocks {
        let at = block * LANES;
        // SAFETY: at + LANES ≤ columns ≤ the length of the query and of every row; unaligned loads.
        let q = unsafe { _mm256_loadu_si256(query.as_ptr().add(at).cast()) };
        for (sum, row) in sums.iter_mut().zip(rows) {
            // SAFETY: as above.
            let bytes = unsafe { _mm_loadu_si128(row.as_ptr().add(at).cast()) };
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), q));
        }
    }
    let at = blocks * LANES;
    core::array::from_fn(|r| {
        let mut lanes = [0i32; 8];
        // SAFETY: `lanes` holds 32 bytes; an unaligned store.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums[r]) };
        let rest = super::portable::dot(&rows[r][at..columns], &query[at..columns]);
        lanes.iter().fold(rest, |sum, &lane| sum.wrapping_add(lane))
    })
}
