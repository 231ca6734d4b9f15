//! Reads and writes files: weights, queries, biases, labels and names in the usual formats, and model files. A file is
//! written completely or not at all.
//!
//! | read by | extension | holds |
//! |---|---|---|
//! | [`read_matrix`] | `.npy` | two dimensions of f16, f32 or f64, C or Fortran order, either endianness |
//! | | `.safetensors` | a two-dimensional F16, BF16, F32 or F64 tensor |
//! | | `.csv` | rows of numbers, a header row if the first row has no number |
//! | [`read_matrix`], [`read_named_matrix`] | `.txt`, `.vec` | word vectors: GloVe or word2vec text |
//! | | `.bin` | word vectors: word2vec binary |
//! | | `.json` | word vectors: wink embeddings |
//! | [`read_vector`] | `.npy`, `.safetensors`, `.csv`, `.txt` | N, N×1 or 1×N numbers |
//! | [`read_labels`] | `.npy`, `.csv`, `.txt` | N, N×1 or 1×N classes |
//! | [`read_names`] | any | one name per line |
//! | [`read_tensor`] | `.npy` | any number of dimensions of floats, integers or truth values |
//! | [`read_model`] | any | a model file |
//!
//! Every reader streams into the values that it returns, so reading takes about one copy of them. It allocates memory
//! for a claimed shape only after checking that the file is long enough for it. Rows and columns in errors are those of
//! the file, counted from zero as NumPy counts; lines of text files are counted from one as editors do.
//!
//! ```no_run
//! use zhat::host::input::{ReadOptions, expect_same_length, read_matrix, read_vector};
//!
//! # fn main() -> Result<(), zhat::host::input::ReadError> {
//! let options = ReadOptions::default();
//! let weights = read_matrix("weights.npy", options)?;
//! let bias = read_vector("bias.npy", options)?;
//! expect_same_length("weights.npy", &weights, "bias.npy", bias.len())?;
//! # Ok(())
//! # }
//! ```

mod delimited;
mod error;
mod labels;
mod matrix;
pub mod network;
mod npy;
mod safetensors;
mod stream;
mod word_vectors;
mod write;

pub use error::{Position, Problem, ReadError};
pub use labels::{expect_labels_in_range, expect_same_dimension, expect_same_length, read_labels, read_names};
pub use matrix::{NamedMatrix, read_matrix, read_matrix_bytes, read_named_matrix, read_queries, read_vector};
pub use npy::{Tensor, TensorValues, read_tensor};
pub use write::{WriteError, expect_writable, write_atomically, write_atomically_with, write_npy};

use std::io::Read;
use std::path::Path;

use crate::model::ModelBuf;
use npy::Npy;
use stream::{Source, with_file};

/// Options for reading: the part of a file to take. The default takes all of it unchanged.
///
/// ```
/// use zhat::host::input::{ReadOptions, read_matrix};
///
/// let columns_as_rows = ReadOptions { transpose: true, ..ReadOptions::default() };
/// let weights = read_matrix("models/import/weights.npy", columns_as_rows)?;
/// # assert!(weights.rows() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions<'a> {
    /// The tensor to read from a `.safetensors` file. Not needed if only one has a fitting shape.
    pub tensor: Option<&'a str>,
    /// Swaps rows and columns of a matrix while reading: for weights stored d×N.
    pub transpose: bool,
    /// Takes only this many rows from the start (of the result, if transposed) or values.
    pub limit: Option<usize>,
}

impl ReadOptions<'_> {
    /// Returns the number of rows to take of `available` ones.
    fn take(&self, available: usize) -> usize {
        self.limit.map_or(available, |limit| limit.min(available))
    }

    /// Returns true if `count` rows reach the limit.
    fn is_enough(&self, count: usize) -> bool {
        self.limit.is_some_and(|limit| count >= limit)
    }
}

/// Reads and checks a model file.
///
/// ```
/// let file = zhat::host::input::read_model("models/next_word.zhat")?;
/// assert_eq!(file.model().classes(), 8192);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A [`ReadError`] that says what is wrong with the file.
pub fn read_model(path: impl AsRef<Path>) -> Result<ModelBuf, ReadError> {
    with_file(path.as_ref(), |mut source| {
        let mut bytes = Vec::new();
        source.reader.read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Err(Problem::Empty);
        }
        ModelBuf::from_bytes(&bytes).map_err(Problem::Model)
    })
}

#[doc(hidden)]
/// Reads bytes in every way in which a file of this extension is read: as a matrix, a vector, labels, a tensor, names.
pub fn read_everything(extension: &str, bytes: &[u8], options: ReadOptions<'_>) -> [Result<(), String>; 5] {
    fn outcome<T>(result: Result<T, Problem>) -> Result<(), String> {
        result.map(|_| ()).map_err(|problem| problem.to_string())
    }
    [
        outcome(matrix::read_matrix_as(extension, Source::of(bytes), options)),
        outcome(matrix::read_vector_as(extension, Source::of(bytes), options)),
        outcome(labels::read_labels_as(extension, Source::of(bytes), options)),
        outcome(Npy::open(Source::of(bytes)).and_then(npy::read_tensor_from)),
        outcome(labels::read_names_from(Source::of(bytes))),
    ]
}
