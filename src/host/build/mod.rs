//! From a weight matrix to a model file: quantise, cluster, predict, link, measure, write.
//!
//! ```text
//! weights, biases, calibration queries
//!   → quantise   int8 or 4-bit rows whose rounding errors make up for each other in the scores
//!   → parts      queries to learn from, to choose by, and to prove it
//!   → hierarchy  k-means tree in the metric of the queries, rows reordered leaf by leaf
//!   → predict    each node's log-mass: moments and a learned linear correction
//!   → links      rows that are high together, nearest neighbours, what a search misses
//!   → builder    plans and budgets measured on queries held out; the best one taught by more of them
//!   → assemble   one file
//!   → prove      intervals measured against the float layer
//! ```

mod asking;
mod assemble;
mod bounds;
mod builder;
pub(super) mod hierarchy;
mod index;
mod kmeans;
mod likeness;
mod links;
mod made_up;
mod metric;
mod moments;
mod parts;
mod plan;
mod predict;
mod prove;
mod reach;
mod shift;
mod spread_function;
mod stress;
mod thin;
mod tune;
mod weighted;

#[cfg(test)]
mod tests;

use super::evaluate::FloatLayer;
use super::{BuildError, Matrix, linear, quantise};
use crate::math::Log2;
use crate::model::{FileWriter, ModelBuf, Section};
pub(in crate::host) use assemble::indices;
use builder::{Builder, without_links};
use index::Source;
use parts::Parts;
pub use plan::{Plan, Targets};
pub use predict::Correction;
pub use tune::{Trial, TrialResult, Unseen};

/// A stage of a build, for progress display.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
///
/// use zhat::host::build::{Stage, Targets, build};
///
/// let mut show = |stage: Stage| match stage {
///     Stage::Try(which, of) => println!("setting {which} of {of}"),
///     other => println!("{other:?}"),
/// };
/// build(&layer.weights, &layer.biases, None, &Targets::default(), &mut show)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Rounds the rows.
    Quantise,
    /// Looks for the classes that are high together.
    Teach,
    /// Tries settings: which one, of how many.
    Try(usize, usize),
    /// Builds the index with the settings that were chosen.
    Finish,
    /// Measures the intervals.
    Prove,
}

/// A finished model and how its settings were found.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
/// # use zhat::host::build::{Targets, build};
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// println!("{} bytes, after {} trials", built.model.len(), built.trials.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Built {
    /// The file.
    pub model: ModelBuf,
    /// The index that it has, or why it has none and scores all rows.
    pub index: Result<Chosen, NoIndex>,
    /// Every trial, in order.
    pub trials: Vec<Trial>,
}

/// The index that was chosen.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
/// # use zhat::host::build::{Targets, build};
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// if let Ok(chosen) = built.index {
///     println!("{:?}, an error of {}", chosen.plan, chosen.expected.error);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Its shape.
    pub plan: Plan,
    /// What the queries to choose by showed of it.
    pub expected: TrialResult,
    /// The same if no links were followed, where they are.
    pub without_links: Option<TrialResult>,
}

/// Why a model has no index.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::build::{NoIndex, Targets, build};
///
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// assert_eq!(built.index.unwrap_err(), NoIndex::Cheaper); // 60 rows are scored sooner than searched
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoIndex {
    /// Scoring all rows takes fewer instructions than searching them.
    Cheaper,
    /// No search keeps to the work that was asked for and still finds a class: the row-equivalents that were asked for and
    /// the least that are enough.
    Work {
        /// What was asked for.
        asked: usize,
        /// The least.
        least: usize,
    },
}

/// With at most this many rows all are always scored.
const TINY: usize = 64;

/// Builds a model.
///
/// With calibration queries the index follows them as far as it helps: plans with and without what they teach are compared
/// on queries held out. Without, it is [`Plan::default`], and the rows themselves stand in for queries where something has
/// to be chosen.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
///
/// use zhat::host::build::{Targets, build};
///
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// assert_eq!(built.model.model().classes(), 400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`BuildError`], if the weights or queries can't make a model.
pub fn build(
    weights: &Matrix,
    biases: &[f32],
    calibration: Option<&Matrix>,
    targets: &Targets,
    progress: &mut dyn FnMut(Stage),
) -> Result<Built, BuildError> {
    quantise::check(weights, biases)?;
    check_queries(weights, calibration)?;
    progress(Stage::Quantise);
    let parts = Parts::new(weights, calibration, targets.seed);
    let like = calibration.unwrap_or(&parts.tune);
    let source = Source::new(weights, biases, like, calibration.is_some(), targets.bits);
    let builder = Builder { weights, source: &source, parts: &parts, like, targets };
    let is_tiny = weights.rows() <= TINY && !targets.always_index;
    let searched = if is_tiny { Err(NoIndex::Cheaper) } else { builder.search(calibration.is_some(), progress)? };
    progress(Stage::Finish);
    let log_z_of_zero = Log2::from_nats(linear::log_sum_exp(&source.rows.biases_in_nats()));
    let (model, index, trials) = match searched {
        Ok((best, trials)) => {
            let model = builder.finish(&best, log_z_of_zero)?;
            let without_links = without_links(&best, &trials);
            (model, Ok(Chosen { plan: best.plan, expected: best.result, without_links }), trials)
        }
        Err(reason) => (builder.without_index(log_z_of_zero)?, Err(reason), Vec::new()),
    };
    let layer = FloatLayer { weights, biases, temperature: 1.0 };
    let trust = match (&parts.prove, calibration) {
        (Some(queries), Some(all)) => {
            progress(Stage::Prove);
            prove::prove(&model.model(), layer, queries, all, targets.reject)?
        }
        _ => None,
    };
    let model = match trust {
        Some((trust, likeness)) => {
            let mut file = FileWriter::reopen(&model)?;
            drop(model);
            file.optional(Section::Trust, &trust.to_words());
            file.optional(Section::Likeness, likeness.stored());
            file.into_model()?
        }
        None => model,
    };
    Ok(Built { model, index, trials })
}

fn check_queries(weights: &Matrix, queries: Option<&Matrix>) -> Result<(), BuildError> {
    let Some(queries) = queries else { return Ok(()) };
    if queries.cols() != weights.cols() {
        return Err(BuildError::QueryDimension { rows: weights.cols(), queries: queries.cols() });
    }
    if let Some(at) = queries.data().iter().position(|x| !x.is_finite()) {
        return Err(BuildError::Query { query: at / queries.cols(), column: at % queries.cols() });
    }
    let largest = weights.iter().map(|row| linear::dot(row, row).sqrt()).fold(0.0, f32::max);
    let most = crate::rows::SCORE_LIMIT / largest;
    let norms = queries.iter().map(|query| linear::dot(query, query).sqrt());
    match norms.enumerate().find(|(_, norm)| *norm > most) {
        Some((query, norm)) => Err(BuildError::QueryTooLarge { query, norm, most }),
        None => Ok(()),
    }
}
