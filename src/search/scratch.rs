//! The memory of a search.

use crate::Error;
use crate::model::Model;

/// The words that one bit for each of `classes` rows takes: the first parameter of [`Scratch`].
pub const fn seen_words(classes: usize) -> usize {
    classes.div_ceil(32)
}

/// The memory of a search: `WORDS` is [`seen_words`] of the number of classes, `ROOM` the words for nodes that were
/// predicted: one for each, and four for each node whose children they are. The model file and `zhat inspect` say how many
/// are enough.
///
/// A frontier that is full still gives a right answer: nodes that do not fit stay predictions and are not opened.
///
/// ```
/// use zhat::{Scratch, seen_words};
///
/// let scratch = Scratch::<{ seen_words(10_000) }, 320>::new();
/// assert!(size_of_val(&scratch) < 4 * 1024);
/// ```
#[derive(Clone, Debug)]
pub struct Scratch<const WORDS: usize, const ROOM: usize> {
    seen: [u32; WORDS],
    frontier: [u32; ROOM],
}

impl<const WORDS: usize, const ROOM: usize> Scratch<WORDS, ROOM> {
    /// Empty memory; each search starts by clearing it.
    pub const fn new() -> Self {
        Self { seen: [0; WORDS], frontier: [0; ROOM] }
    }

    /// [`Scratch::buffers`], if there is a bit for each of the model's rows.
    pub(crate) fn buffers_for(&mut self, model: &Model<'_>) -> Result<Buffers<'_>, Error> {
        let needed = seen_words(model.classes());
        // No more than needed: every search clears it.
        match self.seen.get_mut(..needed) {
            Some(seen) => Ok(Buffers { seen, frontier: &mut self.frontier }),
            None => Err(Error::Capacity(needed as u32)),
        }
    }

    /// The parts, without their sizes: the search is compiled once, not once for each size.
    pub(crate) fn buffers(&mut self) -> Buffers<'_> {
        Buffers { seen: &mut self.seen, frontier: &mut self.frontier }
    }
}

impl<const WORDS: usize, const ROOM: usize> Default for Scratch<WORDS, ROOM> {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) struct Buffers<'a> {
    pub seen: &'a mut [u32],
    pub frontier: &'a mut [u32],
}
