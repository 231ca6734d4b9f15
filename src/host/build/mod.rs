//! From a weight matrix to a model file: quantise, cluster, predict, link, measure, write.
//!
//! ```text
//! weights, biases, calibration queries
//!   → quantise   int8 rows whose rounding errors make up for each other in the scores
//!   → hierarchy  k-means tree in the metric of the queries, rows reordered leaf by leaf
//!   → predict    each node's log-mass: moments and a learned linear correction
//!   → links      rows that are high together, nearest neighbours
//!   → tune       budgets and settings measured on queries held out
//!   → assemble   one file
//! ```

mod assemble;
mod bounds;
mod hierarchy;
mod kmeans;
mod links;
mod metric;
mod moments;
mod plan;
mod predict;
mod spread_function;
mod tune;

#[cfg(test)]
mod tests;

use nalgebra::DMatrix;

use super::measure;
use super::quantise::{self, Compensation, QuantisedRows};
use super::{BuildError, Matrix, linear};
use crate::math::Log2;
use crate::model::{ModelBuf, Settings};
use crate::tree::SpreadFunction;
use assemble::Parts;
use hierarchy::Hierarchy;
use metric::Metric;
pub use plan::{Plan, Targets};
use predict::Lesson;
pub use tune::{Trial, TrialResult};

/// What is being built, for whoever shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stage {
    /// Rounding the rows.
    Quantise,
    /// Trying settings: this one of so many.
    Try(usize, usize),
    /// Building the index with the settings that were chosen.
    Finish,
}

/// A finished model and how its settings were found.
#[derive(Clone, Debug)]
pub struct Built {
    /// The file.
    pub model: ModelBuf,
    /// The settings that were chosen.
    pub plan: Plan,
    /// Everything that was tried, in order; the chosen one is the best.
    pub trials: Vec<Trial>,
    /// What the held-out queries showed with the chosen settings.
    pub expected: TrialResult,
}

/// Builds a model.
///
/// With calibration queries the index follows them and the settings are chosen on a third of them held out. Without,
/// it is [`Plan::default`], and the rows themselves stand in for queries where something has to be measured.
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
    let source = Source::new(weights, biases, calibration);
    let plans = targets.plans(calibration.is_some(), weights.rows());
    let (fit, held) = match calibration {
        Some(queries) => split(queries),
        None => (None, stand_ins(weights, targets.seed)),
    };
    let mut trials: Vec<Trial> = Vec::new();
    let mut last = None;
    for (i, plan) in plans.iter().enumerate() {
        progress(Stage::Try(i + 1, plans.len()));
        // One index at a time: of a large layer each takes as much memory as the layer.
        drop(last.take());
        let index = Index::build(&source, plan, fit.as_ref(), &held, targets.seed);
        trials.extend(tune::trials(&index, plan, targets, &held)?);
        last = Some(index);
    }
    let best = trials.iter().min_by(|a, b| a.result.cost().total_cmp(&b.result.cost())).expect("a plan").clone();
    progress(Stage::Finish);
    let index = match last {
        // Nothing was put aside, so that another build would give the same.
        Some(index) if calibration.is_none() && plans.last() == Some(&best.plan) => index,
        last => {
            drop(last);
            let all = if fit.is_some() { calibration } else { None };
            Index::build(&source, &best.plan, all, calibration.unwrap_or(&held), targets.seed)
        }
    };
    let log_z_of_zero = Log2::from_nats(linear::log_sum_exp(&source.rows.biases_in_nats()));
    let model = index.assemble(best.settings(log_z_of_zero))?;
    Ok(Built { model, plan: best.plan, expected: best.result.clone(), trials })
}

/// The layer as it will be in the file, before any order, and what the queries say about all of it.
struct Source {
    rows: QuantisedRows,
    moment: Option<DMatrix<f64>>,
    compensation: Option<Compensation>,
}

impl Source {
    fn new(weights: &Matrix, biases: &[f32], calibration: Option<&Matrix>) -> Self {
        let moment = calibration.map(|queries| linear::second_moment(&linear::with_ones(queries)));
        let compensation = moment.as_ref().and_then(Compensation::new);
        // Two bits of room: the vectors of the nodes may be larger than any row.
        let exponent = quantise::scale_exponent(quantise::peak(weights.data())) + 2;
        let rows = QuantisedRows::round(weights, biases, exponent, compensation.as_ref());
        Self { rows, moment, compensation }
    }
}

/// An index without settings.
struct Index<'a> {
    source: &'a Source,
    hierarchy: Hierarchy,
    rows: QuantisedRows,
    fits: Vec<predict::NodeFit>,
    spread_function: (f32, f32),
    links: Vec<u32>,
}

impl<'a> Index<'a> {
    /// `lesson` are the queries to learn from, if any; `like` are queries as they will come.
    fn build(source: &'a Source, plan: &Plan, lesson: Option<&Matrix>, like: &Matrix, seed: u64) -> Self {
        let metric = Metric::new(source.moment.as_ref(), plan.blend);
        let hierarchy = Hierarchy::build(&metric.all(&source.rows), plan.branching, plan.leaf, seed);
        let rows = source.rows.reordered(&hierarchy.order);
        let moment = source.moment.clone().unwrap_or_else(|| linear::second_moment(&linear::with_ones(like)));
        let mut fits = moments::moments(&rows, &hierarchy, &moment);
        let spread_function = spread_function::fit(&rows, &hierarchy, &fits, like);
        if let Some(lesson) = lesson.filter(|_| plan.learn) {
            let (constant, slope) = spread_function;
            let function = SpreadFunction { constant, slope, curve_exponent: 0, frozen_exponent: 0 };
            if let Some(lesson) = Lesson::new(lesson, &function) {
                predict::learn(&rows, &hierarchy, &lesson, &mut fits);
            }
        }
        let links = links::links(&rows, &metric, &hierarchy, lesson, plan.links);
        Self { source, hierarchy, rows, fits, spread_function, links }
    }

    fn assemble(&self, settings: Settings) -> Result<ModelBuf, BuildError> {
        let bounds = |nodes: &QuantisedRows| bounds::bounds(&self.rows, &self.hierarchy, nodes);
        assemble::assemble(&Parts {
            bounds: Some(&bounds),
            rows: &self.rows,
            order: &self.hierarchy.order,
            hierarchy: &self.hierarchy,
            fits: &self.fits,
            spread_function: self.spread_function,
            compensation: self.source.compensation.as_ref(),
            links: &self.links,
            settings,
        })
    }
}

fn check_queries(weights: &Matrix, queries: Option<&Matrix>) -> Result<(), BuildError> {
    let Some(queries) = queries else { return Ok(()) };
    if queries.cols() != weights.cols() {
        return Err(BuildError::QueryDimension { rows: weights.cols(), queries: queries.cols() });
    }
    match queries.data().iter().position(|x| !x.is_finite()) {
        Some(at) => Err(BuildError::Query { query: at / queries.cols(), column: at % queries.cols() }),
        None => Ok(()),
    }
}

/// The first two thirds to learn from, the last to measure on: neighbours in a recording stay together. With few
/// queries nothing is learned from them, and all of them are used to measure.
fn split(queries: &Matrix) -> (Option<Matrix>, Matrix) {
    const FEW: usize = 64;
    if queries.rows() < FEW {
        return (None, queries.clone());
    }
    let first = queries.rows() * 2 / 3;
    let part = |data: &[f32]| Matrix::new(data.to_vec(), queries.cols()).expect("whole rows");
    let (learn, hold) = queries.data().split_at(first * queries.cols());
    (Some(part(learn)), part(hold))
}

/// Rows in the place of queries: evenly taken, less those so large that no model would take them for a query.
fn stand_ins(weights: &Matrix, seed: u64) -> Matrix {
    const COUNT: usize = 500;
    let step = (weights.rows() / COUNT).max(1);
    let first = seed as usize % step;
    let norm = |row: usize| linear::dot(weights.row(row), weights.row(row)).sqrt();
    let largest = (0..weights.rows()).map(norm).fold(0.0, f32::max);
    let small = |&row: &usize| norm(row) * largest < crate::rows::SCORE_LIMIT * 0.9;
    let picked = (first..weights.rows()).step_by(step).filter(small).take(COUNT);
    let data: Vec<f32> = picked.flat_map(|row| weights.row(row)).copied().collect();
    let nothing = vec![0.0; weights.cols()];
    Matrix::new(if data.is_empty() { nothing } else { data }, weights.cols()).expect("whole rows")
}
