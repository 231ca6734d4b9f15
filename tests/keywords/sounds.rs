//! Sounds to be heard.

use std::f64::consts::PI;

/// A generator of numbers from −1 to 1.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 30) - 1.0
    }
}

/// White noise of this amplitude.
pub fn noise(seed: u64, samples: usize, amplitude: f64) -> Vec<i16> {
    let mut numbers = Numbers(seed);
    (0..samples).map(|_| (amplitude * numbers.next()) as i16).collect()
}

/// A tone.
pub fn tone(samples: usize, frequency: f64, amplitude: f64) -> Vec<i16> {
    (0..samples).map(|t| (amplitude * (2.0 * PI * frequency * t as f64 / 16_000.0).sin()) as i16).collect()
}

/// Something like a word: harmonics under a slow envelope, with noise before and after.
pub fn babble(seed: u64) -> Vec<i16> {
    let mut numbers = Numbers(seed);
    let mut sound = noise(seed, 40_000, 20.0);
    for word in sound.chunks_mut(13_000) {
        let pitch = 150.0 + 50.0 * numbers.next();
        let shape: Vec<f64> = (0..20).map(|_| numbers.next()).collect();
        for (t, sample) in word.iter_mut().take(6000).enumerate() {
            let time = t as f64 / 16_000.0;
            let harmonic = |(k, a): (usize, &f64)| a * (2.0 * PI * pitch * (k + 1) as f64 * time).sin();
            let wave: f64 = shape.iter().enumerate().map(harmonic).sum();
            *sample += (1500.0 * wave * (PI * t as f64 / 6000.0).sin()) as i16;
        }
    }
    sound
}
