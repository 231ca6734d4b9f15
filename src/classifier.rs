//! The one type that most users need: a model, a budget, and answers.

use heapless::Vec;
use rand_core::Rng;

use crate::Error;
use crate::estimators::draw::{self, Drawn};
use crate::estimators::{Prediction, exact_up_to, exact_z, moments, z_of_zero_query};
use crate::log::debug;
use crate::model::{Budget, Model, Section};
use crate::rows::Query;
use crate::search::{self, Buffers, Candidate, Top, Work};

/// Classifies queries within a budget.
///
/// It holds views only; the memory that a query needs is the caller's: a [`Scratch`](crate::Scratch), or any slice of
/// [`Model::scratch_words`] words.
///
/// A model without an index, as the builder writes it where that is cheaper, is answered exactly: every row is scored, and
/// no memory is needed.
#[derive(Clone, Copy, Debug)]
pub struct Classifier<'m> {
    model: Model<'m>,
    budget: Budget,
}

impl<'m> Classifier<'m> {
    /// A classifier with the budget that is stored in the model; of all rows where there is no index.
    ///
    /// # Errors
    /// [`Error::Budget`] if the stored cap is not enough for a class.
    pub fn new(model: Model<'m>) -> Result<Self, Error> {
        let all = Budget::new(model.classes() as u32);
        let budget = model.index().map_or(all, |(_, settings)| settings.budget);
        Self { model, budget }.with_budget(budget)
    }

    /// The same with another budget. The stored intervals were measured with the stored one: with a smaller budget an
    /// answer has none. A larger one can use more memory: [`Model::scratch_words_for`] says how much.
    ///
    /// # Errors
    /// [`Error::Budget`] if the cap is not enough for a class, with [`Model::least_cap`].
    pub fn with_budget(self, budget: Budget) -> Result<Self, Error> {
        budget.check(self.model.least_cap())?;
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

    /// Whether every query scores all rows, because the model has no index.
    pub fn is_exact(&self) -> bool {
        self.model.index().is_none()
    }

    /// The top `K` classes with estimated probabilities.
    ///
    /// # Errors
    /// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::ScratchWords`] if the memory is not enough for a
    /// class.
    pub fn classify<const K: usize>(&self, query: &Query, scratch: &mut [u32]) -> Result<Prediction<K>, Error> {
        self.classify_up_to(K, query, scratch)
    }

    /// [`Classifier::classify`] with at most `limit` classes of `K`.
    pub(crate) fn classify_up_to<const K: usize>(
        &self,
        limit: usize,
        query: &Query,
        scratch: &mut [u32],
    ) -> Result<Prediction<K>, Error> {
        query.check(&self.model)?;
        let Some((tree, settings)) = self.model.index() else {
            return Ok(exact_up_to(limit, &self.model, query));
        };
        let mut list = Vec::<Candidate, K>::new();
        let fields = moments::fields(
            &self.model,
            tree,
            query,
            &self.budget,
            settings.far_factor,
            Buffers::new(scratch, &self.model, tree)?,
            &mut Top::up_to(limit, &mut list),
        );
        if fields.work.rows == 0 {
            // Only a damaged tree that was trusted has no leaf within the budget.
            return Err(Error::SectionContent(Section::NodeSpans.kind()));
        }
        let z = z_of_zero_query(query, settings).unwrap_or_else(|| {
            let mut z = fields.near;
            z.add_sum(&fields.far);
            z
        });
        // The intervals were measured with the stored budget: with less, errors are larger than they say.
        let stored = settings.budget;
        let is_measured = self.budget.cap >= stored.cap && self.budget.epsilon <= stored.epsilon;
        let prediction = Prediction::estimated(&list, z, &fields, is_measured.then_some((&self.model, query)));
        debug!("{} row-equivalents; {} of Z predicted", prediction.work.row_equivalents(), prediction.far_share);
        Ok(prediction)
    }

    /// One class, drawn from the estimated distribution within the same budget: see [`Drawn`] for its odds.
    ///
    /// # Errors
    /// As [`Classifier::classify`]; [`Error::Budget`] if the cap leaves no row to draw.
    pub fn sample(&self, query: &Query, scratch: &mut [u32], rng: &mut impl Rng) -> Result<Drawn, Error> {
        query.check(&self.model)?;
        match self.model.index() {
            Some((tree, _)) => {
                let buffers = Buffers::new(scratch, &self.model, tree)?;
                draw::draw(&self.model, tree, query, &self.budget, buffers, rng)
            }
            None => draw::draw_exact(&self.model, query, rng),
        }
    }

    /// ln of what the exact Z of the model is at least and at most, for certain, from a search within the budget.
    ///
    /// # Errors
    /// As [`Classifier::classify`]; [`Error::NoBounds`] if the model was written without bounds.
    pub fn certain_log_z(&self, query: &Query, scratch: &mut [u32]) -> Result<(f32, f32), Error> {
        query.check(&self.model)?;
        match self.model.index() {
            Some((tree, _)) if tree.has_bounds() => {
                let buffers = Buffers::new(scratch, &self.model, tree)?;
                Ok(search::certain_log_z(&self.model, tree, query, &self.budget, buffers))
            }
            Some(_) => Err(Error::NoBounds),
            None => Ok(search::certain_around(&exact_z(&self.model, query))),
        }
    }

    /// The true top `K` classes of the model, by branch and bound: the cap of the budget does not hold here. It takes any
    /// memory, and less work with more.
    ///
    /// # Errors
    /// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::NoBounds`] if the model was written without
    /// bounds.
    pub fn certain_top<const K: usize>(
        &self,
        query: &Query,
        scratch: &mut [u32],
    ) -> Result<(Vec<Candidate, K>, Work), Error> {
        query.check(&self.model)?;
        let mut list = Vec::new();
        let top = &mut Top::new(&mut list);
        let work = match self.model.index() {
            Some((tree, _)) if tree.has_bounds() => search::certain_top(&self.model, tree, query, scratch, top),
            Some(_) => return Err(Error::NoBounds),
            None => search::top_of_all(&self.model, query, top),
        };
        Ok((list, work))
    }
}
