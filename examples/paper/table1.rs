//! Table 1: the error of the estimators over k and l, given the true S_k.

use zhat::model::FmbeKind;

use super::estimator::{Estimator, Question};
use super::oracle::Oracles;
use super::result::{OracleTable, Row, number, percent};
use super::run::run;
use super::{ReproduceError, Step, features, published, tensor_sketch};

/// The paper's k and l.
const HEADS: [usize; 4] = [1000, 100, 10, 1];
const SAMPLES: [usize; 3] = [1000, 100, 10];

/// Runs the experiment. `features` are the sizes of the paper's FMBE, of which TensorSketch gets the last; `variants`
/// is the size of the other two kinds (zero leaves them out), and `asked` is the number of queries for all of these.
///
/// # Errors
/// [`ReproduceError`].
pub fn table1(
    oracles: &Oracles<'_>,
    features: &[u32],
    variants: u32,
    asked: usize,
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<OracleTable, ReproduceError> {
    let mut estimators: Vec<Estimator> = SAMPLES.map(|l| Estimator::Uniform { l }).into();
    let pairs = || HEADS.into_iter().flat_map(|k| SAMPLES.map(|l| (k, l)));
    estimators.extend(pairs().map(|(k, l)| Estimator::Mimps { k, l }));
    estimators.extend([1000, 100].map(|k| Estimator::PowerLaw { k }));
    estimators.extend(pairs().map(|(k, l)| Estimator::Mince { k, l }));
    estimators.extend([1000, 100].map(|n| Estimator::MinceByNewton { k: n, l: n }));
    let questions: Vec<Question> = estimators.iter().map(|&estimator| estimator.into()).collect();
    let (model, seeds) = (oracles.model(), oracles.seeds);
    let (condition, series) = run(&model, vec![oracles.vectors.queries()], &questions, seeds, tick)?;
    let row = |(estimator, series): (&Estimator, _)| {
        Row::new(estimator.name(), !estimator.is_papers(), estimator.sizes(), &[series], model.classes())
    };
    let mut rows: Vec<Row> = estimators.iter().zip(series).map(row).collect();
    let kinds = features.iter().map(|&count| (FmbeKind::Maclaurin, count));
    let others = [FmbeKind::Centred, FmbeKind::Positive].map(|kind| (kind, variants));
    for kind in kinds.chain(others).filter(|&(_, count)| count > 0) {
        rows.push(features::row(oracles.file(), kind, &[&condition], asked, seeds, tick)?);
    }
    if let Some(&count) = features.last().filter(|&&count| count > 0) {
        rows.push(tensor_sketch::row(&oracles.vectors.rows, count, &[&condition], asked, seeds, tick));
    }
    rows.extend(oracles.ours(&[&condition], true)?);
    Ok(oracles.table(&condition, vec![String::new()], rows))
}

/// Returns the paper's cell.
pub fn paper(row: &Row, _: usize) -> Option<published::Published> {
    published::table1(&row.estimator, row.k, row.l)
}

/// Writes the sentences about the result at one scale.
pub fn prose(table: &OracleTable) -> Vec<String> {
    let mean = |name: &str, k: usize, l: usize| table.mean(name, k, l, 0);
    let steps =
        |name: &str, n: usize| table.row(name, Some(n), Some(n)).and_then(|row| row.steps).map_or("–".into(), number);
    let mut lines = vec![
        format!(
            "MIMPS with k = l = 100 is off by {}, with k = l = 1000 by {} (the paper: 7.1 and 0.8 %); without a head, 1000 samples \
             by {} (101.8 %).",
            mean("MIMPS", 100, 100),
            mean("MIMPS", 1000, 1000),
            mean("Uniform", 0, 1000)
        ),
        format!(
            "MINCE is off by {} with k = l = 100 and by {} with k = l = 1000. Halley's method takes {} and {} steps for that, \
             Newton's {} and {}, which is less of a difference than the paper's \"considerable speed-up\".",
            mean("MINCE", 100, 100),
            mean("MINCE", 1000, 1000),
            steps("MINCE", 100),
            steps("MINCE", 1000),
            steps("MINCE by Newton's method", 100),
            steps("MINCE by Newton's method", 1000)
        ),
        format!(
            "A power law through the head instead of samples is off by {} with k = 100 and by {} with k = 1000, where as many \
             samples as rows of the head make it {} and {}.",
            mean("MIMPS, power-law tail", 100, 0),
            mean("MIMPS, power-law tail", 1000, 0),
            mean("MIMPS", 100, 100),
            mean("MIMPS", 1000, 1000)
        ),
    ];
    let named = |row: &Row| Some(format!("{}: {}", row.estimator, described(row)?));
    let of = |start: &str| {
        table.rows.iter().filter(|row| row.estimator.starts_with(start)).filter_map(named).collect::<Vec<_>>()
    };
    lines.push(format!("Random features do not pay, with TensorSketch or without: {}.", of("FMBE").join("; ")));
    lines.extend(ahead(table));
    lines
}

/// The names of our rows with the work of the oracle's.
const LEAST: &str = "Moments, 0.2 % of N";
const USUAL: &str = "Moments, 2 % of N";

/// Compares Moments with the oracle at no more than its work, which does not include the search for the head.
fn ahead(table: &OracleTable) -> Option<String> {
    let compare = |n: usize, name: &str| {
        let oracle = table.row("MIMPS", Some(n), Some(n))?;
        let ours = table.row(name, None, None)?;
        let verdict = if ours.cells.first()?.mean < oracle.cells.first()?.mean { "ahead of" } else { "behind" };
        Some(format!(
            "{} at {} of N, {verdict} the oracle's k = l = {n} ({})",
            percent(ours.cells.first()?.mean),
            percent(100.0 * ours.work),
            described(oracle)?
        ))
    };
    let missed = |name: &str| Some(percent(100.0 * (1.0 - table.row(name, None, None)?.recall?) * table.data.top_p));
    Some(format!(
        "Moments, search included: {}; {}. The best classes that it does not find hold about {} and {} of Z.",
        compare(100, LEAST)?,
        compare(1000, USUAL)?,
        missed(LEAST)?,
        missed(USUAL)?
    ))
}

/// Formats error and work: "3 % with a work of 1 %".
fn described(row: &Row) -> Option<String> {
    Some(format!("{} with a work of {}", percent(row.cells.first()?.mean), percent(100.0 * row.work)))
}
