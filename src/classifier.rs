//! The one type that most users need: a model, a budget, and answers.

use heapless::Vec;
use rand_core::Rng;

use crate::Error;
use crate::estimators::draw::{self, Drawn};
use crate::estimators::moments::NearAndFar;
use crate::estimators::{Basis, Familiarity, Prediction, exact_up_to, exact_z, moments, z_of_zero_query};
use crate::log::debug;
use crate::model::{Budget, Model, Section, Settings};
use crate::rows::Query;
use crate::search::{self, Buffers, Candidate, Top, Work};

/// Classifies queries within a budget.
///
/// It holds views only; the memory that a query needs is the caller's: a [`Scratch`](crate::Scratch), or any slice of
/// [`Model::scratch_words`] words.
///
/// A model without an index, as the builder writes it where that is cheaper, is answered exactly: every row is scored, and
/// no memory is needed.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// use zhat::{Classifier, QueryBuffer, Scratch};
///
/// let classifier = Classifier::new(model)?;
/// let query = QueryBuffer::<64>::new(classifier.model(), &[1.0; 64])?;
/// let mut scratch = Scratch::<591>::new(); // as `zhat inspect` says
/// let answer = classifier.classify::<5>(&query, &mut scratch)?;
/// assert!(answer.top[0].p >= answer.top[4].p);
/// assert!(answer.work.row_equivalents() <= classifier.budget().cap);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Classifier<'m> {
    model: Model<'m>,
    budget: Budget,
}

impl<'m> Classifier<'m> {
    /// Creates a classifier with the budget that is stored in the model; of all rows where there is no index.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// assert_eq!(classifier.budget().cap, 50);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Budget`] if the stored cap is not enough for a class.
    pub fn new(model: Model<'m>) -> Result<Self, Error> {
        let all = Budget::new(model.classes() as u32);
        let budget = model.index().map_or(all, |(_, settings)| settings.budget);
        Self { model, budget }.with_budget(budget)
    }

    /// Returns this classifier with another budget. A larger one can use more memory: [`Model::scratch_words_for`] says
    /// how much.
    ///
    /// Intervals were measured with the stored budget, and with another one an answer has none. A larger cap or a smaller
    /// ε leaves [`Prediction::is_familiar`] and [`Prediction::is_rejected`]; a smaller cap, a larger ε or another number
    /// of rows whose links are followed takes those away as well. [`Budget::new`] follows no links: change one part of the
    /// stored budget with [`Budget::with_cap`] or [`Budget::with_epsilon`].
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// use zhat::{Classifier, Error};
    ///
    /// let classifier = Classifier::new(model)?;
    /// let hurried = classifier.with_budget(classifier.budget().with_cap(40))?;
    /// assert_eq!(hurried.budget().cap, 40);
    /// let starved = classifier.with_budget(classifier.budget().with_cap(3));
    /// assert_eq!(starved.unwrap_err(), Error::Budget(model.least_cap() as u32));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Budget`] if the cap is not enough for a class, with [`Model::least_cap`].
    pub fn with_budget(self, budget: Budget) -> Result<Self, Error> {
        budget.check(self.model.least_cap())?;
        Ok(Self { budget, ..self })
    }

    /// Returns the budget in force.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// assert_eq!(Some(classifier.budget()), model.settings().map(|settings| settings.budget));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Returns the model.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// assert_eq!(classifier.model().classes(), 500);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn model(&self) -> &Model<'m> {
        &self.model
    }

    /// Returns whether every query scores all rows, because the model has no index.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let bytes = zhat::doc_example();
    /// # let without_index = zhat::Model::from_bytes(&bytes)?;
    /// use zhat::Classifier;
    ///
    /// assert!(!Classifier::new(model)?.is_exact());
    /// assert!(Classifier::new(without_index)?.is_exact());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn is_exact(&self) -> bool {
        self.model.index().is_none()
    }

    /// Finds the top `K` classes with estimated probabilities.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// let mut scratch = [0; 74];
    /// let answer = classifier.classify::<3>(&query, &mut scratch)?;
    /// for best in &answer.top {
    ///     println!("class {}: p {:.3}", best.class, best.p);
    /// }
    /// # assert_eq!(answer.top.len(), 3);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::ScratchWords`] if the memory is not enough for a
    /// class.
    pub fn classify<const K: usize>(&self, query: &Query, scratch: &mut [u32]) -> Result<Prediction<K>, Error> {
        self.classify_up_to(K, query, scratch)
    }

    /// Classifies as [`Classifier::classify`] does, with at most `limit` classes of `K`.
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
            Top::up_to(limit, &mut list),
        );
        self.answer(query, settings, &list, &fields, true)
    }

    /// Makes an answer of what a search found. One that did not go on to its end has no intervals: they were measured with searches
    /// that did.
    pub(crate) fn answer<const K: usize>(
        &self,
        query: &Query,
        settings: &Settings,
        list: &[Candidate],
        fields: &NearAndFar,
        is_whole: bool,
    ) -> Result<Prediction<K>, Error> {
        if fields.work.rows == 0 {
            // Only a damaged tree that was trusted has no leaf within the budget.
            return Err(Error::SectionContent(Section::NodeSpans.kind()));
        }
        let z = z_of_zero_query(query, settings).unwrap_or_else(|| {
            let mut z = fields.near;
            z.add_sum(&fields.far);
            z
        });
        let basis = match (is_whole, fields.overflowed) {
            (false, _) => Basis::NotMeasured(Familiarity::Stopped),
            (true, true) => Basis::NotMeasured(Familiarity::ShortMemory),
            (true, false) => self.basis(&settings.budget),
        };
        let prediction = Prediction::estimated(list, z, fields, &self.model, query, basis);
        debug!("{} row-equivalents; {} of Z predicted", prediction.work.row_equivalents(), prediction.far_share);
        Ok(prediction)
    }

    /// Compares the budget with the stored one, which the calibration was measured with.
    fn basis(&self, stored: &Budget) -> Basis {
        let Budget { cap, epsilon, expand } = self.budget;
        // The bits of an ε are in the order of the numbers, and those of what is none are beyond.
        let (epsilon, stored_epsilon) = (epsilon.to_bits(), stored.epsilon.to_bits());
        // Links that the calibration had and the file has not make another search as well.
        let has_links = self.model.links().is_some() || expand == 0;
        if expand != stored.expand || !has_links || cap < stored.cap || epsilon > stored_epsilon {
            Basis::NotMeasured(Familiarity::OtherBudget)
        } else if cap == stored.cap && epsilon == stored_epsilon {
            Basis::Stored
        } else {
            Basis::MoreWork
        }
    }

    /// Draws one class from the estimated distribution within the same budget: see [`Drawn`] for its odds.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// use rand_pcg::Pcg32;
    ///
    /// let classifier = zhat::Classifier::new(model)?;
    /// let drawn = classifier.sample(&query, &mut [0; 74], &mut Pcg32::new(1, 1))?;
    /// assert!(drawn.class < 500 && drawn.p > 0.0);
    /// # Ok::<(), zhat::Error>(())
    /// ```
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

    /// Returns guaranteed lower and upper bounds on the ln Z of the model, from a search within the budget.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// let (least, most) = classifier.certain_log_z(&query, &mut [0; 74])?;
    /// let truth = zhat::exact::<1>(&model, &query)?.log_z();
    /// assert!(least <= truth && truth <= most);
    /// # Ok::<(), zhat::Error>(())
    /// ```
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

    /// Finds the true top `K` classes of the model, by branch and bound: the cap of the budget does not hold here. It takes any
    /// memory, and less work with more.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// let classifier = zhat::Classifier::new(model)?;
    /// let (top, work) = classifier.certain_top::<2>(&query, &mut [0; 74])?;
    /// let truth = zhat::exact::<2>(&model, &query)?.top;
    /// assert_eq!([top[0].class, top[1].class], [truth[0].class, truth[1].class]);
    /// assert!(work.rows <= 500);
    /// # Ok::<(), zhat::Error>(())
    /// ```
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
