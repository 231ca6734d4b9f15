//! A model that owns its bytes, where there is an allocator.

use alloc::vec::Vec;

use super::Model;
use crate::Error;

/// The bytes of a model file, aligned, and known to be valid.
///
/// The one way to use it is [`ModelBuf::model`]: everything else is written once, for the borrowed [`Model`].
#[derive(Clone, Debug)]
pub struct ModelBuf {
    /// Words, for their alignment.
    words: Vec<u64>,
    len: usize,
}

impl ModelBuf {
    /// Copies and checks the bytes of a model file.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::new(bytes.len(), |file| {
            file.copy_from_slice(bytes);
            Ok(())
        })
    }

    /// Checks the `len` bytes of a model file that `fill` makes of zeros.
    pub(super) fn new(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<Self, Error> {
        let mut words = alloc::vec![0u64; len.div_ceil(8)];
        fill(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..len])?;
        let buf = Self { words, len };
        Model::from_bytes(buf.as_bytes())?;
        Ok(buf)
    }

    /// The bytes of the file.
    pub fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    /// The model.
    pub fn model(&self) -> Model<'_> {
        match Model::from_bytes_trusted(self.as_bytes()) {
            Ok(model) => model,
            // The same bytes passed a stricter check when this was made.
            Err(_) => unreachable!(),
        }
    }
}

impl core::ops::Deref for ModelBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}
