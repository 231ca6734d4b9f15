//! Compares the streaming encoder with a plain transcription of its definition, over whole words, in f64.

use super::STRIDED;
use super::{BLOCKS, Encoder, EncoderError, EncoderState};
use crate::kernels::pair;
use crate::keywords::BANDS;
use proptest::prelude::*;

/// A generator of numbers from −1 to 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 30) - 1.0
    }
}

/// Rows of whole numbers, a scale for all of them, and biases.
struct Matrix {
    rows: Vec<Vec<i8>>,
    scale: f32,
    biases: Vec<f32>,
}

impl Matrix {
    fn random(numbers: &mut Numbers, rows: usize, columns: usize) -> Self {
        let row = |numbers: &mut Numbers| (0..columns).map(|_| (127.0 * numbers.next()) as i8).collect();
        Self {
            rows: (0..rows).map(|_| row(numbers)).collect(),
            scale: 1.5 / (127.0 * (columns as f32).sqrt()),
            biases: (0..rows).map(|_| 0.1 * numbers.next() as f32).collect(),
        }
    }

    fn write(&self, file: &mut Vec<u8>, as_pairs: bool) {
        let columns = self.rows[0].len();
        [self.rows.len(), columns].iter().for_each(|&size| file.extend((size as u32).to_le_bytes()));
        self.rows.iter().for_each(|_| file.extend(self.scale.to_le_bytes()));
        self.biases.iter().for_each(|bias| file.extend(bias.to_le_bytes()));
        for row in &self.rows {
            if as_pairs {
                file.extend(row.as_chunks().0.iter().flat_map(|&[even, odd]| pair(even, odd).to_le_bytes()));
            } else {
                file.extend(row.iter().map(|&weight| weight as u8));
            }
        }
        file.resize(file.len().next_multiple_of(4), 0);
    }

    fn times(&self, vector: &[f64]) -> Vec<f64> {
        let dot = |row: &[i8]| row.iter().zip(vector).map(|(&w, x)| f64::from(w) * x).sum::<f64>();
        self.rows.iter().zip(&self.biases).map(|(row, &b)| f64::from(self.scale) * dot(row) + f64::from(b)).collect()
    }
}

/// A network of random weights.
struct Network {
    sizes: [usize; 4],
    stem: Matrix,
    blocks: Vec<(Matrix, Matrix)>,
    gru: [Matrix; 2],
    embedding: Matrix,
    step: f32,
}

impl Network {
    fn random(seed: u64, sizes: [usize; 4]) -> Self {
        let numbers = &mut Numbers(seed);
        let [narrow, wide, hidden, dim] = sizes;
        let stem = Matrix::random(numbers, narrow, 5 * BANDS);
        let block = |i| {
            let (from, to) = (if i > STRIDED { wide } else { narrow }, if i < STRIDED { narrow } else { wide });
            (Matrix::random(numbers, from, 9), Matrix::random(numbers, to, from))
        };
        let blocks = (0..BLOCKS).map(block).collect();
        let numbers = &mut Numbers(!seed);
        let gru = [wide, hidden].map(|columns| Matrix::random(numbers, 3 * hidden, columns));
        let embedding = Matrix::random(numbers, dim, hidden + wide);
        // Nothing saturates.
        Self { sizes, stem, blocks, gru, embedding, step: 100.0 / 32_767.0 }
    }

    fn file(&self) -> Vec<u8> {
        let mut file = b"ZKWE".to_vec();
        let [narrow, wide, hidden, dim] = self.sizes.map(|size| size as u32);
        [1, narrow, wide, hidden, dim, 16].iter().for_each(|number: &u32| file.extend(number.to_le_bytes()));
        self.stem.write(&mut file, true);
        for (depthwise, pointwise) in &self.blocks {
            depthwise.write(&mut file, false);
            pointwise.write(&mut file, true);
        }
        self.gru.iter().chain([&self.embedding]).for_each(|matrix| matrix.write(&mut file, true));
        [self.step; 17].iter().chain(&[0.5, 0.01, 0.2]).for_each(|number| file.extend(number.to_le_bytes()));
        file
    }

    /// Computes the embedding after all frames, as the documentation defines it.
    fn embedding(&self, frames: &[[f32; BANDS]]) -> Vec<f64> {
        let features: Vec<Vec<f64>> = (0..frames.len())
            .map(|t| {
                let mean =
                    |b: usize| frames[..=t].iter().map(|frame| f64::from(frame[b])).sum::<f64>() / (t + 1) as f64;
                (0..BANDS).map(|b| ((f64::from(frames[t][b]) - mean(b)) / 2.5).clamp(-4.0, 4.0)).collect()
            })
            .collect();
        let relu = |values: Vec<f64>| values.into_iter().map(|x| x.max(0.0)).collect::<Vec<f64>>();
        let at = |steps: &[Vec<f64>], t: isize, i: usize| if t < 0 { 0.0 } else { steps[t as usize][i] };
        let mut steps: Vec<Vec<f64>> = (0..features.len() / 2)
            .map(|t| {
                let window = (0..5 * BANDS).map(|i| at(&features, (2 * t + 1 + i / BANDS) as isize - 4, i % BANDS));
                relu(self.stem.times(&window.collect::<Vec<f64>>()))
            })
            .collect();
        for (i, (depthwise, pointwise)) in self.blocks.iter().enumerate() {
            let (stride, dilation) = (if i == STRIDED { 2 } else { 1 }, if i > 3 { 2 } else { 1 });
            steps = (0..steps.len() / stride)
                .map(|t| {
                    let newest = (stride * (t + 1) - 1) as isize;
                    let past =
                        |c: usize| (0..9).map(|k| at(&steps, newest - (8 - k) * dilation, c)).collect::<Vec<f64>>();
                    let taps = relu((0..depthwise.rows.len()).map(|c| depthwise.times(&past(c))[c]).collect());
                    let mut sums = pointwise.times(&taps);
                    if i != STRIDED {
                        sums.iter_mut().zip(&steps[t]).for_each(|(sum, x)| *sum += x);
                    }
                    relu(sums)
                })
                .collect();
        }
        let hidden = self.sizes[2];
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let mut state = vec![0.0; hidden];
        for step in &steps {
            let (x, h) = (self.gru[0].times(step), self.gru[1].times(&state));
            for (i, value) in state.iter_mut().enumerate() {
                let (r, z) = (sigmoid(x[i] + h[i]), sigmoid(x[hidden + i] + h[hidden + i]));
                let n = (x[2 * hidden + i] + r * h[2 * hidden + i]).tanh();
                *value = (1.0 - z) * n + z * *value;
            }
        }
        let mean = |c: usize| steps.iter().map(|step| step[c]).sum::<f64>() / steps.len() as f64;
        state.extend((0..self.sizes[1]).map(mean));
        self.embedding.times(&state)
    }
}

/// Copies the bytes to a word boundary.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

fn open(words: &[u64], len: usize) -> Result<Encoder<'_>, EncoderError> {
    Encoder::from_bytes(&bytemuck::cast_slice(words)[..len])
}

fn frames(seed: u64, count: usize) -> Vec<[f32; BANDS]> {
    let mut numbers = Numbers(seed);
    (0..count).map(|_| core::array::from_fn(|_| 6.0 * numbers.next() as f32 - 4.0)).collect()
}

/// Returns the streaming encoder's embedding, and its error as a share of the longest number.
fn error<const D: usize>(network: &Network, frames: &[[f32; BANDS]]) -> f64 {
    let file = network.file();
    let words = aligned(&file);
    let encoder = open(&words, file.len()).unwrap();
    let mut state = EncoderState::new();
    frames.iter().for_each(|frame| state.push(&encoder, frame));
    let query = state.query::<D>(&encoder).unwrap();
    let truth = network.embedding(frames);
    let largest = truth.iter().fold(1e-3, |most: f64, x| most.max(x.abs()));
    query.iter().zip(truth).map(|(&q, x)| (f64::from(q) - x).abs() / largest).fold(0.0, f64::max)
}

#[test]
fn the_full_size_streams_what_the_definition_says() {
    let network = Network::random(1, [80, 112, 96, 128]);
    for count in [4, 7, 40, 101, 160] {
        let error = error::<128>(&network, &frames(count as u64, count));
        assert!(error < 0.02, "{count} frames: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_size_streams_what_the_definition_says(
        narrow in 1usize..=20, wide in 1usize..=28, hidden in 1usize..=24, count in 4usize..60, seed in any::<u64>(),
    ) {
        let network = Network::random(seed, [4 * narrow, 4 * wide, 4 * hidden, 16]);
        let error = error::<16>(&network, &frames(!seed, count));
        // Rounding counts for more where all of sixteen numbers happen to be small; a wrong tap or gate is off by much more.
        prop_assert!(error < 0.06, "{error}");
    }
}

#[test]
fn a_cleared_state_is_a_new_one() {
    let network = Network::random(2, [8, 12, 8, 16]);
    let file = network.file();
    let words = aligned(&file);
    let encoder = open(&words, file.len()).unwrap();
    let mut used = EncoderState::new();
    frames(3, 50).iter().for_each(|frame| used.push(&encoder, frame));
    used.clear();
    let mut new = EncoderState::new();
    for frame in frames(4, 30) {
        used.push(&encoder, &frame);
        new.push(&encoder, &frame);
    }
    assert_eq!(
        used.query::<16>(&encoder).unwrap().map(f32::to_bits),
        new.query::<16>(&encoder).unwrap().map(f32::to_bits)
    );
}

#[test]
fn every_truncation_is_refused() {
    let file = Network::random(5, [4, 4, 4, 4]).file();
    let words = aligned(&file);
    for len in 0..file.len() {
        assert_eq!(open(&words, len).unwrap_err(), EncoderError::Truncated, "{len} bytes");
    }
    assert!(open(&words, file.len()).is_ok());
}

#[test]
fn what_is_wrong_is_named() {
    let file = Network::random(6, [8, 12, 4, 16]).file();
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        let words = aligned(&file);
        open(&words, file.len()).err()
    };
    let number = |number: u32| number.to_le_bytes();
    assert_eq!(changed(0, b"ZKWF"), Some(EncoderError::NotAnEncoder));
    assert_eq!(changed(4, &number(2)), Some(EncoderError::Version(2)));
    for (at, size) in [(8, 0), (8, 84), (12, 116), (16, 3), (20, u32::MAX), (24, 15)] {
        assert_eq!(changed(at, &number(size)), Some(EncoderError::Sizes), "{size} at {at}");
    }
    assert_eq!(changed(28, &number(12)), Some(EncoderError::TensorSizes(0)));
    assert_eq!(changed(36, &f32::NAN.to_le_bytes()), Some(EncoderError::TensorContent(0)));
    let end = file.len();
    assert_eq!(changed(end - 4, &1.5f32.to_le_bytes()), Some(EncoderError::Content));
    assert_eq!(changed(end - 20, &0f32.to_le_bytes()), Some(EncoderError::Content));
    let longer = [&file[..], &[0; 4]].concat();
    assert_eq!(open(&aligned(&longer), longer.len()).unwrap_err(), EncoderError::TrailingBytes);
    let shifted = [&[0; 2], &file[..]].concat();
    let words = aligned(&shifted);
    let odd = Encoder::from_bytes(&bytemuck::cast_slice(&words)[2..shifted.len()]);
    assert_eq!(odd.unwrap_err(), EncoderError::Misaligned);
}

proptest! {
    #[test]
    fn changed_bytes_never_panic(at in 0usize..3000, value in any::<u32>(), seed in any::<u64>()) {
        let mut file = Network::random(7, [4, 8, 4, 128]).file();
        let at = at * 4 % (file.len() - 4);
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let words = aligned(&file);
        if let Ok(encoder) = open(&words, file.len()) {
            let mut state = EncoderState::new();
            frames(seed, 12).iter().for_each(|frame| state.push(&encoder, frame));
            let _ = state.query::<128>(&encoder);
        }
    }
}
