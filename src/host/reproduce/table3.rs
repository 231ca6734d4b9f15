//! Table 3: a retrieval that misses the best row, the second best, or both; the next best take their places.

use super::estimator::Estimator;
use super::oracle::Oracles;
use super::result::{OracleTable, percent};
use super::run::run;
use super::{ReproduceError, Step};
use crate::estimators::RetrievalError;

const SIZES: [usize; 2] = [100, 1000];
const SHARES: [f32; 2] = [0.002, 0.02];

/// Runs it.
///
/// # Errors
/// [`ReproduceError`].
pub fn table3(oracles: &Oracles<'_>, tick: &(dyn Fn(Step<'_>) + Sync)) -> Result<OracleTable, ReproduceError> {
    let mut estimators: Vec<Estimator> = SIZES.map(|n| Estimator::Mimps { k: n, l: n }).into();
    estimators.extend(SIZES.map(|n| Estimator::Mince { k: n, l: n }));
    estimators.extend(oracles.ours(&SHARES));
    let model = oracles.file.model();
    let queries = oracles.vectors.queries();
    let whole = run(&model, &queries, &estimators, RetrievalError::None, oracles.seeds, tick)?;
    let mut rows = whole.rows(&estimators);
    // What has a real index misses what it misses: only what starts from the oracle's head is asked again.
    let heads: Vec<Estimator> = estimators.iter().copied().filter(|estimator| estimator.has_head()).collect();
    for misses in &RetrievalError::ALL[1..] {
        let found = run(&model, &queries, &heads, *misses, oracles.seeds, tick)?;
        found.extend(&mut rows[..heads.len()], |_| true);
        rows[heads.len()..].iter_mut().for_each(|row| row.cells.push(None));
    }
    let conditions = ["none missed", "rank 1 missed", "rank 2 missed", "both missed"].map(String::from).into();
    Ok(oracles.table(&whole.truths, whole.top_p, conditions, rows))
}

/// What there is to say about it.
pub(super) fn prose(table: &OracleTable) -> Vec<String> {
    let mean = |name: &str, n: usize, at: usize| {
        table.cell(name, Some(n), Some(n), at).map_or("–".into(), |cell| percent(cell.mean))
    };
    let recalls = table.rows.iter().filter_map(|row| {
        let (recall, cell) = (row.recall?, row.cells.first()?.as_ref()?);
        let (work, error) = (percent(100.0 * row.work), percent(cell.mean));
        Some(format!("{} of the best rows with a work of {work}, at an error of {error}", percent(100.0 * recall)))
    });
    vec![
        format!(
            "- The error jumps when the best row is missed, as in the paper: MIMPS with k = l = 1000 goes from {} to {}, \
             with the second best missed to {}, with both to {}.",
            mean("MIMPS", 1000, 0),
            mean("MIMPS", 1000, 1),
            mean("MIMPS", 1000, 2),
            mean("MIMPS", 1000, 3)
        ),
        format!(
            "- MINCE barely notices ({} and {} with both missed): it is wrong either way.",
            mean("MINCE", 1000, 0),
            mean("MINCE", 1000, 3)
        ),
        format!(
            "- Our rows have a real index, whose misses are in their figures already. Moments finds {}. Its search follows \
             mass, and the best row has a p of {} in the mean here; a row that it did not open is still in the prediction \
             of its node, which is why missing it costs so little.",
            recalls.collect::<Vec<_>>().join(", and "),
            super::result::number(table.data.top_p)
        ),
    ]
}
