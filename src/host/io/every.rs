//! Every reader on the same bytes: for fuzzing, which has no files.

use super::error::Problem;
use super::source::Source;
use super::{ReadOptions, labels, matrix, names, npy::Npy, tensor, vector};

/// Reads bytes in all the ways in which a file of this extension is read: as a matrix, a vector, labels, a tensor, names.
pub fn read_everything(extension: &str, bytes: &[u8], options: ReadOptions<'_>) -> [Result<(), String>; 5] {
    fn outcome<T>(result: Result<T, Problem>) -> Result<(), String> {
        result.map(|_| ()).map_err(|problem| problem.to_string())
    }
    [
        outcome(matrix::read_as(extension, Source::of(bytes), options)),
        outcome(vector::read_as(extension, Source::of(bytes), options)),
        outcome(labels::read_as(extension, Source::of(bytes), options)),
        outcome(Npy::open(Source::of(bytes)).and_then(tensor::read)),
        outcome(names::read(Source::of(bytes))),
    ]
}
