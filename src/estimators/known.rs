//! Whether an input is one of the classes at all.

use super::Prediction;
use crate::model::Model;
use crate::rows::Query;

impl<const K: usize> Prediction<K> {
    /// Returns whether the input is one of the classes, by what was learnt from examples that are none: `zhat build
    /// --ood-queries` prints how well it tells others of them. Model and query are those that were answered.
    ///
    /// `None` if the model was built without such examples, if all of its rows were scored though it has an index, if the search
    /// had less of a budget than what the threshold was measured with, or if the list has no class.
    ///
    /// This is not [`Prediction::is_familiar`], which is about how far the estimate can be trusted: an input that is none of the
    /// classes can be as familiar as any.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let query = zhat::QueryBuffer::<64>::new(&model, &[1.0; 64])?;
    /// let answer = zhat::Classifier::new(model)?.classify::<1>(&query, &mut [0; 591])?;
    /// assert_eq!(answer.is_known(&model, &query), None); // built without examples of what is no word
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn is_known(&self, model: &Model<'_>, query: &Query) -> Option<bool> {
        let p = self.top.first()?.p;
        known_of(model, query, (self.work.nodes, self.is_familiar()), (self.energy(), p, self.far_share))
    }
}

/// [`Prediction::is_known`] of an answer with these numbers.
pub(crate) fn known_of(
    model: &Model<'_>,
    query: &Query,
    (nodes, is_familiar): (u32, Option<bool>),
    (energy, p, far_share): (f32, f32, f32),
) -> Option<bool> {
    let is_measured = if model.index().is_some() { nodes > 0 && is_familiar.is_some() } else { nodes == 0 };
    if !is_measured || query.check(model).is_err() {
        return None;
    }
    Some(model.recognition()?.holds(query, model.bits(), energy, p, far_share))
}
