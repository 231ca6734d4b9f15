//! Choosing by measurement: what each setting reaches on queries that were held out.

use std::collections::HashSet;

use super::index::Index;
use super::{Plan, Targets};
use crate::host::measure::{self, Outcome, Truth};
use crate::host::{BuildError, Matrix};
use crate::math::Log2;
use crate::model::{Budget, Model, Settings};

/// One setting and what it reached.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
/// # use zhat::host::build::{Targets, build};
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// for trial in &built.trials {
///     println!("{:?} with a cap of {}: {}", trial.plan, trial.budget.cap, trial.result.error);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trial {
    /// The shape of the index.
    pub plan: Plan,
    /// The budget.
    pub budget: Budget,
    /// ln α, the factor on the far field.
    pub far_factor: f32,
    /// What it reached.
    pub result: TrialResult,
}

/// What a setting reached.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
/// # use zhat::host::build::{Targets, build};
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// if let Some(trial) = built.trials.first() {
///     println!("error {}, recall {}, cost {}", trial.result.error, trial.result.recall, trial.result.cost());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TrialResult {
    /// Mean |Ẑ−Z|/Z.
    pub error: f32,
    /// The share of queries whose best class was found.
    pub recall: f32,
    /// Both for the queries whose best class is the best of no query that was learned from, and how many these are.
    pub unseen: Option<Unseen>,
    /// Mean and largest work, as shares of N.
    pub work: f32,
    /// The standard error of the mean work.
    #[serde(skip)]
    pub work_error: f32,
    /// See `work`.
    pub max_work: f32,
    /// The most words of the frontier.
    pub frontier_words: u32,
}

/// What a setting reached for classes that no query taught.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
/// # use zhat::host::build::{Targets, build};
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// for unseen in built.trials.iter().filter_map(|trial| trial.result.unseen) {
///     println!("{} queries of classes that nothing taught: recall {}", unseen.queries, unseen.recall);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Unseen {
    /// How many queries.
    pub queries: usize,
    /// Mean |Ẑ−Z|/Z.
    pub error: f32,
    /// The share of queries whose best class was found.
    pub recall: f32,
}

/// What a missed best class weighs against a relative error of one.
pub(super) const MISS: f32 = 0.5;
/// What classes that were not taught weigh against all classes.
const UNSEEN_SHARE: f32 = 0.25;
/// The queries of unseen classes at which they have half of that weight: few say little.
const UNSEEN_FEW: f32 = 20.0;

/// What half the work weighs against all of it.
const HALF_WEIGHT: f32 = 0.3;

fn cost(error: f32, recall: f32) -> f32 {
    error + MISS * (1.0 - recall)
}

impl TrialResult {
    /// What is minimised.
    pub fn cost(&self) -> f32 {
        let all = self.cost_of_all();
        self.unseen.map_or(all, |unseen| {
            let count = unseen.queries as f32;
            let weight = UNSEEN_SHARE * count / (count + UNSEEN_FEW);
            all + weight * (cost(unseen.error, unseen.recall) - all)
        })
    }

    /// The same without more weight for classes that were not taught.
    pub(super) fn cost_of_all(&self) -> f32 {
        cost(self.error, self.recall)
    }
}

impl Trial {
    /// The settings as the model carries them.
    pub fn settings(&self, log_z_of_zero: Log2) -> Settings {
        Settings {
            budget: self.budget,
            far_factor: Log2::from_nats(self.far_factor),
            temperature: 1.0,
            // A quarter more than any query needed.
            frontier_words: self.result.frontier_words + self.result.frontier_words / 4 + 8,
            log_z_of_zero,
        }
    }
}

/// Steps of a bisection: for a first impression, and for the choice.
const FEW_STEPS: usize = 7;
const STEPS: usize = 12;
/// Best rows whose links are followed.
const EXPANDS: [u32; 4] = [0, 2, 4, 8];

/// A model that is asked, and the exact answers.
struct Asked<'a> {
    model: Model<'a>,
    truths: Vec<Truth>,
    plan: &'a Plan,
}

/// What trials are judged by.
pub struct Judge<'a> {
    targets: &'a Targets,
    queries: &'a Matrix,
    /// The best classes of the queries that were learned from, if any were.
    taught: Option<HashSet<u32>>,
    classes: usize,
}

impl<'a> Judge<'a> {
    pub fn new(targets: &'a Targets, queries: &'a Matrix, taught: Option<Vec<u32>>, classes: usize) -> Self {
        Self { targets, queries, taught: taught.map(|best| best.into_iter().collect()), classes }
    }

    /// The sum of the errors of all queries in a trial.
    pub fn all_errors(&self, trial: &Trial) -> f32 {
        trial.result.error * self.queries.rows() as f32
    }

    /// A first impression, with links followed if there are any, and its cost, to which half the work adds: where hardly a
    /// query is missed with all of it, that shows the difference between plans.
    pub fn try_once(&self, index: &Index<'_>, plan: &Plan) -> Result<(Trial, f32), BuildError> {
        let file = index.draft(draft())?;
        let asked = Asked { model: file.model(), truths: measure::truths(&file.model(), self.queries)?, plan };
        let expand = if plan.links == 0 { 0 } else { 4 };
        let best = |work: f32| -> Result<Option<Trial>, BuildError> {
            let trials = self.try_work(&asked, index.least_cap(), work, expand, FEW_STEPS)?;
            Ok(trials.into_iter().min_by(|a, b| a.result.cost().total_cmp(&b.result.cost())))
        };
        let all = match best(self.targets.work)? {
            Some(trial) => trial,
            // Nothing keeps to the work: this one is for comparison only.
            None => self.try_budget(&asked, Budget { cap: index.least_cap(), epsilon: 0.0, expand })?,
        };
        let half = best(0.5 * self.targets.work)?;
        let cost = all.result.cost() + HALF_WEIGHT * half.as_ref().unwrap_or(&all).result.cost();
        Ok((all, cost))
    }

    /// Every budget that is worth trying: links followed or not, to the cap or until little is left.
    pub fn try_all(&self, index: &Index<'_>, plan: &Plan) -> Result<Vec<Trial>, BuildError> {
        let file = index.draft(draft())?;
        let asked = Asked { model: file.model(), truths: measure::truths(&file.model(), self.queries)?, plan };
        let mut trials = Vec::new();
        let expands: &[u32] = if plan.links == 0 { &[0] } else { &EXPANDS };
        for &expand in expands {
            trials.extend(self.try_work(&asked, index.least_cap(), self.targets.work, expand, STEPS)?);
        }
        Ok(trials)
    }

    /// Settings to begin with: those of the best trial of a plan.
    pub fn provisional(&self, plan: &Plan, trials: &[Trial]) -> Settings {
        let own = trials.iter().filter(|trial| trial.plan == *plan);
        let best = own.min_by(|a, b| a.result.cost().total_cmp(&b.result.cost()));
        best.map_or(draft(), |trial| trial.settings(Log2::MIN))
    }

    /// Another index over the same tree with a budget that is known; `truths` are kept from one call to the next.
    pub fn try_again(
        &self,
        index: &Index<'_>,
        plan: &Plan,
        budget: Budget,
        truths: &mut Option<Vec<Truth>>,
    ) -> Result<Trial, BuildError> {
        let file = index.draft(draft())?;
        let known = match truths.take() {
            Some(truths) => truths,
            None => measure::truths(&file.model(), self.queries)?,
        };
        let asked = Asked { model: file.model(), truths: known, plan };
        let trial = self.try_budget(&asked, budget)?;
        *truths = Some(asked.truths);
        Ok(trial)
    }

    /// Whether a trial keeps to the work that was asked for.
    pub fn keeps_to_work(&self, trial: &Trial) -> bool {
        trial.result.work <= self.targets.work
    }

    /// A search to a cap of this much work, and one that stops earlier and goes on longer, for the same mean work.
    fn try_work(
        &self,
        asked: &Asked<'_>,
        least_cap: u32,
        work: f32,
        expand: u32,
        steps: usize,
    ) -> Result<Vec<Trial>, BuildError> {
        let rows = |share: f32| (share * self.classes as f32) as u32;
        let mut trials = Vec::new();
        if rows(work) >= least_cap {
            trials.push(self.try_budget(asked, Budget { cap: rows(work), epsilon: 0.0, expand })?);
        }
        let cap = rows(self.targets.cap);
        // How much work an ε takes is known from queries only.
        if self.taught.is_some() && cap > rows(work) && cap >= least_cap {
            // A little below: the queries to come may be harder than these.
            let keeps =
                |result: &TrialResult| result.work <= 0.94 * work && result.work + 2.0 * result.work_error <= work;
            let search = |epsilon: f32| self.try_budget(asked, Budget { cap, epsilon, expand });
            // The work falls as ε grows: bisect its logarithm.
            let (mut low, mut high) = (1e-5_f32.ln(), 10.0_f32.ln());
            for _ in 0..steps {
                let middle = 0.5 * (low + high);
                if keeps(&search(middle.exp())?.result) { high = middle } else { low = middle }
            }
            // Where even the largest ε takes more than was asked for, it is not on offer.
            trials.extend(Some(search(high.exp())?).filter(|trial| keeps(&trial.result)));
        }
        Ok(trials)
    }

    fn try_budget(&self, asked: &Asked<'_>, budget: Budget) -> Result<Trial, BuildError> {
        let outcomes = measure::outcomes(&asked.model, self.queries, &budget)?;
        Ok(self.trial(asked.plan, budget, &outcomes, &asked.truths))
    }

    fn trial(&self, plan: &Plan, budget: Budget, outcomes: &[Outcome], truths: &[Truth]) -> Trial {
        let pairs: Vec<(&Outcome, &Truth)> = outcomes.iter().zip(truths).collect();
        let error = |pairs: &[(&Outcome, &Truth)], factor: f32| {
            let one = |(o, t): &(&Outcome, &Truth)| (o.log_z(factor) - t.log_z).exp_m1().abs();
            pairs.iter().map(one).sum::<f32>() / pairs.len() as f32
        };
        let recall = |pairs: &[(&Outcome, &Truth)]| {
            pairs.iter().filter(|(o, t)| o.best >= t.best.score).count() as f32 / pairs.len() as f32
        };
        let far_factor = far_factor(outcomes, truths);
        let is_unseen = |truth: &Truth| self.taught.as_ref().is_some_and(|taught| !taught.contains(&truth.best.class));
        let unseen: Vec<(&Outcome, &Truth)> = pairs.iter().filter(|(_, truth)| is_unseen(truth)).copied().collect();
        let work = mean_work(outcomes);
        let spread = outcomes.iter().map(|outcome| (outcome.work as f32 - work).powi(2)).sum::<f32>();
        let result = TrialResult {
            error: error(&pairs, far_factor),
            recall: recall(&pairs),
            unseen: (!unseen.is_empty()).then(|| Unseen {
                queries: unseen.len(),
                error: error(&unseen, far_factor),
                recall: recall(&unseen),
            }),
            work: work / self.classes as f32,
            work_error: spread.sqrt() / (outcomes.len() * self.classes) as f32,
            max_work: outcomes.iter().map(|o| o.work).max().unwrap_or(0) as f32 / self.classes as f32,
            frontier_words: outcomes.iter().map(|o| o.frontier_words).max().unwrap_or(0),
        };
        Trial { plan: *plan, budget, far_factor, result }
    }
}

/// The factor on the far field that leaves the smallest error.
pub fn far_factor(outcomes: &[Outcome], truths: &[Truth]) -> f32 {
    let error = |factor: f32| -> f32 {
        outcomes.iter().zip(truths).map(|(o, t)| (o.log_z(factor) - t.log_z).exp_m1().abs()).sum()
    };
    (-60..=60).map(|step| step as f32 * 0.01).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0.0)
}

fn mean_work(outcomes: &[Outcome]) -> f32 {
    outcomes.iter().map(|outcome| outcome.work as f32).sum::<f32>() / outcomes.len() as f32
}

/// Settings of a model whose budget is still to be found.
fn draft() -> Settings {
    Settings {
        budget: Budget { cap: 0, epsilon: 0.0, expand: 0 },
        far_factor: Log2::default(),
        temperature: 1.0,
        frontier_words: 0,
        log_z_of_zero: Log2::MIN,
    }
}
