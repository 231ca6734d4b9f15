//! FMBE in the tables: a table of random features for each seed, asked through the library's own function.
//!
//! A table costs D·N·d multiplications and a query about D dot products, so that fewer queries are asked than of the other
//! estimators; the tables say how many.

use rayon::prelude::*;

use super::estimator::Memory;
use super::result::Row;
use super::tally::{Cell, mean, relative_error};
use super::{ReproduceError, Step};
use crate::estimators::fmbe;
use crate::host::{Matrix, with_fmbe};
use crate::model::{FmbeKind, ModelBuf};

/// FMBE with a table of `features` for each seed, on `count` queries of each of these sets, evenly taken; one row.
///
/// # Errors
/// [`ReproduceError::Model`] if a table can't be added, [`ReproduceError::Query`] if the model refuses a query.
pub fn run_fmbe(
    file: &ModelBuf,
    (kind, features): (FmbeKind, u32),
    sets: &[(&Matrix, &[f32])],
    count: usize,
    seeds: u32,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Row, ReproduceError> {
    let mut errors: Vec<Vec<Vec<f64>>> = vec![Vec::new(); sets.len()];
    let mut works = Vec::new();
    for seed in 0..seeds {
        tick(Step { what: "random features", done: seed as usize, of: seeds as usize });
        let file = with_fmbe(file, kind, features, u64::from(seed) + 1).map_err(ReproduceError::Model)?;
        let model = file.model();
        for (of_set, (queries, truths)) in errors.iter_mut().zip(sets) {
            let (rows, count) = (queries.rows(), count.min(queries.rows()));
            let answers: Result<Vec<(f64, f64)>, ReproduceError> = (0..count)
                .into_par_iter()
                .map_init(
                    || Memory::new(&model),
                    |memory, i| {
                        let index = i * rows / count;
                        let fail = |error| ReproduceError::Query { index, error };
                        memory.scratch.query.set(&model, queries.row(index)).map_err(fail)?;
                        let estimate = fmbe(&model, &*memory.scratch.query).map_err(fail)?;
                        Ok((
                            relative_error(estimate.log_z(), truths[index]),
                            f64::from(estimate.work.row_equivalents()),
                        ))
                    },
                )
                .collect();
            let (found, cost): (Vec<f64>, Vec<f64>) = answers?.into_iter().unzip();
            works.push(mean(&cost) / model.classes() as f64);
            of_set.push(found);
        }
    }
    let kind = match kind {
        FmbeKind::Maclaurin => "",
        FmbeKind::Centred => ", centred",
        FmbeKind::Positive => ", positive",
    };
    Ok(Row {
        estimator: format!("FMBE{kind}, D = {features}"),
        ours: !kind.is_empty(),
        k: None,
        l: None,
        work: mean(&works),
        queries: count.min(sets.first().map_or(0, |(queries, _)| queries.rows())),
        recall: None,
        cells: errors.iter().map(|seeds| Some(Cell::new(seeds))).collect(),
    })
}
