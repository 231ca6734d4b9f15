//! Log-mel frames against their definition, in f64 and with a plain Fourier sum.

use super::sounds::{Numbers, babble, noise, tone};
use std::f64::consts::PI;
use zhat::keywords::{BANDS, Features, Frame};

/// All frames of a sound that comes in blocks.
pub fn frames<'s>(blocks: impl Iterator<Item = &'s [i16]>) -> Vec<Frame> {
    let mut features = Features::new();
    let mut frames = Vec::new();
    for mut block in blocks {
        while !block.is_empty() {
            let frame;
            (frame, block) = features.push(block);
            frames.extend(frame);
        }
    }
    frames
}

/// The logarithms of a frame's bands from the words of the documentation.
fn truth(samples: &[i16]) -> Vec<f64> {
    let hann = |t: usize| 0.5 - 0.5 * (2.0 * PI * t as f64 / 399.0).cos();
    let x: Vec<f64> = samples.iter().enumerate().map(|(t, &s)| f64::from(s) / 32_768.0 * hann(t)).collect();
    let power: Vec<f64> = (0..=256)
        .map(|k| {
            let angle = |t: usize| 2.0 * PI * ((k * t) % 512) as f64 / 512.0;
            let re: f64 = x.iter().enumerate().map(|(t, x)| x * angle(t).cos()).sum();
            let im: f64 = x.iter().enumerate().map(|(t, x)| x * angle(t).sin()).sum();
            re * re + im * im
        })
        .collect();
    let mel = |f: f64| 2595.0 * (1.0 + f / 700.0).log10();
    let hertz = |m: f64| 700.0 * (10f64.powf(m / 2595.0) - 1.0);
    let corner = |i: usize| hertz(mel(60.0) + (mel(7600.0) - mel(60.0)) * i as f64 / (BANDS + 1) as f64);
    (0..BANDS)
        .map(|band| {
            let [low, top, high] = [0, 1, 2].map(|i| corner(band + i));
            let weight = |f: f64| ((f - low) / (top - low)).min((high - f) / (high - top)).max(0.0);
            let energy: f64 = power.iter().enumerate().map(|(k, p)| p * weight(k as f64 * 31.25)).sum();
            (energy + 1e-6).ln()
        })
        .collect()
}

#[test]
fn frames_are_those_of_the_definition() {
    let clipped: Vec<i16> = tone(2000, 700.0, 1e5);
    let steps: Vec<i16> = (0..2000).map(|t| if t / 37 % 2 == 0 { i16::MIN } else { i16::MAX }).collect();
    for sound in [noise(1, 2000, 3000.0), noise(2, 2000, 2.0), babble(3), clipped, steps, vec![0; 800], vec![-3; 800]] {
        for (i, frame) in frames([&sound[..]].into_iter()).iter().enumerate().take(40) {
            for (band, (&value, truth)) in frame.bands.iter().zip(truth(&sound[160 * i..][..400])).enumerate() {
                // A band with little beside one with much is as exact as the larger one.
                assert!((f64::from(value) - truth).abs() < 2e-3, "frame {i}, band {band}: {value} instead of {truth}");
            }
        }
    }
}

#[test]
fn the_length_of_blocks_changes_no_bit() {
    let sound = babble(5);
    let whole = frames([&sound[..]].into_iter());
    assert_eq!(whole.len(), (sound.len() - 400) / 160 + 1);
    for len in [1, 7, 160, 161, 320, 399, 400, 401, 5000] {
        assert_eq!(frames(sound.chunks(len)), whole, "blocks of {len}");
    }
    let mut numbers = Numbers(9);
    let mut rest = &sound[..];
    let random = std::iter::from_fn(|| {
        let block;
        (block, rest) = rest.split_at(rest.len().min((400.0 * (1.0 + numbers.next())) as usize));
        (!block.is_empty() || !rest.is_empty()).then_some(block)
    });
    assert_eq!(frames(random), whole);
}
