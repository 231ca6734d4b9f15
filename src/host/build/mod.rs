//! Builds a model file from a weight matrix: quantises, clusters, predicts, links, measures, writes.
//!
//! ```text
//! weights, biases, calibration queries
//!   → Quantised   int8 or 4-bit rows whose rounding errors make up for each other in the scores
//!   → Clustered   a k-means tree in the metric of the queries; rows reordered leaf by leaf
//!   → Fitted      each node's log-mass: moments and a learned linear correction
//!   → Linked      rows that are high together, nearest neighbours, links that a search misses
//!   → chosen      tree, budget and links by what queries held out show; then taught by more of them
//!   → assembled   one file
//!   → calibrated  intervals measured against the float layer
//! ```
//!
//! `pipeline` has the stages, `choose` the comparison, `tunables` every number with its reason.

mod assemble;
mod calibrate;
mod choose;
mod cluster;
mod corrections;
mod likeness;
mod links;
mod nodes;
mod parts;
mod pipeline;
mod plan;
mod stress;
mod synthetic;
mod tunables;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::evaluate::FloatLayer;
use super::report::cost;
use super::{BuildError, Matrix, linear, measure, quantise};
use crate::math::Log2;
use crate::model::{FileWriter, ModelBuf, Section};
pub(in crate::host) use assemble::indices;
use choose::Judge;
pub use choose::{Trial, TrialResult, Unseen};
#[doc(hidden)]
pub use cluster::Hierarchy;
use corrections::GlobalCorrection;
use parts::Parts;
use pipeline::{Clustered, Fitted, Linked, Quantised, QueryLabels};
pub use plan::{Correction, Plan, Targets};
use synthetic::LinkProbe;
pub use tunables::Tunables;
use tunables::{LOOKED_AT, LOOKED_AT_TO_CHOOSE, SMALL, TINY};

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
    /// Grows the trees.
    Cluster,
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
    /// Its result on the queries to choose by.
    pub expected: TrialResult,
    /// The result if no links were followed, where they are.
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
        /// The row-equivalents that were asked for.
        asked: usize,
        /// The least.
        least: usize,
    },
}

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
    let tuned = calibration.map(|all| parts.tuned(all));
    let like = tuned.unwrap_or(&parts.tune);
    let quantised = Quantised::new(weights, biases, like, tuned.is_some(), targets.bits);
    let log_z_of_zero = Log2::from_nats(linear::log_sum_exp(&quantised.rows.biases_in_nats()));
    let job = Job { weights, parts: &parts, like, targets, log_z_of_zero };
    let mut trials = Vec::new();
    let (model, index) = match job.index(&quantised, tuned.is_some(), progress, &mut trials)? {
        Ok((model, chosen)) => (model, Ok(chosen)),
        Err(reason) => (quantised.without_index(log_z_of_zero)?, Err(reason)),
    };
    let layer = FloatLayer { weights, biases, temperature: 1.0 };
    let trust = match (&parts.prove, tuned) {
        (Some(queries), Some(tuned)) => {
            progress(Stage::Prove);
            calibrate::calibrate(&model.model(), layer, tuned, queries, targets.reject)?
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

/// Holds what an index is built for.
struct Job<'a> {
    weights: &'a Matrix,
    parts: &'a Parts,
    /// Queries as they will come.
    like: &'a Matrix,
    targets: &'a Targets,
    log_z_of_zero: Log2,
}

impl Job<'_> {
    /// Builds the index that does best, or says why there is none.
    fn index(
        &self,
        quantised: &Quantised,
        with_queries: bool,
        progress: &mut dyn FnMut(Stage),
        trials: &mut Vec<Trial>,
    ) -> Result<Result<(ModelBuf, Chosen), NoIndex>, BuildError> {
        let Self { parts, targets, .. } = *self;
        let rows = quantised.rows.len();
        if rows <= TINY && !targets.always_index {
            return Ok(Err(NoIndex::Cheaper));
        }
        progress(Stage::Cluster);
        let plans = targets.plans(with_queries, rows);
        let linked = targets.linked.unwrap_or(1.0);
        let plans: Vec<Plan> = plans.into_iter().map(|plan| Plan { linked, ..plan }).collect();
        let trees = match self.trees(quantised, &plans)? {
            Ok(trees) => trees,
            Err(reason) => return Ok(Err(reason)),
        };
        let links = plans.iter().map(|plan| plan.links).max().unwrap_or(0);
        let all = parts.learn_and_tune.as_ref().map(|queries| {
            progress(Stage::Teach);
            (queries, links::top_rows(&quantised.rows, queries, targets.tunables.top_rows))
        });
        let labels = parts.learn.as_ref().zip(all.as_ref()).map(|(learn, (_, tops))| {
            QueryLabels::new(quantised, learn, tops[..learn.rows()].to_vec(), links, &targets.tunables)
        });
        let seen = labels.as_ref().map(|labels| labels.best().collect::<HashSet<u32>>());
        let judge = Judge::new(targets, quantised, &parts.tune, seen)?;
        // In a small layer the nearest rows are the same for every tree, and nearly so in every metric.
        let near = trees[0].1.nearest(links);
        let (fitted, first) = self.best_tree(trees, labels.as_ref(), &judge, &near, progress, trials)?;
        let chosen = self.best_links(quantised, fitted, &first, labels.as_ref(), &judge, &near, trials)?;
        let (fitted, best, without_links) = match chosen {
            Some(chosen) => chosen,
            None => return self.no_index_for_work(rows, trials),
        };
        if self.is_soon_exact(quantised, best.trial.result.work * rows as f32) {
            return Ok(Err(NoIndex::Cheaper));
        }
        progress(Stage::Finish);
        drop(labels);
        let labels = all.map(|(queries, tops)| QueryLabels::new(quantised, queries, tops, links, &targets.tunables));
        let model = self.finish(quantised, fitted, &best.trial, labels.as_ref(), &judge, &near)?;
        let Trial { plan, result: expected, .. } = best.trial;
        Ok(Ok((model, Chosen { plan, expected, without_links })))
    }

    /// Grows a tree for each shape and metric, those left out that no search within the cap is sure to get through.
    #[allow(clippy::type_complexity, reason = "plans and the tree that they share")]
    fn trees<'q, 'p>(
        &self,
        quantised: &'q Quantised,
        plans: &'p [Plan],
    ) -> Result<Result<Vec<(&'p [Plan], Clustered<'q>)>, NoIndex>, BuildError> {
        let targets = self.targets;
        let rows = quantised.rows.len();
        let cap = (targets.cap.max(targets.work) * rows as f32) as usize;
        let grown =
            plans.chunk_by(Plan::has_the_tree_of).map(|plans| (plans, quantised.cluster(&plans[0], targets.seed)));
        let all: Vec<_> = grown.collect();
        let least = all.iter().map(|(_, tree)| tree.hierarchy.least_cap()).min().unwrap_or(rows);
        let trees: Vec<_> = all.into_iter().filter(|(_, tree)| tree.hierarchy.least_cap() <= cap).collect();
        if trees.is_empty() {
            return Ok(Err(self.no_work(rows, least)?));
        }
        // Every search scores the top of its tree.
        let top = trees.iter().map(|(_, tree)| tree.hierarchy.top).min().unwrap_or(0);
        if self.is_soon_exact(quantised, top as f32) {
            return Ok(Err(NoIndex::Cheaper));
        }
        Ok(Ok(trees))
    }

    /// Returns why there is no index within the work, which is an error with many rows.
    fn no_work(&self, rows: usize, least: usize) -> Result<NoIndex, BuildError> {
        let asked = (self.targets.work * rows as f32) as usize;
        if rows <= SMALL { Ok(NoIndex::Work { asked, least }) } else { Err(BuildError::Work { asked, least, rows }) }
    }

    /// Returns whether scoring all rows takes fewer instructions than a search with this many dot products.
    fn is_soon_exact(&self, quantised: &Quantised, dot_products: f32) -> bool {
        let stride = quantised.rows.dim.next_multiple_of(crate::kernels::ROW_ALIGN);
        let bits = self.targets.bits;
        let searching = cost::search_instructions(f64::from(dot_products), stride, bits);
        searching >= cost::exact_instructions(quantised.rows.len(), stride, bits) && !self.targets.always_index
    }

    /// Compares the plans, and keeps the tree of the best.
    fn best_tree<'q>(
        &self,
        trees: Vec<(&[Plan], Clustered<'q>)>,
        labels: Option<&QueryLabels<'_>>,
        judge: &Judge<'_>,
        near: &[Vec<u32>],
        progress: &mut dyn FnMut(Stage),
        trials: &mut Vec<Trial>,
    ) -> Result<(Fitted<'q>, Trial), BuildError> {
        let tunables = &self.targets.tunables;
        let of = trees.len() + 1;
        let (mut best, mut kept) = (None, None);
        for (i, (plans, tree)) in trees.into_iter().enumerate() {
            progress(Stage::Try(i + 1, of));
            let mut fitted = tree.fit(self.like, labels);
            let mut is_best = false;
            for plan in plans {
                let linked = fitted.link(plan, labels, near, tunables);
                let tried = judge.try_index(&linked)?;
                fitted = linked.fitted;
                trials.push(tried.trial.clone());
                if best.as_ref().is_none_or(|best| tried.is_better_than(best, tunables.standard_errors)) {
                    (best, is_best) = (Some(tried), true);
                }
            }
            if is_best {
                kept = Some(fitted);
            }
        }
        progress(Stage::Try(of, of));
        let (fitted, best) = kept.zip(best).expect("there is a tree, and a plan for each");
        Ok((fitted, best.trial))
    }

    /// Lays links to what a search misses, chooses the budget, and takes links away where they do nothing. Returns the trial that was
    /// chosen, and what was reached without links if it follows any.
    #[allow(clippy::too_many_arguments, clippy::type_complexity, reason = "the state between two stages")]
    fn best_links<'q>(
        &self,
        quantised: &'q Quantised,
        fitted: Fitted<'q>,
        first: &Trial,
        labels: Option<&QueryLabels<'_>>,
        judge: &Judge<'_>,
        near: &[Vec<u32>],
        trials: &mut Vec<Trial>,
    ) -> Result<Option<(Fitted<'q>, choose::Tried, Option<TrialResult>)>, BuildError> {
        let targets = self.targets;
        let tunables = &targets.tunables;
        let settings = first.settings(Log2::MIN);
        let mut linked = fitted.link(&first.plan, labels, near, tunables);
        let synthetic = labels.and_then(|labels| {
            synthetic::for_each_class(self.weights, quantised, Some(labels), targets, LOOKED_AT_TO_CHOOSE)
        });
        let probes = match labels {
            Some(_) => LinkProbe::all(&linked, settings, labels, synthetic.as_ref(), targets)?,
            None => Vec::new(),
        };
        linked.reach(settings, &probes, tunables)?;
        let Some((best, without)) = judge.try_budgets(&linked)? else { return Ok(None) };
        trials.extend(without.iter().chain([&best]).map(|tried| tried.trial.clone()));
        let without = without.filter(|_| best.trial.budget.expand > 0).map(|tried| tried.trial.result);
        if labels.is_none() || targets.linked.is_some() {
            return Ok(Some((linked.fitted, best, without)));
        }
        let link = |fitted: Fitted<'q>, plan: &Plan| -> Result<Linked<'q>, BuildError> {
            let mut linked = fitted.link(plan, labels, near, tunables);
            linked.reach(settings, &probes, tunables)?;
            Ok(linked)
        };
        let (fitted, best) = choose::sparsify(judge, linked.fitted, best, &link, trials)?;
        Ok(Some((fitted, best, without)))
    }

    fn no_index_for_work(
        &self,
        rows: usize,
        trials: &[Trial],
    ) -> Result<Result<(ModelBuf, Chosen), NoIndex>, BuildError> {
        let least = trials.iter().map(|trial| trial.budget.cap as usize).min().unwrap_or(rows);
        Ok(Err(self.no_work(rows, least)?))
    }

    /// Builds the chosen index, taught by all queries but those that are to prove it.
    fn finish(
        &self,
        quantised: &Quantised,
        fitted: Fitted<'_>,
        best: &Trial,
        labels: Option<&QueryLabels<'_>>,
        judge: &Judge<'_>,
        near: &[Vec<u32>],
    ) -> Result<ModelBuf, BuildError> {
        let targets = self.targets;
        let tunables = &targets.tunables;
        let mut linked = fitted.taught_by(labels).link(&best.plan, labels, near, tunables);
        let mut settings = best.settings(self.log_z_of_zero);
        let synthetic = synthetic::for_each_class(self.weights, quantised, labels, targets, LOOKED_AT);
        let probes = LinkProbe::all(&linked, settings, labels, synthetic.as_ref(), targets)?;
        linked.reach(settings, &probes, tunables)?;
        match labels {
            None => settings.far_factor = Log2::from_nats(judge.far_factor(&linked, settings)?),
            Some(labels) => {
                let draft = linked.draft(settings)?;
                let found = measure::outcomes(&draft.model(), labels.queries, &settings.budget)?;
                let log_z: Vec<f32> = labels.tops.iter().map(|top| top.log_z).collect();
                let (spectrum, ridge) = (&quantised.spectrum, tunables.global_ridge);
                let fit = GlobalCorrection::fit(spectrum, labels.queries, &found, &log_z, best.far_factor, ridge);
                if let Some(correction) = fit {
                    linked.correct(&correction);
                }
            }
        }
        linked.assemble(settings)
    }
}
