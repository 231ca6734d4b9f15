//! What the examples in the documentation work on.

use super::{Matrix, flat_model};
use crate::model::ModelBuf;

/// A model of four classes in three dimensions.
pub fn doc_example() -> ModelBuf {
    let rows = Matrix::new(vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.3, 0.3, 0.3], 3);
    flat_model(&rows.expect("four rows of three"), &[0.0; 4]).expect("a valid model")
}

/// The bytes of a file of the repository, aligned as a model has to be. An example that includes the file could not share a
/// program with all others.
pub fn doc_file(path: &str) -> &'static [u8] {
    let bytes = std::fs::read(path).expect("a file of the repository");
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
    &bytemuck::cast_slice(words.leak())[..bytes.len()]
}
