//! What the examples in the documentation work on.

use super::{Matrix, flat_model};
use crate::model::ModelBuf;

/// A model of four classes in three dimensions.
pub fn doc_example() -> ModelBuf {
    let rows = Matrix::new(vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.3, 0.3, 0.3], 3);
    flat_model(&rows.expect("four rows of three"), &[0.0; 4]).expect("a valid model")
}
