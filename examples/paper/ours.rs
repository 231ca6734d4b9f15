//! Our estimators in the tables: without an oracle, and with the search included in the work.

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use zhat::estimators::moments_with_samples;
use zhat::internal::Tree;
use zhat::model::{Budget, Model, ModelBuf};
use zhat::{Error, Log2};

use super::run::{Asked, Condition};
use super::scratch::HostScratch;
use super::tally::{Series, relative_error};
use super::{ReproduceError, Row};

/// The default estimator, or the default with a quarter of its cap spent on samples.
#[derive(Clone, Copy)]
enum Kind {
    Moments,
    AndSamples,
}

/// Computes two rows for each index and share of N, one of each kind. A share is raised to what the tree needs.
///
/// # Errors
/// [`ReproduceError::Query`] if a model refuses a query.
pub fn rows(
    indices: &[(&ModelBuf, &[f32])],
    conditions: &[&Condition],
    seeds: u32,
) -> Result<Vec<Row>, ReproduceError> {
    let mut rows = Vec::new();
    for (kind, name) in [(Kind::Moments, "Moments"), (Kind::AndSamples, "Moments + samples")] {
        for &(file, shares) in indices {
            let model = file.model();
            // A quarter of the cap is spent on samples, so the rest has to be enough to score a class.
            let least = model.tree().map_or(1, Tree::least_cap) * if matches!(kind, Kind::Moments) { 1 } else { 2 };
            for &share in shares {
                let cap = ((share * model.classes() as f32) as usize).max(least) as u32;
                let series = conditions.iter().map(|condition| series(kind, &model, cap, condition, seeds));
                let series = series.collect::<Result<Vec<_>, _>>()?;
                let name = format!("{name}, {} % of N", 100.0 * share);
                rows.push(Row::new(&name, true, (None, None), &series, model.classes()));
            }
        }
    }
    Ok(rows)
}

fn series(
    kind: Kind,
    model: &Model<'_>,
    cap: u32,
    condition: &Condition,
    seeds: u32,
) -> Result<Series, ReproduceError> {
    let mut series = Series::default();
    // An estimator without samples gives the same answers for every seed.
    let seeds = if matches!(kind, Kind::Moments) && condition.is_one() { 1 } else { seeds };
    for seed in 0..seeds {
        let Asked { queries, truths, bests } = condition.of_seed(seed);
        let answers: Result<Vec<(f32, u32, Option<Log2>)>, ReproduceError> = queries
            .data()
            .par_chunks_exact(queries.cols())
            .enumerate()
            .map_init(
                || HostScratch::new(model),
                |scratch, (index, values)| {
                    let fail = |error| ReproduceError::Query { index, error };
                    scratch.query.set(model, values).map_err(fail)?;
                    let draw = (u64::from(seed) << 56) ^ index as u64;
                    ask(kind, model, cap, draw, scratch).map_err(fail)
                },
            )
            .collect();
        let answers = answers?;
        let errors = answers.iter().zip(truths).map(|(answer, &truth)| relative_error(answer.0, truth));
        series.errors.push(errors.collect());
        series.works.extend(answers.iter().map(|answer| f64::from(answer.1)));
        let hits = answers.iter().zip(bests).filter_map(|(answer, best)| Some(f64::from(answer.2? >= *best)));
        series.hits.extend(hits);
    }
    Ok(series)
}

/// Returns ln Ẑ, the work and the best score found, with the file's settings apart from the cap.
fn ask(
    kind: Kind,
    model: &Model<'_>,
    cap: u32,
    seed: u64,
    scratch: &mut HostScratch,
) -> Result<(f32, u32, Option<Log2>), Error> {
    let stored = model.settings().map_or(Budget::new(0), |settings| settings.budget);
    let budget = stored.with_cap(cap);
    Ok(match kind {
        Kind::Moments => {
            let found = scratch.classify(model, budget)?;
            let best = found.top.first().map_or(Log2::MIN, |top| top.score);
            (found.log_z(), found.work.row_equivalents(), Some(best))
        }
        Kind::AndSamples => {
            let HostScratch { query, memory } = scratch;
            let rng = &mut Pcg64Mcg::seed_from_u64(seed);
            let found = moments_with_samples(model, query, &budget, cap as usize / 4, memory, rng)?;
            (found.log_z(), found.work.row_equivalents(), None)
        }
    })
}
