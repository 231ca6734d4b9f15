//! Choosing by measurement: what each setting reaches on queries that were held out.

use super::{Index, Plan, Targets, measure};
use crate::host::measure::{Outcome, Truth};
use crate::host::{BuildError, Matrix};
use crate::math::Log2;
use crate::model::{Budget, Settings};
use crate::tree::Tree;

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
    /// Mean and largest work, as shares of N.
    pub work: f32,
    /// See `work`.
    pub max_work: f32,
    /// The quantiles of |ln Ẑ − ln Z| over (far share + floor): 50, 80, 90, 95, 99 %.
    pub quantiles: [f32; 5],
    /// The most words of the frontier.
    pub frontier_words: u32,
}

/// What a missed best class weighs beside a relative error of one.
const MISS: f32 = 0.5;
/// The levels of the stored quantiles, a little above what they promise: the queries to come are not quite like these.
const LEVELS: [f32; 5] = [0.5, 0.8, 0.905, 0.957, 0.993];

impl TrialResult {
    /// What is minimised.
    pub fn cost(&self) -> f32 {
        self.error + MISS * (1.0 - self.recall)
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
            quantiles: self.result.quantiles,
        }
    }
}

/// Measures the budgets that are worth trying with an index.
pub(super) fn trials(
    index: &Index<'_>,
    plan: &Plan,
    targets: &Targets,
    held: &Matrix,
) -> Result<Vec<Trial>, BuildError> {
    let neutral = Budget { cap: 0, epsilon: 0.0, expand: 0 };
    let draft = Settings {
        budget: neutral,
        far_factor: Log2::default(),
        temperature: 1.0,
        frontier_words: 0,
        log_z_of_zero: Log2::MIN,
        quantiles: [0.0; 5],
    };
    let file = index.assemble(draft)?;
    let model = file.model();
    let truths = measure::truths(&model, held)?;
    let classes = model.classes();
    let least = model.tree().map_or(0, Tree::least_cap) as u32;
    let rows = |share: f32| ((share * classes as f32) as u32).max(least);
    // A little below: the queries to come may be harder than these.
    let goal = targets.work * classes as f32 * 0.94;
    let mut trials = Vec::new();
    let expands: &[u32] = if plan.links == 0 { &[0] } else { &[0, 2, 4, 8] };
    for &expand in expands {
        let fixed = Budget { cap: rows(targets.work), epsilon: 0.0, expand };
        let outcomes = measure::outcomes(&model, held, &fixed)?;
        trials.push(trial(plan, fixed, &outcomes, &truths, classes));
        if targets.cap > targets.work {
            let work = |epsilon: f32| -> Result<(Budget, Vec<Outcome>, f32), BuildError> {
                let budget = Budget { cap: rows(targets.cap), epsilon, expand };
                let outcomes = measure::outcomes(&model, held, &budget)?;
                let mean = outcomes.iter().map(|o| o.work as f32).sum::<f32>() / outcomes.len() as f32;
                Ok((budget, outcomes, mean))
            };
            // The work falls as ε grows: bisect its logarithm.
            let (mut low, mut high) = (1e-5_f32.ln(), 10.0_f32.ln());
            for _ in 0..12 {
                let middle = 0.5 * (low + high);
                if work(middle.exp())?.2 > goal { low = middle } else { high = middle }
            }
            let (budget, outcomes, _) = work(high.exp())?;
            trials.push(trial(plan, budget, &outcomes, &truths, classes));
        }
    }
    Ok(trials)
}

fn trial(plan: &Plan, budget: Budget, outcomes: &[Outcome], truths: &[Truth], classes: usize) -> Trial {
    let n = outcomes.len() as f32;
    let error = |factor: f32| {
        let one = |(o, t): (&Outcome, &Truth)| (o.log_z(factor) - t.log_z).exp_m1().abs();
        outcomes.iter().zip(truths).map(one).sum::<f32>() / n
    };
    let factors = (-60..=60).map(|step| step as f32 * 0.01);
    let far_factor = factors.min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap_or(0.0);
    let found = outcomes.iter().zip(truths).filter(|(o, t)| o.best >= t.best.score).count();
    let mut scores: Vec<f32> = outcomes
        .iter()
        .zip(truths)
        .map(|(o, t)| {
            let log_z = o.log_z(far_factor);
            let far_share = (o.far + far_factor - log_z).exp();
            (log_z - t.log_z).abs() / (far_share + Settings::FAR_SHARE_OFFSET)
        })
        .collect();
    scores.sort_by(f32::total_cmp);
    // The conformal quantile: one more than the share of those seen.
    let quantile = |level: f32| scores[(((n + 1.0) * level).ceil() as usize).clamp(1, scores.len()) - 1];
    let result = TrialResult {
        error: error(far_factor),
        recall: found as f32 / n,
        work: outcomes.iter().map(|o| o.work as f32).sum::<f32>() / n / classes as f32,
        max_work: outcomes.iter().map(|o| o.work).max().unwrap_or(0) as f32 / classes as f32,
        quantiles: LEVELS.map(quantile),
        frontier_words: outcomes.iter().map(|o| o.frontier_words).max().unwrap_or(0),
    };
    Trial { plan: *plan, budget, far_factor, result }
}
