//! A model that owns its bytes, where there is an allocator.

use alloc::vec::Vec;

use super::Model;
use crate::Error;

/// The bytes of a model file, aligned, and known to be valid.
///
/// The one way to use it is [`ModelBuf::model`]: everything else is written once, for the borrowed [`Model`].
///
/// ```
/// use zhat::{Classifier, ModelBuf, QueryBuffer};
///
/// let file: Vec<u8> = zhat::doc_example().to_vec(); // from a file system, a radio, …
/// let owned = ModelBuf::from_bytes(&file)?;
/// let classifier = Classifier::new(owned.model())?;
/// let query = QueryBuffer::<4>::new(classifier.model(), &[0.5, -1.0, 2.0])?;
/// assert_eq!(classifier.classify::<1>(&query, &mut [])?.top[0].class, 2);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelBuf {
    /// Words, for their alignment.
    words: Vec<u64>,
    len: usize,
}

impl ModelBuf {
    /// Copies and checks the bytes of a model file.
    ///
    /// ```
    /// use zhat::{Error, ModelBuf};
    ///
    /// assert_eq!(ModelBuf::from_bytes(b"something else").unwrap_err(), Error::NotAModel);
    /// ```
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
    ///
    /// ```
    /// let owned = zhat::doc_example();
    /// assert_eq!(owned.as_bytes().len(), owned.model().len());
    /// ```
    pub fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    /// The model.
    ///
    /// ```
    /// assert_eq!(zhat::doc_example().model().classes(), 4);
    /// ```
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
