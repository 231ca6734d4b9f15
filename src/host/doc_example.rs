//! The data of the examples in the documentation.

use super::{Matrix, flat_model};
use crate::model::ModelBuf;

/// Makes a model of four classes in three dimensions.
pub fn doc_example() -> ModelBuf {
    let rows = Matrix::new(vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.3, 0.3, 0.3], 3);
    flat_model(&rows.expect("four rows of three"), &[0.0; 4]).expect("a valid model")
}

/// Returns the bytes of a file of the repository, aligned as a model has to be. An example that included the file could
/// not share a program with all others.
pub fn doc_file(path: &str) -> &'static [u8] {
    let bytes = std::fs::read(path).expect("a file of the repository");
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
    &bytemuck::cast_slice(words.leak())[..bytes.len()]
}

/// Makes a spotter of the model that ships.
#[cfg(feature = "keywords")]
pub fn doc_spotter() -> crate::keywords::Spotter<'static, 1024> {
    let encoder = crate::keywords::Encoder::from_bytes(doc_file("models/keywords/encoder.bin")).expect("an encoder");
    let model = crate::Model::from_bytes(doc_file("models/keywords/keywords.zhat")).expect("a model");
    let classifier = crate::Classifier::new(model).expect("a budget");
    crate::keywords::Spotter::new(encoder, classifier).expect("sizes that fit")
}

/// Returns a second and a half of sound with something that might be a word: a tone between two silences.
#[cfg(feature = "keywords")]
pub fn doc_sound() -> &'static [i16] {
    let tone = |t: usize| if (8_000..16_000).contains(&t) { 8_000.0 * (t as f32 * 0.3).sin() } else { 0.0 };
    Vec::leak((0..24_000).map(|t| tone(t) as i16).collect())
}
