//! Log-mel frames from samples.
//!
//! ```text
//! P = |FFT(w ∘ x)|²      400 samples each 160, 512 points
//! E_b = Σ_k m_bk·P_k     40 triangles from 60 to 7 600 Hz, equally wide in mel
//! l_b = ln(E_b + 10⁻⁶)
//! ```
//!
//! One real FFT of 512 points, 257 squares and 40 logarithms a frame, all in f32, in a fixed order and without fused
//! operations: the same bits everywhere.

use crate::hint::keep_small;

/// The number of bands of a frame.
pub const BANDS: usize = 40;

/// The number of samples of a frame: 25 ms.
pub(super) const FRAME: usize = 400;
/// The number of points of the transform.
pub(super) const FFT: usize = 512;
/// The number of samples from one frame to the next: 10 ms.
pub const HOP: usize = 160;
/// The constant added to every energy, so that silence has a logarithm.
const FLOOR: f32 = 1e-6;
/// The first band that counts for the level; those below are hum.
const FIRST_OF_LEVEL: usize = 2;

/// The features of one frame.
///
/// ```
/// use zhat::keywords::Features;
///
/// let (frame, _) = Features::new().push(&[0; 400]);
/// let frame = frame.expect("400 samples are a frame");
/// assert!(frame.bands.iter().all(|&band| band == frame.level)); // digital silence: the logarithm of the floor
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Frame {
    /// The logarithm of each band's energy.
    pub bands: [f32; BANDS],
    /// The logarithm of the energy of the bands that speech uses, without the lowest ones.
    pub level: f32,
}

/// Computes frames from samples that come in blocks of any length.
///
/// ```
/// use zhat::keywords::Features;
///
/// let mut features = Features::new();
/// let mut frames = 0;
/// for block in [1000; 16_000].chunks(160) {
///     let mut rest = block;
///     while !rest.is_empty() {
///         let frame;
///         (frame, rest) = features.push(rest);
///         frames += frame.is_some() as u32;
///     }
/// }
/// assert_eq!(frames, 98); // one each 160 samples, the first after 400
/// ```
#[derive(Clone, Debug)]
pub struct Features {
    samples: [i16; FRAME],
    filled: usize,
}

impl Features {
    /// Creates an instance without samples.
    ///
    /// ```
    /// let (frame, rest) = zhat::keywords::Features::new().push(&[0; 399]);
    /// assert!(frame.is_none() && rest.is_empty());
    /// ```
    pub const fn new() -> Self {
        Self { samples: [0; FRAME], filled: 0 }
    }

    /// Takes samples up to the end of a frame. Returns the frame, if there were enough samples, and the samples that
    /// are left.
    ///
    /// ```
    /// let (frame, rest) = zhat::keywords::Features::new().push(&[0; 500]);
    /// assert!(frame.is_some() && rest.len() == 100);
    /// ```
    pub fn push<'s>(&mut self, samples: &'s [i16]) -> (Option<Frame>, &'s [i16]) {
        let room = self.samples.get_mut(self.filled..).unwrap_or(&mut []);
        let taken = room.len().min(samples.len());
        let (new, rest) = samples.split_at_checked(taken).unwrap_or((samples, &[]));
        room.iter_mut().zip(new).for_each(|(place, &sample)| *place = sample);
        self.filled += taken;
        if self.filled < FRAME {
            return (None, rest);
        }
        let frame = frame(&self.samples);
        self.samples.copy_within(HOP.., 0);
        self.filled = FRAME - HOP;
        (Some(frame), rest)
    }
}

impl Default for Features {
    fn default() -> Self {
        Self::new()
    }
}

fn frame(samples: &[i16; FRAME]) -> Frame {
    let mut points = [0.0; FFT];
    for ((point, &sample), weight) in points.iter_mut().zip(samples).zip(&WINDOW) {
        *point = f32::from(sample) * weight;
    }
    let mut bands = energies(&power(&mut points));
    let level = bands.iter().skip(FIRST_OF_LEVEL).fold(FLOOR, |sum, energy| sum + energy);
    for band in &mut bands {
        keep_small();
        *band = libm::logf(*band + FLOOR);
    }
    Frame { bands, level: libm::logf(level) }
}

/// Computes the power of each bin.
fn power(points: &mut [f32; FFT]) -> [f32; BINS] {
    let spectrum = microfft::real::rfft_512(points);
    let mut power = [0.0; BINS];
    for (place, bin) in power.iter_mut().zip(&*spectrum) {
        *place = bin.re * bin.re + bin.im * bin.im;
    }
    // The transform stores the highest frequency's value as the imaginary part of the lowest, which has none.
    power[0] = spectrum[0].re * spectrum[0].re;
    power[BINS - 1] = spectrum[0].im * spectrum[0].im;
    power
}

/// Computes the energy of each band. A bin between two corners belongs to the band that rises there and to the one that
/// falls.
fn energies(power: &[f32; BINS]) -> [f32; BANDS] {
    let (mut rising, mut falling) = ([0.0; BANDS + 1], [0.0; BANDS + 1]);
    for ((rising, falling), corners) in rising.iter_mut().zip(&mut falling).zip(CORNERS.windows(2)) {
        let &[from, to] = corners else { continue };
        let bins = usize::from(from)..usize::from(to);
        let (Some(power), Some(rise)) = (power.get(bins.clone()), RISE.get(bins)) else { continue };
        for (power, rise) in power.iter().zip(rise) {
            keep_small();
            let part = power * rise;
            *rising += part;
            *falling += power - part;
        }
    }
    let mut energies = [0.0; BANDS];
    for ((energy, rising), falling) in energies.iter_mut().zip(rising).zip(falling.into_iter().skip(1)) {
        *energy = rising + falling;
    }
    energies
}

// The window and the mel bands, computed by the compiler: the same bits on every platform, in flash.

/// The number of bins of the spectrum, from 0 to the highest frequency.
pub const BINS: usize = FFT / 2 + 1;

/// The lowest and the highest frequency of the bands, in Hz.
const LOWEST: f64 = 60.0;
const HIGHEST: f64 = 7600.0;
/// The frequency in Hz at which the mel scale turns from linear to logarithmic: mel(f) = 2595·log₁₀(1 + f/700).
const KNEE: f64 = 700.0;

/// A Hann window that is zero at both ends and scales samples of i16 to ±1.
pub static WINDOW: [f32; FRAME] = window();

/// The position of each bin between the corner below it (0) and the one above (1).
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

/// Computes the corners in Hz: equally far from each other in mel, so that f + 700 grows by the same factor from each
/// to the next.
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

/// Computes the cosine of an angle from 0 to 2π, by its series about π: −Σ (−1)ᵏ·y²ᵏ/(2k)!.
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

/// Computes the n-th root of a number above 1, by Newton's method from above.
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
