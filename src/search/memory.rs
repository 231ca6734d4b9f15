//! The memory of a search: a slice of words, of which a bit for each row comes first and the frontier has the rest.

use core::ops::{Deref, DerefMut};

use super::FAMILY;
use super::frontier::{MOST_WORDS, words_for};
use crate::Error;
use crate::model::{Budget, Model};
use crate::tree::{Descent, Tree};

/// The words that one bit for each of `classes` rows takes.
///
/// ```
/// assert_eq!(zhat::seen_words(10_000), 313);
/// ```
pub const fn seen_words(classes: usize) -> usize {
    classes.div_ceil(32)
}

/// The words of a [`Scratch`] for a model with this many classes and this many words for nodes, the numbers that `zhat inspect`
/// prints: [`Model::scratch_words`] at compile time.
///
/// ```
/// static SCRATCH: zhat::Scratch<{ zhat::scratch_words(10_000, 400) }> = zhat::Scratch::new();
/// # assert_eq!(SCRATCH.len(), 713);
/// ```
pub const fn scratch_words(classes: usize, frontier_words: usize) -> usize {
    seen_words(classes) + frontier_words
}

/// The memory of a search, of a size that is known at compile time.
///
/// Every function that searches takes a slice of words, and this is one that owns its words: [`scratch_words`] says
/// how many. Where a model is chosen at run time, any `&mut [u32]` of [`Model::scratch_words`] words does the same.
///
/// ```
/// use zhat::{Scratch, scratch_words};
///
/// let scratch = Scratch::<{ scratch_words(10_000, 400) }>::new();
/// assert!(size_of_val(&scratch) < 4 * 1024);
/// ```
#[derive(Clone, Debug)]
pub struct Scratch<const WORDS: usize>([u32; WORDS]);

impl<const WORDS: usize> Scratch<WORDS> {
    /// Empty memory; each search starts by clearing what it uses.
    ///
    /// ```
    /// let scratch = zhat::Scratch::<591>::new();
    /// assert_eq!(scratch.len(), 591);
    /// ```
    pub const fn new() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> Default for Scratch<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> Deref for Scratch<WORDS> {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl<const WORDS: usize> DerefMut for Scratch<WORDS> {
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.0
    }
}

impl Model<'_> {
    /// The words of memory that are enough for any query within the stored budget: none where the model has no index.
    ///
    /// With fewer words the answer is still right, and [`Prediction::overflowed`](crate::Prediction::overflowed) says
    /// whether it is less sharp; with too few for any answer there is an error.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// let mut scratch = vec![0; model.scratch_words()];
    /// let answer = zhat::Classifier::new(model)?.classify::<1>(&query, &mut scratch)?;
    /// assert!(!answer.overflowed());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn scratch_words(&self) -> usize {
        self.index().map_or(0, |(_, settings)| self.scratch_words_for(&settings.budget))
    }

    /// Returns the words of memory that are enough for any query within the given budget.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// let budget = model.settings().expect("an index").budget;
    /// assert_eq!(model.scratch_words_for(&budget), model.scratch_words());
    /// assert!(model.scratch_words_for(&budget.with_cap(100)) > model.scratch_words());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn scratch_words_for(&self, budget: &Budget) -> usize {
        match self.tree() {
            Some(tree) => scratch_words(self.classes(), frontier_words(tree, budget.cap as usize)),
            None => 0,
        }
    }
}

/// The words that the frontier of a search within a cap takes at most, with those that are kept for a way down as long as
/// there is no row.
fn frontier_words(tree: &Tree<'_>, cap: usize) -> usize {
    let descent = tree.descent();
    let before_a_row = words_within(tree, cap.saturating_sub(descent.cost as usize));
    words_within(tree, cap).max(before_a_row.saturating_add(words_for_descent(&descent))).min(MOST_WORDS)
}

/// The words that the nodes of a search within a cap take at most.
///
/// Every node that is predicted is within the cap and takes a word; and the fewer nodes a family has, the more families
/// there are within it. So no search has more families than one that opens the smallest ones first.
#[cold]
fn words_within(tree: &Tree<'_>, cap: usize) -> usize {
    let top = tree.top();
    let mut left = cap.min(tree.len()).saturating_sub(top);
    let mut families = top.div_ceil(FAMILY);
    let nodes = top.saturating_add(left);
    // How many families of each size there are. Larger ones are split, and each part counts as a family.
    let mut sizes = [0; FAMILY + 1];
    for node in 0..tree.len() {
        let children = tree.span(node).children;
        let parts = children.div_ceil(FAMILY);
        if let Some(count) = children.checked_div(parts).and_then(|size| sizes.get_mut(size)) {
            *count += parts;
        }
    }
    for (size, &count) in sizes.iter().enumerate().skip(1) {
        let opened = count.min(left / size);
        families += opened;
        left -= opened * size;
    }
    words_for(nodes, families)
}

/// The words that a way down takes on the frontier at most.
pub(super) fn words_for_descent(descent: &Descent) -> usize {
    let nodes = descent.nodes as usize;
    // A family that is split has at most one part more than its nodes fill.
    words_for(nodes, descent.families as usize + nodes / FAMILY)
}

/// The memory of a search in parts.
pub(crate) struct Buffers<'a> {
    pub seen: &'a mut [u32],
    pub frontier: &'a mut [u32],
}

impl<'a> Buffers<'a> {
    /// Parts memory that is enough for a class, whatever the query: a bit for each row, the top nodes and a way down.
    pub fn new(memory: &'a mut [u32], model: &Model<'_>, tree: &Tree<'_>) -> Result<Self, Error> {
        let seen = seen_words(model.classes());
        let top = words_for(tree.top(), tree.top().div_ceil(FAMILY));
        let least = seen.saturating_add(top).saturating_add(words_for_descent(&tree.descent()));
        if memory.len() < least {
            return Err(Error::ScratchWords(least as u32));
        }
        // No more bits than needed: every search clears them.
        let (seen, frontier) = memory.split_at_mut_checked(seen).ok_or(Error::ScratchWords(least as u32))?;
        Ok(Self { seen, frontier })
    }
}
