//! Table 2: queries that move away from the rows, by noise of 0, 10, 20 and 30 % of their norm.
//!
//! Noise is drawn for each seed and is the same for all estimators; Z is that of the query with its noise.

use zhat::model::FmbeKind;

use super::estimator::{Estimator, Question};
use super::oracle::Oracles;
use super::result::{OracleTable, Row};
use super::run::{Condition, run};
use super::tally::Series;
use super::{ReproduceError, Step, features, published};

/// The noise in per cent of the query's norm.
const NOISE: [u32; 4] = [0, 10, 20, 30];
/// The paper's settings. Its caption says k = 1 for MINCE, but its figure without noise is that of k = 10 in Table 1.
const ESTIMATORS: [Estimator; 4] = [
    Estimator::Uniform { l: 1000 },
    Estimator::Mimps { k: 1000, l: 1000 },
    Estimator::Mince { k: 1, l: 1000 },
    Estimator::Mince { k: 10, l: 1000 },
];

/// Runs the experiment, with FMBE of `features` (zero leaves it out) on `asked` queries.
///
/// # Errors
/// [`ReproduceError`].
pub fn table2(
    oracles: &Oracles<'_>,
    features: u32,
    asked: usize,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<OracleTable, ReproduceError> {
    let model = oracles.model();
    let questions = ESTIMATORS.map(Question::from);
    let mut conditions: Vec<Condition> = Vec::new();
    let mut all: Vec<Vec<Series>> = ESTIMATORS.map(|_| Vec::new()).into();
    for noise in NOISE {
        // Without noise all seeds have the same queries.
        let seeds = if noise == 0 { 1 } else { oracles.seeds };
        let noisy = |seed: u32| oracles.vectors.noisy_queries(noise as f32 / 100.0, u64::from(seed) + 1);
        let (condition, series) = run(&model, (0..seeds).map(noisy).collect(), &questions, oracles.seeds, tick)?;
        conditions.push(condition);
        all.iter_mut().zip(series).for_each(|(all, series)| all.push(series));
    }
    let row = |(estimator, series): (&Estimator, &Vec<Series>)| {
        Row::new(estimator.name(), false, estimator.sizes(), series, model.classes())
    };
    let mut rows: Vec<Row> = ESTIMATORS.iter().zip(&all).map(row).collect();
    let conditions: Vec<&Condition> = conditions.iter().collect();
    if features > 0 {
        let kind = (FmbeKind::Maclaurin, features);
        rows.push(features::row(oracles.file(), kind, &conditions, asked, oracles.seeds, tick)?);
    }
    rows.extend(oracles.ours(&conditions, false)?);
    Ok(oracles.table(conditions[0], NOISE.map(|noise| format!("{noise} %")).into(), rows))
}

/// Returns the paper's cell.
pub fn paper(row: &Row, condition: usize) -> Option<published::Published> {
    // One line of the paper is shown beside both of ours.
    let k = if row.estimator == "MINCE" { Some(1) } else { row.k };
    published::table2(&row.estimator, k, condition)
}

/// Writes the sentences about the result at one scale.
pub fn prose(table: &OracleTable) -> Vec<String> {
    vec![format!(
        "From 0 to 30 % of noise MIMPS with k = l = 1000 goes {}, MINCE with k = 1 and l = 1000 {}, Moments with 2 % of N {}.",
        table.means("MIMPS", 1000, 1000),
        table.means("MINCE", 1, 1000),
        table.means("Moments, 2 % of N", 0, 0)
    )]
}
