//! Writes a trained model as plain files: NumPy arrays and a word list.

use std::fs;
use std::path::Path;

use npyz::WriterBuilder;
use zhat::host::input::{write_atomically, write_atomically_with, write_npy};
use zhat::language::Context;

use super::error::Error;
use super::model::LogBilinear;
use super::shape::Tying;
use super::vocabulary::Vocabulary;

impl LogBilinear {
    /// Writes files into `folder`, which is created if it does not exist: `rows.npy` (N × d), `bias.npy` (N),
    /// `context.npy` (positions × d, the oldest first) and `words.txt` (one a line, in the order of the rows). If the
    /// model is untied, also `input.npy` (N × d). If it is mapped, also `map.npy` (d × maps·d); `context.npy` is then
    /// as wide, and both are stored once more in `context.bin`, as a device reads them ([`Context`]).
    pub fn export(&self, vocabulary: &Vocabulary, folder: &Path) -> Result<(), Error> {
        let at = |name: &str| folder.join(name);
        // If this fails, so does writing the first file, and that error names it.
        let _ = fs::create_dir_all(folder);
        write_npy(at("rows.npy"), &self.rows())?;
        write_array(&at("bias.npy"), self.bias(), &[self.bias().len()])?;
        write_npy(at("context.npy"), &self.context_weights())?;
        if self.shape().tying == Tying::Untied {
            write_npy(at("input.npy"), &self.input())?;
        }
        if let Some(map) = self.map() {
            write_npy(at("map.npy"), &map)?;
            let weights = self.context_weights();
            let file = Context::encode(weights.rows(), weights.data(), map.data());
            write_atomically(at("context.bin"), &file)?;
        }
        let words = vocabulary.words().join("\n") + "\n";
        Ok(write_atomically(at("words.txt"), words.as_bytes())?)
    }
}

/// Writes `values` as a NumPy array of that shape.
pub fn write_array<T>(path: &Path, values: &[T], shape: &[usize]) -> Result<(), Error>
where
    T: npyz::AutoSerialize + Copy,
{
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    Ok(write_atomically_with(path, |writer| {
        let mut npy = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(writer).begin_nd()?;
        npy.extend(values.iter().copied())?;
        npy.finish()
    })?)
}
