//! The one type that most users need: a model, a budget, and answers.

use heapless::Vec;
use rand_core::Rng;

use crate::Error;
use crate::estimators::draw::{self, Drawn};
use crate::estimators::{Prediction, moments, z_of_zero_query};
use crate::log::debug;
use crate::model::{Budget, Model, Settings};
use crate::rows::Query;
use crate::search::{self, Buffers, Candidate, Scratch, Top, Work};
use crate::tree::Tree;

/// Classifies queries within a budget.
///
/// It holds views only; the memory that a query needs is the caller's [`Scratch`].
#[derive(Clone, Copy, Debug)]
pub struct Classifier<'m> {
    model: Model<'m>,
    tree: Tree<'m>,
    settings: Settings,
    budget: Budget,
}

impl<'m> Classifier<'m> {
    /// A classifier with the budget that is stored in the model.
    ///
    /// # Errors
    /// [`Error::NoIndex`] if the model was written without a tree.
    pub fn new(model: Model<'m>) -> Result<Self, Error> {
        match (model.tree(), model.settings()) {
            (Some(&tree), Some(&settings)) => {
                Self { model, tree, settings, budget: settings.budget }.with_budget(settings.budget)
            }
            _ => Err(Error::NoIndex),
        }
    }

    /// The same with another budget. The stored intervals were measured with the stored one: a smaller budget makes
    /// errors larger than they say.
    ///
    /// # Errors
    /// [`Error::Budget`] if the cap does not reach the top of the tree.
    pub fn with_budget(self, budget: Budget) -> Result<Self, Error> {
        budget.check(self.tree.top())?;
        Ok(Self { budget, ..self })
    }

    /// The budget in force.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The model.
    pub fn model(&self) -> &Model<'m> {
        &self.model
    }

    /// The top `K` classes with estimated probabilities.
    ///
    /// # Errors
    /// [`Error::Capacity`] if `WORDS` is too small for the model: see [`seen_words`](crate::seen_words).
    pub fn classify<const K: usize, const WORDS: usize, const ROOM: usize>(
        &self,
        query: &Query,
        scratch: &mut Scratch<WORDS, ROOM>,
    ) -> Result<Prediction<K>, Error> {
        Ok(self.classify_up_to(K, query, scratch.buffers_for(&self.model)?))
    }

    /// [`Classifier::classify`] with at most `limit` classes of `K`, and memory of any size.
    pub(crate) fn classify_up_to<const K: usize>(
        &self,
        limit: usize,
        query: &Query,
        buffers: Buffers<'_>,
    ) -> Prediction<K> {
        let mut list = Vec::<Candidate, K>::new();
        let fields = moments::fields(
            &self.model,
            &self.tree,
            query,
            &self.budget,
            self.settings.far_factor,
            buffers,
            &mut Top::up_to(limit, &mut list),
        );
        let z = z_of_zero_query(query, &self.settings).unwrap_or_else(|| {
            let mut z = fields.near;
            z.add_sum(&fields.far);
            z
        });
        let prediction = Prediction::estimated(&list, z, &fields, &self.model, query);
        debug!("{} row-equivalents; {} of Z predicted", prediction.work.row_equivalents(), prediction.far_share);
        prediction
    }

    /// One class, drawn from the estimated distribution within the same budget: see [`Drawn`] for its odds.
    ///
    /// # Errors
    /// [`Error::Capacity`] as for [`Classifier::classify`]; [`Error::Budget`] if the cap leaves no row to draw.
    pub fn sample<const WORDS: usize, const ROOM: usize>(
        &self,
        query: &Query,
        scratch: &mut Scratch<WORDS, ROOM>,
        rng: &mut impl Rng,
    ) -> Result<Drawn, Error> {
        draw::draw(&self.model, &self.tree, query, &self.budget, scratch.buffers_for(&self.model)?, rng)
    }

    /// ln of what the exact Z of the model is at least and at most, for certain, from a search within the budget.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the scratch memory is too small, [`Error::NoBounds`] if the model was written without
    /// bounds.
    pub fn certain_log_z<const WORDS: usize, const ROOM: usize>(
        &self,
        query: &Query,
        scratch: &mut Scratch<WORDS, ROOM>,
    ) -> Result<(f32, f32), Error> {
        let buffers = scratch.buffers_for(&self.model)?;
        self.check_bounds()?;
        search::certain_log_z(&self.model, &self.tree, query, &self.budget, buffers)
    }

    /// The true top `K` classes of the model, by branch and bound: the cap of the budget does not hold here.
    ///
    /// # Errors
    /// As [`Classifier::certain_log_z`].
    pub fn certain_top<const K: usize, const WORDS: usize, const ROOM: usize>(
        &self,
        query: &Query,
        scratch: &mut Scratch<WORDS, ROOM>,
    ) -> Result<(Vec<Candidate, K>, Work), Error> {
        self.check_bounds()?;
        let mut list = Vec::new();
        let work = search::certain_top(&self.model, &self.tree, query, scratch.buffers(), &mut Top::new(&mut list));
        Ok((list, work))
    }

    fn check_bounds(&self) -> Result<(), Error> {
        if self.tree.has_bounds() { Ok(()) } else { Err(Error::NoBounds) }
    }
}
