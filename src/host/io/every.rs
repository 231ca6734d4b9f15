//! Every reader on the same bytes: for fuzzing, which has no files.

use super::source::Source;
use super::{ReadOptions, labels, matrix, names, vector};

/// Reads bytes in all the ways in which a file of this extension is read: what is wrong with them in those that fail.
pub fn read_everything(extension: &str, bytes: &[u8], options: ReadOptions<'_>) -> Vec<String> {
    let problems = [
        matrix::read_as(extension, Source::of(bytes), options).err(),
        vector::read_as(extension, Source::of(bytes), options).err(),
        labels::read_as(extension, Source::of(bytes), options).err(),
        names::read(Source::of(bytes)).err(),
    ];
    problems.into_iter().flatten().map(|problem| problem.to_string()).collect()
}
