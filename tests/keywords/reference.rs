//! What the training computes of three utterances, in another language and with another library: the device's numbers are
//! the same up to rounding.

use super::features::frames;
use std::fs;
use zhat::keywords::{BANDS, Encoder, EncoderState};

const FOLDER: &str = "models/keywords/reference";

/// The numbers of an .npy file, as bytes.
fn numbers(name: &str) -> Vec<u8> {
    let file = fs::read(format!("{FOLDER}/{name}.npy")).expect("a reference");
    let header = usize::from(u16::from_le_bytes([file[8], file[9]]));
    file[10 + header..].to_vec()
}

fn floats(name: &str) -> Vec<f32> {
    numbers(name).as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

#[test]
fn features_and_embeddings_are_those_of_the_training() {
    let file = zhat::include_model!("../../models/keywords/encoder.bin");
    let encoder = Encoder::from_bytes(file).unwrap();
    for i in 0..3 {
        let samples: Vec<i16> =
            numbers(&format!("{i}_samples")).as_chunks().0.iter().map(|&bytes| i16::from_le_bytes(bytes)).collect();
        let frames = frames([&samples[..]].into_iter());
        let log_mel = floats(&format!("{i}_log_mel"));
        assert_eq!(frames.len(), log_mel.len() / BANDS);
        for (frame, truth) in frames.iter().zip(log_mel.chunks(BANDS)) {
            assert!(frame.bands.iter().zip(truth).all(|(value, truth)| (value - truth).abs() < 1e-3));
        }
        let mut state = EncoderState::new();
        frames.iter().for_each(|frame| state.push(&encoder, &frame.bands));
        let query = state.query::<128>(&encoder).unwrap();
        let truth = floats(&format!("{i}_embedding"));
        let error = query.iter().zip(&truth).fold(0.0_f32, |most, (value, truth)| most.max((value - truth).abs()));
        assert!(error < 0.02, "utterance {i}: {error}");
    }
}
