//! Measures the classifier's answers against the exact ones, on given queries.

use rayon::prelude::*;

use super::Matrix;
use crate::estimators::Prediction;
use crate::estimators::moments::{self, NearAndFar};
use crate::math::Log2;
use crate::model::{Budget, Model};
use crate::rows::{Query, QueryBuffer};
use crate::search::{Buffers, Candidate, Count, Top, bound};
use crate::{Classifier, Error};

/// The widest query of any model.
const WIDEST: usize = crate::kernels::MAX_DIM;

/// The exact answer to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// ln Z.
    pub log_z: f32,
    /// The best class and its score.
    pub best: Candidate,
}

/// The memory of one thread's searches, for a model of any size.
pub struct HostScratch {
    pub(super) query: Box<QueryBuffer<WIDEST>>,
    pub(super) memory: Vec<u32>,
}

impl HostScratch {
    /// Allocates the memory for a model.
    pub fn new(model: &Model<'_>) -> Self {
        Self {
            query: Box::new(QueryBuffer::empty()),
            // Enough for any budget; estimators without a tree need only the marks.
            memory: vec![0; model.scratch_words_for(&Budget::new(u32::MAX)).max(crate::seen_words(model.classes()))],
        }
    }
}

/// Computes the exact answers to all queries.
///
/// # Errors
/// [`Error`], for the first query that the model refuses.
pub fn truths(model: &Model<'_>, queries: &Matrix) -> Result<Vec<Truth>, Error> {
    each_query(model, queries, |_, scratch| {
        let answer = crate::exact::<1>(model, &scratch.query)?;
        let best = answer.top.first().map_or(Candidate { class: 0, score: Log2::MIN }, |ranked| Candidate {
            class: ranked.class,
            score: ranked.score,
        });
        Ok(Truth { log_z: answer.log_z(), best })
    })
}

/// The result of the search for one query.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// ln of the near field.
    pub near: f32,
    /// ln of the far field, without its factor.
    pub far: f32,
    /// The best score found.
    pub best: Log2,
    /// Row-equivalents.
    pub work: u32,
    /// The words that the frontier took.
    pub frontier_words: u32,
}

impl Outcome {
    /// Returns ln Ẑ with a factor on the far field.
    pub fn log_z(&self, far_factor: f32) -> f32 {
        super::linear::log_sum_exp(&[self.near, self.far + far_factor])
    }
}

/// Searches as [`Classifier::classify`] does for the best `K` classes, and returns how often it did each [`Count`].
///
/// # Errors
/// As [`Classifier::classify`]; [`Error::NoIndex`].
pub fn counts_of<const K: usize>(
    model: &Model<'_>,
    budget: &Budget,
    query: &Query,
    memory: &mut [u32],
) -> Result<[u32; Count::ALL], Error> {
    let tree = model.tree().ok_or(Error::NoIndex)?;
    budget.check(tree.least_cap())?;
    let mut list = heapless::Vec::<Candidate, K>::new();
    let buffers = Buffers::new(memory, model, tree)?;
    let top = Top::new(&mut list);
    Ok(moments::fields(model, tree, query, budget, Log2::default(), buffers, top).counts.numbers())
}

/// Returns the cycles that a search with these counts takes, by the prices that bounds are made of.
pub fn cycles_of(model: &Model<'_>, counts: &[u32; Count::ALL]) -> u64 {
    bound::of_counts(model, counts, bound::CYCLES)
}

/// Searches for all queries with a budget.
///
/// # Errors
/// [`Error`], for the first query that the model refuses, or [`Error::NoIndex`].
pub fn outcomes(model: &Model<'_>, queries: &Matrix, budget: &Budget) -> Result<Vec<Outcome>, Error> {
    let tree = model.tree().ok_or(Error::NoIndex)?;
    each_query(model, queries, |_, HostScratch { query, memory }| {
        let mut list = heapless::Vec::<Candidate, 1>::new();
        let buffers = Buffers::new(memory, model, tree)?;
        let NearAndFar { near, far, work, frontier_words, .. } =
            moments::fields(model, tree, query, budget, Log2::default(), buffers, Top::new(&mut list));
        Ok(Outcome {
            near: near.ln(),
            far: far.ln(),
            best: list.first().map_or(Log2::MIN, |candidate| candidate.score),
            work: work.row_equivalents(),
            frontier_words: frontier_words as u32,
        })
    })
}

/// The best classes that a search finds.
#[derive(Clone, Debug)]
pub struct Found<const K: usize> {
    /// Best first.
    pub best: heapless::Vec<Candidate, K>,
    /// ln Ẑ, without a factor on the far field.
    pub log_z: f32,
}

/// Finds the best `K` classes for each query by a search with a budget.
///
/// # Errors
/// [`Error`], for the first query that the model refuses, or [`Error::NoIndex`].
pub fn found<const K: usize>(model: &Model<'_>, queries: &Matrix, budget: &Budget) -> Result<Vec<Found<K>>, Error> {
    let tree = model.tree().ok_or(Error::NoIndex)?;
    each_query(model, queries, |_, HostScratch { query, memory }| {
        let mut best = heapless::Vec::<Candidate, K>::new();
        let buffers = Buffers::new(memory, model, tree)?;
        let found = moments::fields(model, tree, query, budget, Log2::default(), buffers, Top::new(&mut best));
        Ok(Found { best, log_z: super::linear::log_sum_exp(&[found.near.ln(), found.far.ln()]) })
    })
}

/// Returns the top `K` classes of all queries within a budget, as [`Classifier`] returns them.
///
/// ```
/// use zhat::Budget;
/// use zhat::host::evaluate::{exact_predictions, predictions};
/// use zhat::host::{Kind, Layer, build::{Targets, build}};
///
/// let layer = Layer::generate(400, 8, 1);
/// let queries = layer.queries(Kind::Classifier, 20, 2);
/// let model = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?.model;
/// let exact = exact_predictions::<1>(&model.model(), &queries)?;
/// let found = predictions::<1>(&model.model(), &queries, &Budget::new(400))?;
/// assert!(found.iter().zip(&exact).all(|(found, exact)| (found.log_z() - exact.log_z()).abs() < 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error`], for the first query that the model refuses, [`Error::NoIndex`] or [`Error::Budget`].
pub fn predictions<const K: usize>(
    model: &Model<'_>,
    queries: &Matrix,
    budget: &Budget,
) -> Result<Vec<Prediction<K>>, Error> {
    each_query(model, queries, |_, scratch| classify(model, budget, scratch))
}

/// Returns the top `K` classes of all queries with exact probabilities.
///
/// ```
/// use zhat::host::evaluate::exact_predictions;
/// use zhat::host::{Kind, Layer, flat_model};
///
/// let layer = Layer::generate(400, 8, 1);
/// let model = flat_model(&layer.weights, &layer.biases)?;
/// let exact = exact_predictions::<3>(&model.model(), &layer.queries(Kind::Classifier, 20, 2))?;
/// assert!(exact.iter().all(|answer| answer.work.rows == 400));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error`], for the first query that the model refuses.
pub fn exact_predictions<const K: usize>(model: &Model<'_>, queries: &Matrix) -> Result<Vec<Prediction<K>>, Error> {
    each_query(model, queries, |_, scratch| crate::exact(model, &scratch.query))
}

/// What is made of the answer to each query, by the stored budget or with all rows scored.
///
/// # Errors
/// [`Error`], for the first query that the model refuses.
pub(super) fn each_answer<const K: usize, T: Send>(
    model: &Model<'_>,
    queries: &Matrix,
    of_all_rows: bool,
    make: impl Fn(usize, &Prediction<K>, &HostScratch) -> T + Sync,
) -> Result<Vec<T>, Error> {
    each_query(model, queries, |i, scratch| {
        let answer = match of_all_rows {
            true => crate::exact(model, &scratch.query)?,
            false => Classifier::new(*model)?.classify(&scratch.query, &mut scratch.memory)?,
        };
        Ok(make(i, &answer, scratch))
    })
}

/// Runs [`Classifier::classify`] for the query in the scratch memory.
pub(super) fn classify<const K: usize>(
    model: &Model<'_>,
    budget: &Budget,
    scratch: &mut HostScratch,
) -> Result<Prediction<K>, Error> {
    Classifier::new(*model)?.with_budget(*budget)?.classify(&scratch.query, &mut scratch.memory)
}

fn each_query<T: Send>(
    model: &Model<'_>,
    queries: &Matrix,
    answer: impl Fn(usize, &mut HostScratch) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    queries
        .data()
        .par_chunks_exact(queries.cols())
        .enumerate()
        .map_init(
            || HostScratch::new(model),
            |scratch, (i, values)| {
                scratch.query.set(model, values)?;
                answer(i, scratch)
            },
        )
        .collect()
}
