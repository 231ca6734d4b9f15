//! Chooses by measurement: the tree, the budget and the links that do best on queries held out.

use std::collections::HashSet;

use super::pipeline::{Fitted, Linked, Quantised, with_budget};
use super::tunables::{EXPANDS, FEW_STEPS, STEPS};
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
    /// Its result.
    pub result: TrialResult,
}

/// Holds the result of a setting.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
/// # use zhat::host::build::{Targets, build};
/// let built = build(&layer.weights, &layer.biases, None, &Targets::default(), &mut |_| {})?;
/// if let Some(trial) = built.trials.first() {
///     println!("error {}, recall {}", trial.result.error, trial.result.recall);
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

/// Holds the result of a setting for classes that no query taught.
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

/// A trial with what each query cost in it.
#[derive(Clone)]
pub struct Tried {
    pub trial: Trial,
    costs: Vec<f32>,
}

impl Tried {
    /// The mean cost of a query.
    pub fn cost(&self) -> f32 {
        self.costs.iter().sum::<f32>() / self.costs.len() as f32
    }

    /// Returns whether it does better than another on the same queries by more than so many standard errors of the difference.
    pub fn is_better_than(&self, other: &Self, standard_errors: f32) -> bool {
        let n = self.costs.len() as f64;
        let differences = || other.costs.iter().zip(&self.costs).map(|(other, own)| f64::from(other - own));
        let mean = differences().sum::<f64>() / n;
        let variance = differences().map(|difference| (difference - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        mean > 0.0 && mean > f64::from(standard_errors) * (variance / n).sqrt()
    }
}

/// Judges trials by queries held out, with their true answers.
pub struct Judge<'a> {
    targets: &'a Targets,
    queries: &'a Matrix,
    truths: Vec<Truth>,
    /// The best classes of the queries that were learned from, if any were.
    labelled: Option<HashSet<u32>>,
    classes: usize,
}

impl<'a> Judge<'a> {
    pub fn new(
        targets: &'a Targets,
        quantised: &Quantised,
        queries: &'a Matrix,
        labelled: Option<HashSet<u32>>,
    ) -> Result<Self, BuildError> {
        let rows = quantised.without_index(Log2::MIN)?;
        let truths = measure::truths(&rows.model(), queries)?;
        Ok(Self { targets, queries, truths, labelled, classes: quantised.rows.len() })
    }

    /// Tries an index with the first number of links that are followed. Where nothing keeps to the work, the trial is for comparison
    /// only.
    pub fn try_index(&self, linked: &Linked<'_>) -> Result<Tried, BuildError> {
        let file = linked.draft(draft())?;
        let asked = Asked { model: file.model(), plan: &linked.plan, least_cap: linked.least_cap() };
        let expand = if linked.plan.links == 0 { 0 } else { EXPANDS[0] };
        match self.try_work(&asked, expand, FEW_STEPS)? {
            Some(tried) => Ok(tried),
            None => self.try_budget(&asked, Budget { cap: asked.least_cap, epsilon: 0.0, expand }),
        }
    }

    /// Tries to follow links from more and fewer rows. Returns what is best, and what is best without links; nothing where nothing
    /// keeps to the work.
    pub fn try_budgets(&self, linked: &Linked<'_>) -> Result<Option<(Tried, Option<Tried>)>, BuildError> {
        let file = linked.draft(draft())?;
        let asked = Asked { model: file.model(), plan: &linked.plan, least_cap: linked.least_cap() };
        let (mut best, mut without) = (None::<Tried>, None);
        for &expand in if linked.plan.links == 0 { &[0][..] } else { &EXPANDS } {
            let Some(tried) = self.try_work(&asked, expand, STEPS)? else { continue };
            if expand == 0 {
                without = Some(tried.clone());
            }
            let errors = self.targets.tunables.standard_errors;
            if best.as_ref().is_none_or(|best| tried.is_better_than(best, errors)) {
                best = Some(tried);
            }
        }
        Ok(best.map(|best| (best, without)))
    }

    /// Tries an index with a budget that is known.
    pub fn try_known(&self, linked: &Linked<'_>, budget: Budget) -> Result<Tried, BuildError> {
        let file = linked.draft(draft())?;
        self.try_budget(&Asked { model: file.model(), plan: &linked.plan, least_cap: linked.least_cap() }, budget)
    }

    /// Returns whether a trial keeps to the work that was asked for, with what chance may add.
    pub fn keeps_to_work(&self, trial: &Trial) -> bool {
        let result = &trial.result;
        trial.budget.epsilon == 0.0
            || result.work + self.targets.tunables.work_errors * result.work_error <= self.targets.work
    }

    /// Returns the sum of the errors of all queries in a trial.
    pub fn all_errors(&self, tried: &Tried) -> f32 {
        tried.trial.result.error * tried.costs.len() as f32
    }

    /// Tries a search to a cap of the work, and one that stops earlier and goes on longer, for the same mean work.
    fn try_work(&self, asked: &Asked<'_>, expand: u32, steps: usize) -> Result<Option<Tried>, BuildError> {
        let rows = |share: f32| (share * self.classes as f32) as u32;
        let (work, cap) = (rows(self.targets.work), rows(self.targets.cap));
        let mut best = None;
        if work >= asked.least_cap {
            best = Some(self.try_budget(asked, Budget { cap: work, epsilon: 0.0, expand })?);
        }
        // How much work an ε takes is known from queries only.
        if self.labelled.is_some() && cap > work && cap >= asked.least_cap {
            // The work falls as ε grows: bisect its logarithm.
            let (mut low, mut high) = (1e-5_f32.ln(), 10.0_f32.ln());
            let mut kept = None;
            for _ in 0..steps {
                let middle = 0.5 * (low + high);
                let tried = self.try_budget(asked, Budget { cap, epsilon: middle.exp(), expand })?;
                if self.keeps_to_work(&tried.trial) {
                    (high, kept) = (middle, Some(tried));
                } else {
                    low = middle;
                }
            }
            // Where even a large ε takes more than was asked for, it is not on offer.
            if let Some(kept) = kept {
                best = Some(match best {
                    Some(best) if best.cost() <= kept.cost() => best,
                    _ => kept,
                });
            }
        }
        Ok(best)
    }

    fn try_budget(&self, asked: &Asked<'_>, budget: Budget) -> Result<Tried, BuildError> {
        let outcomes = measure::outcomes(&asked.model, self.queries, &budget)?;
        let far_factor = far_factor(&outcomes, &self.truths);
        let pairs = || outcomes.iter().zip(&self.truths);
        let errors: Vec<f32> = pairs().map(|(o, t)| (o.log_z(far_factor) - t.log_z).exp_m1().abs()).collect();
        let hits: Vec<bool> = pairs().map(|(o, t)| o.best.to_nats() >= t.best.score.to_nats() - SAME).collect();
        let miss = self.targets.tunables.miss;
        let costs = errors.iter().zip(&hits).map(|(error, hit)| error + if *hit { 0.0 } else { miss }).collect();
        let means = |chosen: &dyn Fn(usize) -> bool| {
            let chosen: Vec<usize> = (0..errors.len()).filter(|&query| chosen(query)).collect();
            let n = chosen.len() as f32;
            let error = chosen.iter().map(|&query| errors[query]).sum::<f32>() / n;
            (chosen.len(), error, chosen.iter().filter(|&&query| hits[query]).count() as f32 / n)
        };
        let (_, error, recall) = means(&|_| true);
        let is_unseen =
            |query: usize| self.labelled.as_ref().is_some_and(|seen| !seen.contains(&self.truths[query].best.class));
        let unseen = means(&is_unseen);
        let work = mean_work(&outcomes);
        let spread = outcomes.iter().map(|outcome| (outcome.work as f32 - work).powi(2)).sum::<f32>();
        let result = TrialResult {
            error,
            recall,
            unseen: (unseen.0 > 0).then_some(Unseen { queries: unseen.0, error: unseen.1, recall: unseen.2 }),
            work: work / self.classes as f32,
            work_error: spread.sqrt() / (outcomes.len() * self.classes) as f32,
            max_work: outcomes.iter().map(|o| o.work).max().unwrap_or(0) as f32 / self.classes as f32,
            frontier_words: outcomes.iter().map(|o| o.frontier_words).max().unwrap_or(0),
        };
        Ok(Tried { trial: Trial { plan: *asked.plan, budget, far_factor, result }, costs })
    }

    /// Finds the factor on the far field for a budget that is known.
    pub fn far_factor(&self, linked: &Linked<'_>, settings: Settings) -> Result<f32, BuildError> {
        let file = linked.draft(settings)?;
        Ok(far_factor(&measure::outcomes(&file.model(), self.queries, &settings.budget)?, &self.truths))
    }
}

/// Scores that differ by less belong to classes that are as good as each other.
const SAME: f32 = 1e-3;

/// A model that is asked.
struct Asked<'a> {
    model: Model<'a>,
    plan: &'a Plan,
    least_cap: u32,
}

/// The factor on the far field that leaves the smallest error.
fn far_factor(outcomes: &[Outcome], truths: &[Truth]) -> f32 {
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
    with_budget(Budget { cap: 0, epsilon: 0.0, expand: 0 })
}

/// Searches for links at fewer rows that do as well as all of them, with the same budget: of the rows that queries reach most often, as
/// few as do no harm.
///
/// A few rows are among the best of nearly every query (an eighth of a language model's words are 98 % of them), and links are followed
/// from the best rows only. What the others have takes flash and is hardly ever read.
pub fn sparsify<'a>(
    judge: &Judge<'_>,
    mut fitted: Fitted<'a>,
    mut best: Tried,
    link: &dyn Fn(Fitted<'a>, &Plan) -> Result<Linked<'a>, BuildError>,
    trials: &mut Vec<Trial>,
) -> Result<(Fitted<'a>, Tried), BuildError> {
    let tunables = &judge.targets.tunables;
    if best.trial.budget.expand == 0 {
        // Where no links are followed none are needed.
        best.trial.plan.links = 0;
        return Ok((fitted, best));
    }
    // Where few rows have most of the mass a search that stops by itself errs little, but for the best classes that it misses. Where
    // all queries together err less than a few missed ones would, they cannot tell what links are worth: all of them stay.
    if best.trial.budget.epsilon > 0.0 && judge.all_errors(&best) < tunables.few_missed * tunables.miss {
        return Ok((fitted, best));
    }
    let (budget, most) = (best.trial.budget, tunables.no_harm * best.cost());
    for linked in super::tunables::LINKED {
        let linked = link(fitted, &Plan { linked, ..best.trial.plan })?;
        let tried = judge.try_known(&linked, budget)?;
        fitted = linked.fitted;
        trials.push(tried.trial.clone());
        if tried.cost() <= most && tried.trial.result.work <= judge.targets.work {
            best = tried;
        }
    }
    Ok((fitted, best))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(costs: Vec<f32>) -> Tried {
        let result = TrialResult {
            error: 0.0,
            recall: 1.0,
            unseen: None,
            work: 0.0,
            work_error: 0.0,
            max_work: 0.0,
            frontier_words: 0,
        };
        let budget = Budget { cap: 1, epsilon: 0.0, expand: 0 };
        Tried { trial: Trial { plan: Plan::default(), budget, far_factor: 0.0, result }, costs }
    }

    #[test]
    fn what_every_query_shows_is_believed_and_what_one_shows_is_not() {
        let base: Vec<f32> = (0..200).map(|i| (i % 7) as f32 * 0.01).collect();
        let with = |change: &dyn Fn(usize) -> f32| tried(base.iter().enumerate().map(|(i, x)| x + change(i)).collect());
        let default = tried(base.clone());
        assert!(with(&|_| -0.001).is_better_than(&default, 2.0));
        assert!(!with(&|i| if i == 0 { -0.5 } else { 0.0 }).is_better_than(&default, 2.0));
        assert!(!default.is_better_than(&default, 2.0) && !with(&|_| 0.001).is_better_than(&default, 2.0));
    }
}
