//! Table 4: a language model that was trained to have Z = 1, and what it gains from an estimate.
//!
//! Over the contexts of a test text, Σ|Ẑ−Z| for Ẑ = 1 and for MIMPS with a head from a real index; how much better that
//! is; and how much faster than scoring all rows, by the clock and in dot products. All estimators and the brute force
//! are timed query by query on one core, one after the other.

use core::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::on_index::{Asked, all, ask};
use super::result::{Grid, number, percent};
use super::tally::{mean, relative_error};
use super::{ReproduceError, Step, today};
use crate::host::Matrix;
use crate::host::build::{Targets, build};
use crate::host::lm::Summary;
use crate::host::measure::HostScratch;

/// The work that the index is tuned for.
const TUNED_FOR: f32 = 0.02;

/// A trained layer, contexts to tune an index on, and contexts to test.
#[derive(Clone, Debug)]
pub struct LanguageModel {
    /// One row for each word.
    pub rows: Matrix,
    /// One bias for each word.
    pub biases: Vec<f32>,
    /// Queries of training contexts.
    pub calibration: Matrix,
    /// Queries of test contexts.
    pub queries: Matrix,
    /// How it was trained, if that is known.
    pub training: Option<Summary>,
}

/// One estimator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its name.
    pub estimator: String,
    /// Whether it is not the paper's.
    pub ours: bool,
    /// Rows of the head.
    pub k: Option<usize>,
    /// Samples.
    pub l: Option<usize>,
    /// Mean dot products, as a share of N.
    pub work: f64,
    /// Σ|Ẑ−Z| over the contexts, the mean over the seeds.
    pub sum: f64,
    /// The mean of 100·|Ẑ−Z|/Z.
    pub relative: f64,
    /// How much less the sum is than that of Z = 1, in per cent.
    pub better: f64,
    /// The time of scoring all rows over its own.
    pub speed_up: Option<f64>,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table4 {
    /// When it was made.
    pub date: String,
    /// What was typed.
    pub command: String,
    /// How the model was trained.
    pub training: Option<Summary>,
    /// N.
    pub rows: usize,
    /// d.
    pub dim: usize,
    /// Contexts.
    pub queries: usize,
    /// Seeds.
    pub seeds: u32,
    /// The mean of Z.
    pub mean_z: f64,
    /// The estimators, Z = 1 first.
    pub lines: Vec<Line>,
}

/// Runs it.
///
/// # Errors
/// [`ReproduceError`].
pub fn table4(
    layer: LanguageModel,
    command: &str,
    seeds: u32,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Table4, ReproduceError> {
    if seeds == 0 {
        return Err(ReproduceError::Setting("at least one seed is needed".into()));
    }
    tick(Step { what: "building the index", done: 0, of: 1 });
    // Of few words more, or there is no search.
    let work = TUNED_FOR.max(super::vectors::LEAST_ROWS / layer.rows.rows() as f32).min(1.0);
    let targets = Targets { work, cap: work, always_index: true, ..Targets::default() };
    let file = build(&layer.rows, &layer.biases, Some(&layer.calibration), &targets, &mut |_| {})?.model;
    let model = file.model();
    let asked = all(&model);
    let mut figures: Vec<Figures> = asked.iter().map(|_| Figures::default()).collect();
    let mut scratch = HostScratch::new(&model);
    let (mut brute_force, mut sum_z) = (Duration::ZERO, 0.0);
    for (index, values) in layer.queries.iter().enumerate() {
        let fail = |error| ReproduceError::Query { index, error };
        scratch.query.set(&model, values).map_err(fail)?;
        let start = Instant::now();
        let truth = black_box(crate::exact::<1>(&model, &scratch.query)).map_err(fail)?.log_z();
        brute_force += start.elapsed();
        sum_z += f64::from(truth).exp();
        for (&asked, figures) in asked.iter().zip(&mut figures) {
            let draws = if asked.is_random() { seeds } else { 1 };
            for seed in 0..draws {
                let seed = (u64::from(seed) << 32) ^ index as u64;
                let start = Instant::now();
                let (log_z, work) = ask(asked, &model, seed, &mut scratch).map_err(fail)?;
                figures.add(log_z, truth, work, start.elapsed());
            }
        }
        tick(Step { what: "contexts", done: index + 1, of: layer.queries.rows() });
    }
    let count = layer.queries.rows() as f64;
    let own = figures[0].sum();
    let line = |(&asked, figures): (&Asked, &Figures)| {
        let (estimator, ours, k, l) = asked.described();
        let time = figures.time.as_secs_f64() / figures.answers.len() as f64;
        Line {
            estimator: estimator.into(),
            ours,
            k,
            l,
            work: figures.works as f64 / figures.answers.len() as f64 / model.classes() as f64,
            sum: figures.sum() * count,
            relative: mean(
                &figures.answers.iter().map(|&(log_z, truth)| relative_error(log_z, truth)).collect::<Vec<_>>(),
            ),
            better: 100.0 * (1.0 - figures.sum() / own),
            speed_up: (!matches!(asked, Asked::One)).then(|| brute_force.as_secs_f64() / count / time),
        }
    };
    Ok(Table4 {
        date: today(),
        command: command.into(),
        training: layer.training,
        rows: model.classes(),
        dim: model.dim(),
        queries: layer.queries.rows(),
        seeds,
        mean_z: sum_z / count,
        lines: asked.iter().zip(&figures).map(line).collect(),
    })
}

#[derive(Default)]
struct Figures {
    /// ln Ẑ and ln Z.
    answers: Vec<(f32, f32)>,
    works: u64,
    time: Duration,
}

impl Figures {
    fn add(&mut self, log_z: f32, truth: f32, work: u32, time: Duration) {
        self.answers.push((log_z, truth));
        self.works += u64::from(work);
        self.time += time;
    }

    /// The mean of |Ẑ−Z|.
    fn sum(&self) -> f64 {
        let errors = self.answers.iter().map(|&(log_z, truth)| (f64::from(log_z).exp() - f64::from(truth).exp()).abs());
        mean(&errors.collect::<Vec<_>>())
    }
}

impl Table4 {
    /// The headings and rows, as text.
    pub fn grid(&self) -> Grid {
        let headings = [
            "estimator",
            "k",
            "l",
            "work",
            "Σ of errors",
            "better than Z = 1",
            "mean error",
            "faster, time",
            "faster, rows",
        ];
        let rows = self.lines.iter().map(|line| {
            let size = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
            let times = |factor: Option<f64>| factor.map_or("–".into(), |factor| format!("{}×", number(factor)));
            vec![
                if line.ours { format!("*{}*", line.estimator) } else { line.estimator.clone() },
                size(line.k),
                size(line.l),
                percent(100.0 * line.work),
                number(line.sum),
                percent(line.better),
                percent(line.relative),
                times(line.speed_up),
                times((line.work > 0.0).then(|| 1.0 / line.work)),
            ]
        });
        let rows = rows.collect();
        Grid { headings: headings.map(String::from).into(), rows }
    }

    /// What there is to say about it.
    pub(super) fn prose(&self) -> Vec<String> {
        let best = |name: &str| {
            let of = self.lines.iter().filter(|line| line.estimator == name);
            of.min_by(|a, b| a.sum.total_cmp(&b.sum)).map_or("–".into(), |line| {
                let speed = line.speed_up.map_or("–".into(), number);
                format!(
                    "{} at {} of the rows ({speed} times faster than all)",
                    percent(line.better),
                    percent(100.0 * line.work)
                )
            })
        };
        vec![
            "- The paper's model was trained on the Penn Treebank, which is not free to pass on and was not at hand; \
             `zhat train` takes it where a user has it."
                .into(),
            format!("- MIMPS on the index is better than Z = 1 by up to {}.", best("MIMPS")),
            format!("- Moments on the same index is better by up to {}.", best("Moments")),
            format!(
                "- The mean of Z is {}, but for a single context Z = 1 is off by {} in the mean.",
                number(self.mean_z),
                self.lines.first().map_or("–".into(), |line| percent(line.relative))
            ),
        ]
    }
}
