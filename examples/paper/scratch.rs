//! The memory of one thread's queries to a model of any size.

use zhat::model::{Budget, Model};
use zhat::{Classifier, Error, Prediction, QueryBuffer};

/// The widest query of any model.
const WIDEST: usize = 16_384;

/// A query and the memory of a search.
pub struct HostScratch {
    pub query: Box<QueryBuffer<WIDEST>>,
    pub memory: Vec<u32>,
}

impl HostScratch {
    /// Allocates memory for any budget. Estimators without a tree need only a bit for each class.
    pub fn new(model: &Model<'_>) -> Self {
        let words = model.scratch_words_for(&Budget::new(u32::MAX)).max(zhat::seen_words(model.classes()));
        Self { query: Box::new(QueryBuffer::empty()), memory: vec![0; words] }
    }

    /// Returns the answer of the default estimator within a budget.
    pub fn classify(&mut self, model: &Model<'_>, budget: Budget) -> Result<Prediction<1>, Error> {
        Classifier::new(*model)?.with_budget(budget)?.classify(&self.query, &mut self.memory)
    }
}
