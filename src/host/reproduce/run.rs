//! Runs estimators over queries: every row is scored once for a query, and all estimators start from that.
//!
//! The oracle's head is the true top k of the quantised model, the truth its exact Z, and the estimators are the
//! library's. A query costs N rows and one selection, then what the estimators cost; queries run in parallel, and their
//! draws depend on seed, query and estimator only, so that the figures do not depend on the number of cores.

use core::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::estimator::{Answer, Estimator, Memory, ask};
use super::result::Row;
use super::tally::{Cell, mean, relative_error};
use super::{ReproduceError, Step};
use crate::estimators::{Oracle, RetrievalError};
use crate::host::Matrix;
use crate::model::Model;

/// The errors, works and hits of estimators over queries.
pub struct Run {
    /// ln Z of every query.
    pub truths: Vec<f32>,
    /// The mean probability of the best class.
    pub top_p: f64,
    figures: Vec<Figures>,
}

/// One estimator's.
struct Figures {
    cell: Cell,
    work: f64,
    recall: Option<f64>,
}

/// Asks every estimator about every query.
///
/// # Errors
/// [`ReproduceError::Query`], if the model refuses one.
pub fn run(
    model: &Model<'_>,
    queries: &Matrix,
    estimators: &[Estimator],
    misses: RetrievalError,
    seeds: u32,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Run, ReproduceError> {
    let most = estimators.iter().filter_map(|estimator| estimator.sizes().0).max().unwrap_or(0);
    let done = AtomicUsize::new(0);
    let answers: Result<Vec<_>, ReproduceError> = queries
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
                for (place, &estimator) in estimators.iter().enumerate() {
                    for seed in 0..draws(estimator, seeds) {
                        let seed = stream(seed, index, place);
                        answers.push(ask(estimator, model, &oracle, misses, seed, memory).map_err(fail)?);
                    }
                }
                tick(Step { what: "queries", done: done.fetch_add(1, Ordering::Relaxed) + 1, of: queries.rows() });
                let best = oracle.best().map_or(0.0, |best| (best.score.to_nats() - oracle.log_z()).exp());
                Ok((oracle.log_z(), best, answers))
            },
        )
        .collect();
    let answers = answers?;
    let mut first = 0;
    let mut figures = Vec::new();
    for &estimator in estimators {
        let places = first..first + draws(estimator, seeds) as usize;
        first = places.end;
        let column = |place: usize| answers.iter().map(move |(truth, _, all)| (*truth, all[place]));
        let errors: Vec<Vec<f64>> =
            places.clone().map(|at| column(at).map(|(truth, a)| relative_error(a.log_z, truth)).collect()).collect();
        let all: Vec<Answer> = places.flat_map(|at| column(at).map(|(_, answer)| answer)).collect();
        let hits: Vec<f64> = all.iter().filter_map(|answer| answer.hit).map(f64::from).collect();
        figures.push(Figures {
            cell: Cell::new(&errors),
            work: mean(&all.iter().map(|answer| f64::from(answer.work)).collect::<Vec<_>>()) / model.classes() as f64,
            recall: (!hits.is_empty()).then(|| mean(&hits)),
        });
    }
    let tops: Vec<f64> = answers.iter().map(|(_, best, _)| f64::from(*best)).collect();
    Ok(Run { truths: answers.iter().map(|(truth, ..)| *truth).collect(), top_p: mean(&tops), figures })
}

fn draws(estimator: Estimator, seeds: u32) -> u32 {
    if estimator.is_random() { seeds } else { 1 }
}

/// A seed for each draw: apart by more than a generator's own mixing needs.
fn stream(seed: u32, query: usize, place: usize) -> u64 {
    (u64::from(seed) << 56) ^ ((place as u64) << 40) ^ query as u64
}

impl Run {
    /// A row for each estimator, with this run as its only condition.
    pub fn rows(&self, estimators: &[Estimator]) -> Vec<Row> {
        let row = |(&estimator, figures): (&Estimator, &Figures)| {
            let (k, l) = estimator.sizes();
            Row {
                estimator: estimator.name().into(),
                ours: !estimator.is_papers(),
                k,
                l,
                work: figures.work,
                queries: self.truths.len(),
                recall: figures.recall,
                cells: vec![Some(figures.cell)],
            }
        };
        estimators.iter().zip(&self.figures).map(row).collect()
    }

    /// Adds this run to rows of the same estimators as another condition; where it changes nothing, an empty cell.
    pub fn extend(&self, rows: &mut [Row], applies: impl Fn(usize) -> bool) {
        for (place, (row, figures)) in rows.iter_mut().zip(&self.figures).enumerate() {
            row.cells.push(applies(place).then_some(figures.cell));
        }
    }
}
