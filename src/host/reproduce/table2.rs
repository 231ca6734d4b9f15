//! Table 2: queries that move away from the rows, by noise of 0, 10, 20 and 30 % of their norm.
//!
//! The noise of a query is the same for all estimators and seeds; Z is that of the query with its noise.

use super::estimator::Estimator;
use super::features::run_fmbe;
use super::oracle::Oracles;
use super::result::{OracleTable, percent};
use super::run::{Run, run};
use super::{ReproduceError, Step};
use crate::estimators::RetrievalError;
use crate::host::Matrix;
use crate::model::FmbeKind;

/// Noise in per cent of the query's norm.
const NOISE: [u32; 4] = [0, 10, 20, 30];
const SIZES: [usize; 2] = [100, 1000];
const SHARES: [f32; 2] = [0.002, 0.02];

/// Runs it, with FMBE of `features` (none with zero) asked `asked` queries.
///
/// # Errors
/// [`ReproduceError`].
pub fn table2(
    oracles: &Oracles<'_>,
    features: u32,
    asked: usize,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<OracleTable, ReproduceError> {
    let mut estimators: Vec<Estimator> = SIZES.map(|l| Estimator::Uniform { l }).into();
    estimators.extend(SIZES.map(|n| Estimator::Mimps { k: n, l: n }));
    estimators.extend(SIZES.map(|n| Estimator::Mince { k: n, l: n }));
    let paper = estimators.len();
    estimators.extend(oracles.ours(&SHARES));
    let model = oracles.file.model();
    let mut sets: Vec<(Matrix, Run)> = Vec::new();
    for noise in NOISE {
        let queries = oracles.vectors.noisy_queries(noise as f32 / 100.0, 1);
        let found = run(&model, &queries, &estimators, RetrievalError::None, oracles.seeds, tick)?;
        sets.push((queries, found));
    }
    let mut rows = sets[0].1.rows(&estimators);
    sets[1..].iter().for_each(|(_, found)| found.extend(&mut rows, |_| true));
    if features > 0 {
        let with_truths: Vec<(&Matrix, &[f32])> =
            sets.iter().map(|(queries, found)| (queries, &found.truths[..])).collect();
        let kind = (FmbeKind::Maclaurin, features);
        rows.insert(paper, run_fmbe(&oracles.file, kind, &with_truths, asked, oracles.seeds, tick)?);
    }
    let first = &sets[0].1;
    let conditions = NOISE.map(|noise| format!("{noise} % noise")).into();
    Ok(oracles.table(&first.truths, first.top_p, conditions, rows))
}

/// What there is to say about it.
pub(super) fn prose(table: &OracleTable) -> Vec<String> {
    let path = |name: &str, n: Option<usize>| {
        let cells = (0..NOISE.len()).filter_map(|at| table.cell(name, n, n, at));
        cells.map(|cell| percent(cell.mean)).collect::<Vec<_>>().join(", ")
    };
    let moments = table.rows.iter().filter(|row| row.estimator == "Moments").map(|row| {
        let cells = row.cells.iter().flatten().map(|cell| percent(cell.mean)).collect::<Vec<_>>();
        format!("{} with {} of the rows", cells.join(", "), percent(100.0 * row.work))
    });
    vec![
        format!(
            "- From 0 to 30 % of noise MIMPS goes {} with k = l = 100 and {} with k = l = 1000: it needs the top k, not a \
             query that is a row.",
            path("MIMPS", Some(100)),
            path("MIMPS", Some(1000))
        ),
        format!("- MINCE goes {} with k = l = 1000.", path("MINCE", Some(1000))),
        format!(
            "- Moments goes {}. Its index was tuned on vectors without noise.",
            moments.collect::<Vec<_>>().join(" and ")
        ),
    ]
}
