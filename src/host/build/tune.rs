//! Choosing by measurement: what each setting reaches on queries that were held out.

use std::collections::HashSet;

use super::index::Index;
use super::{Plan, Targets};
use crate::host::measure::{self, Outcome, Truth};
use crate::host::{BuildError, Matrix};
use crate::math::Log2;
use crate::model::{Budget, Settings};

/// One setting and what it reached.
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
    /// See `work`.
    pub max_work: f32,
    /// The most words of the frontier.
    pub frontier_words: u32,
}

/// What a setting reached for classes that no query taught.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Unseen {
    /// How many queries.
    pub queries: usize,
    /// Mean |Ẑ−Z|/Z.
    pub error: f32,
    /// The share of queries whose best class was found.
    pub recall: f32,
}

/// What a missed best class weighs beside a relative error of one.
const MISS: f32 = 0.5;
/// What classes that were not taught weigh beside all.
const UNSEEN_SHARE: f32 = 0.25;
/// So many queries of unseen classes are needed for half of that weight: few say little.
const UNSEEN_FEW: f32 = 20.0;

impl TrialResult {
    /// What is minimised.
    pub fn cost(&self) -> f32 {
        let cost = |error: f32, recall: f32| error + MISS * (1.0 - recall);
        let all = cost(self.error, self.recall);
        self.unseen.map_or(all, |unseen| {
            let count = unseen.queries as f32;
            let weight = UNSEEN_SHARE * count / (count + UNSEEN_FEW);
            all + weight * (cost(unseen.error, unseen.recall) - all)
        })
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
            quantiles: [0.0; 5],
        }
    }
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

    /// Row-equivalents that a query may take in the mean.
    fn work(&self) -> u32 {
        (self.targets.work * self.classes as f32) as u32
    }

    /// A first impression: always to the cap, links followed if there are any.
    pub fn try_once(&self, index: &Index<'_>, plan: &Plan) -> Result<Trial, BuildError> {
        let expand = if plan.links == 0 { 0 } else { 4 };
        let budget = Budget { cap: self.work().max(index.least_cap()), epsilon: 0.0, expand };
        let file = index.draft(draft())?;
        let truths = measure::truths(&file.model(), self.queries)?;
        let outcomes = measure::outcomes(&file.model(), self.queries, &budget)?;
        Ok(self.trial(plan, budget, &outcomes, &truths))
    }

    /// Every budget that is worth trying: links followed or not, to the cap or until little is left.
    pub fn try_all(&self, index: &Index<'_>, plan: &Plan) -> Result<Vec<Trial>, BuildError> {
        let file = index.draft(draft())?;
        let model = file.model();
        let truths = measure::truths(&model, self.queries)?;
        let cap = ((self.targets.cap * self.classes as f32) as u32).max(self.work());
        // A little below: the queries to come may be harder than these.
        let goal = self.targets.work * self.classes as f32 * 0.94;
        let mut trials = Vec::new();
        let expands: &[u32] = if plan.links == 0 { &[0] } else { &[0, 2, 4, 8] };
        for &expand in expands {
            let fixed = Budget { cap: self.work(), epsilon: 0.0, expand };
            if fixed.cap >= index.least_cap() {
                let outcomes = measure::outcomes(&model, self.queries, &fixed)?;
                trials.push(self.trial(plan, fixed, &outcomes, &truths));
            }
            if cap > fixed.cap {
                let search = |epsilon: f32| -> Result<(Budget, Vec<Outcome>), BuildError> {
                    let budget = Budget { cap, epsilon, expand };
                    Ok((budget, measure::outcomes(&model, self.queries, &budget)?))
                };
                // The work falls as ε grows: bisect its logarithm.
                let (mut low, mut high) = (1e-5_f32.ln(), 10.0_f32.ln());
                for _ in 0..12 {
                    let middle = 0.5 * (low + high);
                    let (_, outcomes) = search(middle.exp())?;
                    if mean_work(&outcomes) > goal { low = middle } else { high = middle }
                }
                let (budget, outcomes) = search(high.exp())?;
                // Where even the largest ε takes more than was asked for, it is not on offer.
                if mean_work(&outcomes) <= self.targets.work * self.classes as f32 {
                    trials.push(self.trial(plan, budget, &outcomes, &truths));
                }
            }
        }
        Ok(trials)
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
        let factors = (-60..=60).map(|step| step as f32 * 0.01);
        let far_factor = factors.min_by(|&a, &b| error(&pairs, a).total_cmp(&error(&pairs, b))).unwrap_or(0.0);
        let is_unseen = |truth: &Truth| self.taught.as_ref().is_some_and(|taught| !taught.contains(&truth.best.class));
        let unseen: Vec<(&Outcome, &Truth)> = pairs.iter().filter(|(_, truth)| is_unseen(truth)).copied().collect();
        let result = TrialResult {
            error: error(&pairs, far_factor),
            recall: recall(&pairs),
            unseen: (!unseen.is_empty()).then(|| Unseen {
                queries: unseen.len(),
                error: error(&unseen, far_factor),
                recall: recall(&unseen),
            }),
            work: mean_work(outcomes) / self.classes as f32,
            max_work: outcomes.iter().map(|o| o.work).max().unwrap_or(0) as f32 / self.classes as f32,
            frontier_words: outcomes.iter().map(|o| o.frontier_words).max().unwrap_or(0),
        };
        Trial { plan: *plan, budget, far_factor, result }
    }
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
        quantiles: [0.0; 5],
    }
}
