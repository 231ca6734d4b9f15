//! From a weight matrix to a model file: quantise, cluster, predict, link, measure, write.
//!
//! ```text
//! weights, biases, calibration queries
//!   → quantise   int8 or 4-bit rows whose rounding errors make up for each other in the scores
//!   → parts      queries to learn from, to choose by, and to prove it
//!   → hierarchy  k-means tree in the metric of the queries, rows reordered leaf by leaf
//!   → predict    each node's log-mass: moments and a learned linear correction
//!   → links      rows that are high together, nearest neighbours
//!   → tune       plans and budgets measured on queries held out
//!   → assemble   one file
//!   → prove      intervals measured against the float layer
//! ```

mod assemble;
mod bounds;
pub(crate) mod effort;
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
use super::{BuildError, Matrix, cost, linear};
use super::{measure, quantise};
use crate::math::Log2;
use crate::model::{Budget, FileWriter, ModelBuf, Section, Settings};
pub(in crate::host) use assemble::indices;
use effort::Effort;
use index::{Grown, Index, Source, Taught};
use made_up::MadeUp;
use parts::Parts;
pub use plan::{Plan, Targets};
pub use predict::Correction;
use reach::Asking;
use shift::Shift;
use tune::Judge;
pub use tune::{Trial, TrialResult, Unseen};

/// What is being built, for whoever shows it, and which part of the whole build's time it is expected to take.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
///
/// use zhat::host::build::{Stage, Targets, Task, build};
///
/// let mut show = |stage: Stage| match stage.task {
///     Task::Try(which, of) => println!("{:.0} %: setting {which} of {of}", 100.0 * stage.from),
///     other => println!("{:.0} %: {other:?}", 100.0 * stage.from),
/// };
/// build(&layer.weights, &layer.biases, None, &Targets::default(), &mut show)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// What is done.
    pub task: Task,
    /// The share of the time before it.
    pub from: f32,
    /// The share of the time up to its end.
    pub to: f32,
}

/// What is done in a stage.
///
/// ```
/// use zhat::host::build::Task;
///
/// assert_ne!(Task::Try(1, 8), Task::Try(2, 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Task {
    /// Rounding the rows.
    Quantise,
    /// Looking for the classes that are high together.
    Teach,
    /// Trying settings: which one, of how many.
    Try(usize, usize),
    /// Building the index with the settings that were chosen.
    Finish,
    /// Measuring the intervals.
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

/// What comes first in the list of plans is best most often: a later one takes its place if its cost is below this share of
/// it. Smaller differences are the luck of the queries.
const CLEARLY: f32 = 0.96;
/// With more rows than this, work that no search can keep to is an error; with fewer, all rows are scored.
const SMALL: usize = 4096;
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
    let effort = Effort::new(weights.rows(), weights.cols(), calibration.map(Matrix::rows), targets);
    let progress = &mut |task: Task| progress(effort.stage(task));
    progress(Task::Quantise);
    let source = Source::new(weights, biases, calibration, targets.bits);
    let parts = Parts::new(weights, calibration, targets.seed);
    let builder =
        Builder { weights, source: &source, parts: &parts, like: calibration.unwrap_or(&parts.tune), targets };
    let is_tiny = weights.rows() <= TINY && !targets.always_index;
    let searched = if is_tiny { Err(NoIndex::Cheaper) } else { builder.search(calibration, progress)? };
    progress(Task::Finish);
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
            progress(Task::Prove);
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

/// The best of the trials with the tree of the one that was chosen that follow no links.
fn without_links(best: &Trial, trials: &[Trial]) -> Option<TrialResult> {
    let same = |trial: &&Trial| trial.budget.expand == 0 && trial.plan.has_the_tree_of(&best.plan);
    let others = trials.iter().filter(same).min_by(|a, b| a.result.cost().total_cmp(&b.result.cost()));
    others.filter(|_| best.budget.expand > 0).map(|trial| trial.result.clone())
}

struct Builder<'a> {
    weights: &'a Matrix,
    source: &'a Source,
    parts: &'a Parts,
    /// Queries as they will come.
    like: &'a Matrix,
    targets: &'a Targets,
}

impl Builder<'_> {
    /// The best plan and budget, and every trial.
    fn search(
        &self,
        calibration: Option<&Matrix>,
        progress: &mut dyn FnMut(Task),
    ) -> Result<Result<(Trial, Vec<Trial>), NoIndex>, BuildError> {
        let rows = self.source.rows.len();
        let plans = self.targets.plans(calibration.is_some(), rows);
        let plans: Vec<Plan> =
            plans.into_iter().map(|plan| Plan { linked: self.targets.linked.unwrap_or(1.0), ..plan }).collect();
        let most_links = plans.iter().map(|plan| plan.links).max().unwrap_or(0);
        let taught = self.parts.learn.as_ref().map(|queries| {
            progress(Task::Teach);
            Taught::new(self.source, queries, most_links)
        });
        let taught_classes = taught.as_ref().map(Taught::best);
        let judge = Judge::new(self.targets, &self.parts.tune, taught_classes, rows);
        let share = |share: f32| (share * rows as f32) as usize;
        let (work, cap) = (share(self.targets.work), share(self.targets.cap.max(self.targets.work)));
        let trees: Vec<&[Plan]> = plans.chunk_by(Plan::has_the_tree_of).collect();
        let mut near: Option<(f32, Vec<Vec<u32>>)> = None;
        let mut trials: Vec<Trial> = Vec::new();
        let mut best: Option<(Plan, f32)> = None;
        let mut least = usize::MAX;
        for (i, plans) in trees.iter().enumerate() {
            progress(Task::Try(i + 1, trees.len() + 1));
            let grown = Grown::new(self.source, &plans[0], self.like, self.targets.seed);
            least = least.min(grown.hierarchy.least_cap());
            if grown.hierarchy.least_cap() > cap {
                continue;
            }
            let learned = taught.as_ref().and_then(|taught| grown.learn(taught));
            let near = self.nearest(&grown, plans[0].blend, most_links, &mut near);
            for plan in *plans {
                let index = grown.index(plan, learned.as_deref(), taught.as_ref(), near);
                let (trial, cost) = judge.try_once(&index, plan)?;
                if best.as_ref().is_none_or(|&(_, least)| cost < CLEARLY * least) {
                    best = Some((trial.plan, cost));
                }
                trials.push(trial);
            }
        }
        let none = |least: usize| {
            let reason = NoIndex::Work { asked: work, least };
            if rows <= SMALL { Ok(Err(reason)) } else { Err(BuildError::Work { asked: work, least, rows }) }
        };
        let Some((first, _)) = best else {
            return none(least);
        };
        progress(Task::Try(trees.len() + 1, trees.len() + 1));
        let grown = Grown::new(self.source, &first, self.like, self.targets.seed);
        let learned = taught.as_ref().and_then(|taught| grown.learn(taught));
        let near = self.nearest(&grown, first.blend, most_links, &mut near);
        let settings = judge.provisional(&first, &trials);
        let made_up = taught.as_ref().and_then(|taught| self.made_up(Some(taught), self.asked(LOOKED_AT_TO_CHOOSE)));
        let asking = match &taught {
            Some(_) => {
                let index = grown.index(&first, learned.as_deref(), taught.as_ref(), near);
                asking(&index, settings, taught.as_ref(), made_up.as_ref())?
            }
            None => Vec::new(),
        };
        let index = |plan: &Plan| -> Result<Index<'_>, BuildError> {
            let mut index = grown.index(plan, learned.as_deref(), taught.as_ref(), near);
            index.reach(settings, &asking)?;
            Ok(index)
        };
        // Links from joint appearance, with and without: each kind is worth something on its own.
        let kinds: &[bool] = if first.joint_links && taught.is_some() { &[true, false] } else { &[false] };
        for &joint_links in kinds {
            let plan = Plan { joint_links, ..first };
            trials.extend(judge.try_all(&index(&plan)?, &plan)?);
        }
        let eligible = trials.iter().filter(|trial| judge.keeps_to_work(trial));
        let Some(mut best) = eligible.min_by(|a, b| a.result.cost().total_cmp(&b.result.cost())).cloned() else {
            return none(least);
        };
        if taught.is_some() && self.targets.linked.is_none() {
            best = thin::fewest_links(&judge, best, index, &mut trials)?;
        }
        let stride = self.source.rows.dim.next_multiple_of(crate::kernels::ROW_ALIGN);
        let bits = self.targets.bits;
        let searching = cost::search_instructions(f64::from(best.result.work) * rows as f64, stride, bits);
        if searching >= cost::exact_instructions(rows, stride, bits) && !self.targets.always_index {
            return Ok(Err(NoIndex::Cheaper));
        }
        Ok(Ok((best, trials)))
    }

    /// The nearest rows in a tree's metric; computed once for each metric where the tree does not matter.
    fn nearest<'n>(
        &self,
        grown: &Grown<'_>,
        blend: f32,
        links: usize,
        kept: &'n mut Option<(f32, Vec<Vec<u32>>)>,
    ) -> &'n [Vec<u32>] {
        let is_kept = kept.as_ref().is_some_and(|(of, _)| *of == blend);
        if !is_kept || !links::is_the_same_for_every_tree(&self.source.rows) {
            *kept = Some((blend, grown.nearest(links)));
        }
        kept.as_ref().map_or(&[], |(_, near)| near)
    }

    /// The chosen index, taught by all queries but those that are to prove it.
    fn finish(&self, best: &Trial, log_z_of_zero: Log2) -> Result<ModelBuf, BuildError> {
        let plan = &best.plan;
        let grown = Grown::new(self.source, plan, self.like, self.targets.seed);
        let queries = self.parts.learn_and_tune.as_ref();
        let taught = queries.map(|queries| Taught::new(self.source, queries, plan.links));
        let learned = taught.as_ref().and_then(|taught| grown.learn(taught));
        let near = grown.nearest(plan.links);
        let mut index = grown.index(plan, learned.as_deref(), taught.as_ref(), &near);
        let mut settings = best.settings(log_z_of_zero);
        let made_up = self.made_up(taught.as_ref(), self.asked(LOOKED_AT));
        let asking = asking(&index, settings, taught.as_ref(), made_up.as_ref())?;
        index.reach(settings, &asking)?;
        if taught.is_none() {
            let draft = index.draft(settings)?;
            let found = measure::outcomes(&draft.model(), &self.parts.tune, &settings.budget)?;
            let truths = measure::truths(&draft.model(), &self.parts.tune)?;
            settings.far_factor = Log2::from_nats(tune::far_factor(&found, &truths));
        }
        if let Some(taught) = &taught {
            let draft = index.draft(settings)?;
            let found = measure::outcomes(&draft.model(), taught.queries, &settings.budget)?;
            if let Some(shift) = Shift::fit(taught.queries, &found, &taught.log_z(), best.far_factor) {
                index.shift(&shift);
            }
        }
        index.assemble(settings)
    }

    /// How many queries can be asked far beyond the budget within so many rows and nodes.
    fn asked(&self, looked_at: f32) -> usize {
        reach::asked(self.weights.rows(), self.targets.work, looked_at)
    }

    /// A query for each class, as far as they are not too many: made up as calibration queries are, or its row.
    fn made_up(&self, taught: Option<&Taught<'_>>, most: usize) -> Option<Matrix> {
        let queries = match taught {
            Some(taught) => MadeUp::learn(&self.source.rows, taught.queries, &taught.tops)?.varied(most),
            None => parts::stand_ins(self.weights, most, self.targets.seed),
        };
        parts::those_that_fit(queries, self.weights)
    }

    /// The rows alone.
    fn without_index(&self, log_z_of_zero: Log2) -> Result<ModelBuf, BuildError> {
        let mut file = self.source.rows.start_file(None);
        let settings = Settings {
            budget: Budget { cap: self.source.rows.len() as u32, epsilon: 0.0, expand: 0 },
            far_factor: Log2::default(),
            temperature: 1.0,
            frontier_words: 0,
            log_z_of_zero,
        };
        file.required(Section::Settings, &settings.to_words());
        Ok(file.into_model()?)
    }
}

/// Rows and nodes that may be looked at to find out what queries that are made up miss: for the finished model, and while it is
/// chosen.
const LOOKED_AT: f32 = 1e9;
const LOOKED_AT_TO_CHOOSE: f32 = 1e8;
/// What a query that is made up counts beside one that came.
const MADE_UP_WEIGHT: f32 = 0.15;

/// Those who ask for links.
fn asking<'a>(
    index: &Index<'_>,
    settings: Settings,
    taught: Option<&Taught<'a>>,
    made_up: Option<&'a Matrix>,
) -> Result<Vec<Asking<'a>>, BuildError> {
    let draft = index.draft(settings)?;
    let came = taught.map(|taught| (taught.queries, 1.0));
    let all = came.into_iter().chain(made_up.map(|queries| (queries, MADE_UP_WEIGHT)));
    all.map(|(queries, weight)| Asking::new(&draft.model(), queries, weight, &settings.budget)).collect()
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
