//! A model that owns its bytes, where there is an allocator.

use alloc::vec::Vec;

use super::Model;
use super::header::Known;
use crate::Error;

/// The bytes of a model file, aligned and checked.
///
/// [`ModelBuf::model`] gives access to it: all methods are those of the borrowed [`Model`]. Making that view takes
/// about 2 200 instructions of a Cortex-M4, less than 5 % of a query, whatever the size of the model. So a program
/// stores the `ModelBuf`, in any struct and without a lifetime, and makes a classifier for each query:
///
/// ```
/// use zhat::{Budget, Classifier, Error, ModelBuf, Query};
///
/// /// The state of a program, which may replace its model while it runs.
/// struct Recogniser {
///     model: ModelBuf,
///     budget: Budget,
///     memory: Vec<u32>,
/// }
///
/// impl Recogniser {
///     fn new(file: &[u8]) -> Result<Self, Error> {
///         let model = ModelBuf::from_bytes(file)?;
///         let budget = Classifier::new(model.model())?.budget();
///         let memory = vec![0; model.model().scratch_words() + model.model().query_words()];
///         Ok(Self { model, budget, memory })
///     }
///
///     fn best(&mut self, activations: &[f32]) -> Result<Option<u32>, Error> {
///         let classifier = Classifier::new(self.model.model())?.with_budget(self.budget)?;
///         let (query, memory) = self.memory.split_at_mut(classifier.model().query_words());
///         let query = Query::in_words(query, classifier.model())?;
///         query.set(classifier.model(), activations)?;
///         Ok(classifier.classify::<1>(query, memory)?.top.first().map(|best| best.class))
///     }
/// }
///
/// let mut recogniser = Recogniser::new(&zhat::doc_example())?;
/// assert_eq!(recogniser.best(&[0.5, -1.0, 2.0])?, Some(2));
/// # Ok::<(), Error>(())
/// ```
///
/// Make the view once for several queries:
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
    /// Words, for alignment.
    words: Vec<u64>,
    len: usize,
    known: Known,
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

    /// Makes a file of `len` zero bytes, lets `fill` write them, and checks the result.
    pub(super) fn new(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<Self, Error> {
        let mut words = alloc::vec![0u64; len.div_ceil(8)];
        fill(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..len])?;
        let known = Model::from_bytes(&bytemuck::cast_slice(&words)[..len])?.known();
        Ok(Self { words, len, known })
    }

    /// Returns the bytes of the file.
    pub fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    /// Returns a view of the model. Does not repeat the checks of [`ModelBuf::from_bytes`].
    pub fn model(&self) -> Model<'_> {
        match Model::of_known(&self.known, self.as_bytes()) {
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
