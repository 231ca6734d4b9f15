//! Runs estimators over queries: scores every row once for a query, and starts all estimators from that.
//!
//! The oracle's head is the true top k of the quantised model, the truth is its exact Z, and the estimators are the
//! library's. A query costs N rows and one selection, then the cost of the estimators. Queries run in parallel, and
//! their draws depend only on seed, query and estimator, so the figures do not depend on the number of cores.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use zhat::Log2;
use zhat::estimators::Oracle;
use zhat::host::Matrix;
use zhat::model::Model;

use super::estimator::{Answer, Memory, Question, ask};
use super::tally::{Series, relative_error};
use super::{ReproduceError, Step};

/// Queries and the exact answers to them.
pub struct Asked {
    /// The queries.
    pub queries: Matrix,
    /// ln Z of each query.
    pub truths: Vec<f32>,
    /// The best score of each query.
    pub bests: Vec<Log2>,
}

/// The queries of a condition: the same for all seeds, or different ones for each.
pub struct Condition(Vec<Asked>);

impl Condition {
    /// Returns the queries of a seed.
    pub fn of_seed(&self, seed: u32) -> &Asked {
        &self.0[seed as usize % self.0.len()]
    }

    /// Returns true if all seeds have the same queries.
    pub fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns the mean probability of the best class.
    pub fn top_p(&self) -> f64 {
        let Asked { truths, bests, .. } = self.of_seed(0);
        let p = |(best, truth): (&Log2, &f32)| f64::from(best.to_nats() - truth).exp();
        bests.iter().zip(truths).map(p).sum::<f64>() / truths.len().max(1) as f64
    }
}

/// Runs every question on the queries of every seed, which are one set or one for each seed. Returns a series for each
/// question.
///
/// # Errors
/// [`ReproduceError::Query`] if the model refuses a query.
pub fn run(
    model: &Model<'_>,
    sets: Vec<Matrix>,
    questions: &[Question],
    seeds: u32,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<(Condition, Vec<Series>), ReproduceError> {
    let mut all: Vec<Series> = questions.iter().map(|_| Series::default()).collect();
    let mut asked = Vec::new();
    let each = sets.len() > 1;
    for (set, queries) in sets.into_iter().enumerate() {
        let seeds = if each { set as u32..set as u32 + 1 } else { 0..seeds };
        let (with_truths, series) = run_set(model, queries, questions, seeds, tick)?;
        asked.push(with_truths);
        all.iter_mut().zip(series).for_each(|(all, more)| all.merge(more));
    }
    Ok((Condition(asked), all))
}

fn run_set(
    model: &Model<'_>,
    queries: Matrix,
    questions: &[Question],
    seeds: Range<u32>,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<(Asked, Vec<Series>), ReproduceError> {
    let most = questions.iter().filter_map(|question| question.estimator.sizes().0).max().unwrap_or(0);
    let draws = |question: &Question| {
        let one = seeds.start..seeds.end.min(seeds.start + 1);
        if question.estimator.is_random() { seeds.clone() } else { one }
    };
    let done = AtomicUsize::new(0);
    let answers: Result<Vec<(f32, Log2, Vec<Answer>)>, ReproduceError> = queries
        .data()
        .par_chunks_exact(queries.cols())
        .enumerate()
        .map_init(
            || Memory::new(model),
            |memory, (index, values)| {
                let fail = |error| ReproduceError::Query { index, error };
                memory.scratch.query.set(model, values).map_err(fail)?;
                let oracle = Oracle::new(model, &memory.scratch.query, most).map_err(fail)?;
                let mut answers = Vec::new();
                for (place, question) in questions.iter().enumerate() {
                    for seed in draws(question) {
                        answers.push(ask(*question, model, &oracle, stream(seed, index, place), memory).map_err(fail)?);
                    }
                }
                tick(Step { what: "queries", done: done.fetch_add(1, Ordering::Relaxed) + 1, of: queries.rows() });
                Ok((oracle.log_z(), oracle.best().map_or(Log2::MIN, |best| best.score), answers))
            },
        )
        .collect();
    let answers = answers?;
    let mut first = 0;
    let mut all = Vec::new();
    for question in questions {
        let mut series = Series::default();
        for place in first..first + draws(question).len() {
            let column = || answers.iter().map(|(truth, _, all)| (*truth, all[place]));
            series.errors.push(column().map(|(truth, answer)| relative_error(answer.log_z, truth)).collect());
            series.works.extend(column().map(|(_, answer)| f64::from(answer.work)));
            series.steps.extend(column().filter_map(|(_, answer)| answer.steps.map(f64::from)));
        }
        first += draws(question).len();
        all.push(series);
    }
    let (truths, bests) = answers.iter().map(|&(truth, best, _)| (truth, best)).unzip();
    Ok((Asked { queries, truths, bests }, all))
}

/// Returns a seed for each draw. They differ by more than the generator's own mixing needs.
fn stream(seed: u32, query: usize, place: usize) -> u64 {
    (u64::from(seed) << 56) ^ ((place as u64) << 40) ^ query as u64
}
