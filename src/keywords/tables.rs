//! The window and the mel bands, computed by the compiler: the same bits on every platform, in flash.

use super::features::{BANDS, FFT, FRAME};

/// Bins of the spectrum, from 0 to the highest frequency.
pub const BINS: usize = FFT / 2 + 1;

/// The least and the highest frequency of the bands, in Hz.
const LOWEST: f64 = 60.0;
const HIGHEST: f64 = 7600.0;
/// Hz where the mel scale turns from linear to logarithmic: mel(f) = 2595·log₁₀(1 + f/700).
const KNEE: f64 = 700.0;

/// A Hann window that is zero at both ends, and brings samples of i16 to ±1.
pub static WINDOW: [f32; FRAME] = window();

/// How far each bin is on the way from the corner of the bands below it to the one above.
pub static RISE: [f32; BINS] = rise();

/// The first bin at or above each corner: band b rises from corner b to b + 1 and falls to b + 2.
pub static CORNERS: [u16; BANDS + 2] = first_bins();

const fn window() -> [f32; FRAME] {
    let mut table = [0.0; FRAME];
    let mut i = 0;
    while i < FRAME {
        let angle = 2.0 * core::f64::consts::PI * i as f64 / (FRAME - 1) as f64;
        table[i] = ((0.5 - 0.5 * cos(angle)) / 32_768.0) as f32;
        i += 1;
    }
    table
}

/// The corners in Hz: equally far from each other in mel, so that f + 700 grows by the same factor from each to the next.
const fn corners() -> [f64; BANDS + 2] {
    let factor = root((HIGHEST + KNEE) / (LOWEST + KNEE), (BANDS + 1) as u32);
    let mut corners = [0.0; BANDS + 2];
    let (mut i, mut shifted) = (0, LOWEST + KNEE);
    while i < corners.len() {
        corners[i] = shifted - KNEE;
        shifted *= factor;
        i += 1;
    }
    corners
}

const fn frequency(bin: usize) -> f64 {
    bin as f64 * super::SAMPLE_RATE as f64 / FFT as f64
}

const fn first_bins() -> [u16; BANDS + 2] {
    let corners = corners();
    let mut bins = [0; BANDS + 2];
    let (mut corner, mut bin) = (0, 0);
    while corner < bins.len() {
        while frequency(bin) < corners[corner] {
            bin += 1;
        }
        bins[corner] = bin as u16;
        corner += 1;
    }
    bins
}

const fn rise() -> [f32; BINS] {
    let (corners, first) = (corners(), first_bins());
    let mut rise = [0.0; BINS];
    let mut corner = 0;
    while corner + 1 < corners.len() {
        let mut bin = first[corner] as usize;
        while bin < first[corner + 1] as usize {
            rise[bin] = ((frequency(bin) - corners[corner]) / (corners[corner + 1] - corners[corner])) as f32;
            bin += 1;
        }
        corner += 1;
    }
    rise
}

/// The cosine of an angle from 0 to 2π, by its series about π: −Σ (−1)ᵏ·y²ᵏ/(2k)!.
const fn cos(angle: f64) -> f64 {
    let y = angle - core::f64::consts::PI;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1);
    while k <= 16 {
        term *= -y * y / ((2 * k - 1) * (2 * k)) as f64;
        sum += term;
        k += 1;
    }
    -sum
}

/// The n-th root of a number above 1, by Newton's method from above.
const fn root(x: f64, n: u32) -> f64 {
    let (mut root, mut step) = (1.0 + (x - 1.0) / n as f64, 0);
    while step < 64 {
        let (mut power, mut i) = (1.0, 1);
        while i < n {
            power *= root;
            i += 1;
        }
        root -= (root * power - x) / (n as f64 * power);
        step += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_those_of_the_library() {
        for i in 0..=628 {
            let angle = f64::from(i) / 100.0;
            assert!((cos(angle) - libm::cos(angle)).abs() < 1e-14);
        }
        assert!((root(1000.0, 3) - 10.0).abs() < 1e-14);
        let mel = |f: f64| 2595.0 * (1.0 + f / 700.0).log10();
        for (i, corner) in corners().into_iter().enumerate() {
            let expected = mel(LOWEST) + (mel(HIGHEST) - mel(LOWEST)) * i as f64 / (BANDS + 1) as f64;
            assert!((mel(corner) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn every_band_has_a_bin() {
        assert!(CORNERS.is_sorted() && usize::from(CORNERS[BANDS + 1]) < BINS);
        assert!(CORNERS.windows(3).all(|corners| corners[0] < corners[2]));
    }
}
