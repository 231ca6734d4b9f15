//! FMBE in the tables: a table of random features for each seed, read by the library's own function.
//!
//! A table costs D·N·d multiplications and a query about D dot products, so FMBE gets fewer queries than the other
//! estimators; the tables state how many.

use rayon::prelude::*;
use zhat::estimators::fmbe;
use zhat::host::with_fmbe;
use zhat::model::{FmbeKind, ModelBuf};

use super::estimator::Memory;
use super::run::Condition;
use super::tally::{Series, relative_error};
use super::{ReproduceError, Row, Step};

/// Computes the row of FMBE: a table of `features` for each seed, and `count` queries of each condition at equal steps.
///
/// # Errors
/// [`ReproduceError::Model`] if a table cannot be added, [`ReproduceError::Query`] if the model refuses a query.
pub fn row(
    file: &ModelBuf,
    (kind, features): (FmbeKind, u32),
    conditions: &[&Condition],
    count: usize,
    seeds: u32,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Row, ReproduceError> {
    let mut all: Vec<Series> = conditions.iter().map(|_| Series::default()).collect();
    for seed in 0..seeds {
        tick(Step { what: "random features", done: seed as usize, of: seeds as usize });
        let file = with_fmbe(file, kind, features, u64::from(seed) + 1).map_err(ReproduceError::Model)?;
        let model = file.model();
        for (series, condition) in all.iter_mut().zip(conditions) {
            let asked = condition.of_seed(seed);
            let (rows, count) = (asked.queries.rows(), count.min(asked.queries.rows()));
            let answers: Result<Vec<(f64, f64)>, ReproduceError> = (0..count)
                .into_par_iter()
                .map_init(
                    || Memory::new(&model),
                    |memory, i| {
                        let index = i * rows / count;
                        let fail = |error| ReproduceError::Query { index, error };
                        memory.scratch.query.set(&model, asked.queries.row(index)).map_err(fail)?;
                        let estimate = fmbe(&model, &*memory.scratch.query).map_err(fail)?;
                        Ok((
                            relative_error(estimate.log_z(), asked.truths[index]),
                            f64::from(estimate.work.row_equivalents()),
                        ))
                    },
                )
                .collect();
            let (errors, works): (Vec<f64>, Vec<f64>) = answers?.into_iter().unzip();
            series.errors.push(errors);
            series.works.extend(works);
        }
    }
    let kind = match kind {
        FmbeKind::Centred => ", centred",
        FmbeKind::Positive => ", positive",
        _ => "",
    };
    let name = format!("FMBE{kind}, D = {features}");
    Ok(Row::new(&name, !kind.is_empty(), (None, None), &all, file.model().classes()))
}
