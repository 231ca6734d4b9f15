//! Sets of classes with a promise about the label.

use super::{Prediction, Ranked};
use crate::model::Model;

/// Classes among which the true one is, for a share of the inputs.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
/// let answer = zhat::Classifier::new(model)?.classify::<5>(&query, &mut [0; 591])?;
/// match answer.set(&model, 0.9) {
///     Some(set) if !set.more => println!("one of {} classes", set.classes.len()),
///     Some(set) => println!("more than these {} classes", set.classes.len()),
///     None => println!("no promise about this input"),
/// }
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct LabelSet<'a> {
    /// The classes, best first: one at least, unless the list has none.
    pub classes: &'a [Ranked],
    /// The set has more classes than the list, or the search may have missed one of them.
    pub more: bool,
}

impl<const K: usize> Prediction<K> {
    /// Returns the set that holds the true class for this share of the inputs.
    ///
    /// The model is the one that answered. It has sets if it was built with `zhat build --labels … --sets 80%,90%`; a level
    /// between two of them is answered with the larger one. The promise is about labels, where [`Prediction::interval`] is about
    /// the float layer: for inputs like those that the thresholds were taken from, the true class is one of
    /// [`LabelSet::classes`], or [`LabelSet::more`] says that there are others, for at least that share of them, whatever the
    /// layer and the estimate are worth. A poor layer has long sets.
    ///
    /// `None` if the model has no set of this level, if the query is not familiar, or if the search had less of a budget than
    /// what the thresholds were measured with.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
    /// let answer = zhat::Classifier::new(model)?.classify::<5>(&query, &mut [0; 591])?;
    /// assert!(answer.set(&model, 0.9).is_none()); // built without labels
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn set(&self, model: &Model<'_>, level: f32) -> Option<LabelSet<'_>> {
        let all = self.top.iter().map(|ranked| ranked.p);
        let (len, more) = set_of(model, level, self.work.nodes, self.is_familiar(), all)?;
        Some(LabelSet { classes: self.top.get(..len)?, more })
    }
}

/// How many of the probabilities of an answer, best first, are in the set of a level, and whether there is more. `nodes` are
/// those of the search, none where all rows were scored.
pub(crate) fn set_of(
    model: &Model<'_>,
    level: f32,
    nodes: u32,
    is_familiar: Option<bool>,
    all: impl ExactSizeIterator<Item = f32>,
) -> Option<(usize, bool)> {
    // A search of which nothing is known had another budget.
    let is_exact = nodes == 0;
    if !is_familiar.unwrap_or(is_exact) {
        return None;
    }
    let rule = model.sets()?.rule(level, is_exact)?;
    let listed = all.len();
    let (len, s) = rule.walk(all);
    Some((len, len == listed && listed < model.classes() && rule.holds(s)))
}
