//! Table 3: a retrieval that misses the best row, the second best, or both; the next best take their places.
//!
//! Missed rows may be excluded from samples too, as in the paper, whose σ is too small for rows that a sample meets now
//! and then; or they may be sampled like the others, as with any real index.

use zhat::estimators::RetrievalError;

use super::estimator::{Estimator, Question};
use super::oracle::Oracles;
use super::result::{OracleTable, Row};
use super::run::run;
use super::tally::Series;
use super::{ReproduceError, Step, published};

/// The paper's settings.
const ESTIMATORS: [Estimator; 2] = [Estimator::Mimps { k: 1000, l: 1000 }, Estimator::Mince { k: 1, l: 1000 }];

/// Runs the experiment.
///
/// # Errors
/// [`ReproduceError`].
pub fn table3(oracles: &Oracles<'_>, tick: &(dyn Fn(Step<'_>) + Sync)) -> Result<OracleTable, ReproduceError> {
    let model = oracles.model();
    let lines = || ESTIMATORS.into_iter().flat_map(|estimator| [true, false].map(|gone| (estimator, gone)));
    let questions: Vec<Question> = lines()
        .flat_map(|(estimator, gone)| RetrievalError::ALL.map(|misses| Question { estimator, misses, gone }))
        .collect();
    let (condition, series) = run(&model, vec![oracles.vectors.queries()], &questions, oracles.seeds, tick)?;
    let row = |((estimator, gone), series): ((Estimator, bool), &[Series])| {
        let name = format!("{}, missed rows {}", estimator.name(), if gone { "gone" } else { "sampled" });
        Row::new(&name, false, estimator.sizes(), series, model.classes())
    };
    let mut rows: Vec<Row> = lines().zip(series.chunks(RetrievalError::ALL.len())).map(row).collect();
    rows.extend(oracles.ours(&[&condition], false)?);
    let conditions = ["none missed", "rank 1", "rank 2", "ranks 1 and 2"].map(String::from).into();
    Ok(oracles.table(&condition, conditions, rows))
}

/// Returns the paper's cell.
pub fn paper(row: &Row, condition: usize) -> Option<published::Published> {
    published::table3(&row.estimator, row.k, condition)
}

/// Writes the sentences about the result at one scale.
pub fn prose(table: &OracleTable) -> Vec<String> {
    vec![
        format!(
            "MIMPS goes {} with the missed rows gone, and {} where a sample may meet them, which is rare and then counts \
             (N−k)/l-fold; MINCE goes {}.",
            table.means("MIMPS, missed rows gone", 1000, 1000),
            table.means("MIMPS, missed rows sampled", 1000, 1000),
            table.means("MINCE, missed rows gone", 1, 1000)
        ),
        "Our rows have a real index, whose misses are in their one figure already.".into(),
    ]
}
