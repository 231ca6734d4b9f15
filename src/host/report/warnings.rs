//! Warnings about a model: one list for the commands that build, describe and measure it.
//!
//! A warning is a sentence. A model that is fit for use has none. No warning is an error: a model whose probabilities
//! are off by half may still be good enough for some purpose.

use crate::Model;
use crate::host::evaluate::Report;
use crate::host::{Matrix, linear};

/// The largest mean error of Z at which probabilities are usable.
const MOST_ERROR: f32 = 0.2;
/// The smallest recall at which the classifier still gives the layer's answers.
const LEAST_RECALL: f32 = 0.9;
/// The smallest coverage at which an interval deserves to be called one of 95 %.
const LEAST_COVERAGE: f32 = 0.9;
const PROMISED: f32 = 0.95;
/// Deviations by which the luck of the queries may explain what is less than promised.
const LUCK: f32 = 2.5;
/// With fewer calibration queries for each dimension, unlike ones are not told well.
const PER_DIMENSION: usize = 2;
/// The number of queries below which figures are rough.
const FEW_MEASURED: usize = 30;
/// The factor between the norms of two sets of queries at which they count as different.
const OTHER_SCALE: f32 = 1.5;

/// Returns the warnings about a model file.
pub fn of_model(model: &Model<'_>) -> Vec<String> {
    let mut warnings = Vec::from_iter(of_shape(model));
    warnings.extend(model.left_out().map(|left_out| {
        format!("partial: {left_out} is left out behind the layer: p is a softmax of the layer's scores, not the network's output")
    }));
    match model.measured() {
        Some(measured) => Figures {
            queries: measured.queries as usize,
            error: measured.error,
            recall: Some(measured.recall),
            coverage: model.trust().map(|_| measured.coverage),
        }
        .warn("the calibration queries are too few, or unlike those (give more of them)", &mut warnings),
        None if model.tree().is_some() => warnings.push(
            "built without queries to measure on: error and recall are not known, and there are no intervals (give 200 \
             --queries or more)"
                .into(),
        ),
        None => {}
    }
    warnings
}

/// Warns if rows and columns may have been confused. Call it unless it is known how the weights were stored.
pub fn of_shape(model: &Model<'_>) -> Option<String> {
    let (classes, dim) = (model.classes(), model.dim());
    let text = format!("{classes} classes of {dim} dimensions: weights that are stored d×N are read with --transpose");
    (classes < dim).then_some(text)
}

/// Returns the warnings about the default classifier in an evaluation.
pub fn of_report(report: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(found) = report.of("moments") {
        Figures {
            queries: report.data.queries,
            error: found.err_mean,
            recall: found.recall_at_1,
            coverage: found.coverage95,
        }
        .warn("they are unlike the calibration queries, or those were too few", &mut warnings);
    }
    warnings
}

/// Returns the warnings about queries that cannot show anything; `what` names them.
pub fn of_queries(what: &str, queries: &Matrix) -> Vec<String> {
    let mut rows = queries.iter();
    let first = rows.next().unwrap_or(&[]);
    let all_zero = queries.data().iter().all(|&value| value == 0.0);
    if all_zero {
        vec![format!("{what}: all values are zero")]
    } else if queries.rows() > 1 && rows.all(|query| query == first) {
        vec![format!("{what}: all {} queries are the same one", queries.rows())]
    } else {
        Vec::new()
    }
}

/// Says how many calibration queries the dimension needs, where those that are given as `what` are fewer.
pub fn of_calibration(what: &str, queries: &Matrix) -> Option<String> {
    let (given, dim) = (queries.rows(), queries.cols());
    let needed = PER_DIMENSION * dim;
    (given < needed).then(|| {
        format!(
            "{what}: {given} queries for {dim} dimensions: unlike queries may pass for familiar, and intervals are wider than \
             with {needed} or more"
        )
    })
}

/// Warns if the queries' norms differ much from those of the reference, which `others` names.
pub fn of_scale(what: &str, queries: &Matrix, others: &str, reference: &Matrix) -> Vec<String> {
    let ratio = mean_norm(queries) / mean_norm(reference);
    if !ratio.is_finite() || (1.0 / OTHER_SCALE..=OTHER_SCALE).contains(&ratio) {
        return Vec::new();
    }
    vec![format!("{what}: queries are {ratio:.2} times as long as those of {others}: are they scaled alike?")]
}

fn mean_norm(queries: &Matrix) -> f32 {
    let norm = |query: &[f32]| linear::dot(query, query).sqrt();
    queries.iter().map(norm).sum::<f32>() / queries.rows().max(1) as f32
}

/// Measured figures.
struct Figures {
    queries: usize,
    error: f32,
    recall: Option<f32>,
    coverage: Option<f32>,
}

impl Figures {
    /// `uncovered` says what it may be due to that intervals do not hold.
    fn warn(&self, uncovered: &str, warnings: &mut Vec<String>) {
        let Self { queries, error, recall, coverage } = *self;
        if error.is_nan() || error > MOST_ERROR {
            warnings.push(format!(
                "Z is off by {} in the mean: its probabilities are not usable as such (allow more --work, or give --queries \
                 like those to come)",
                percent(error)
            ));
        }
        if let Some(recall) = recall.filter(|recall| recall.is_nan() || *recall < LEAST_RECALL) {
            let found = percent(recall);
            warnings.push(format!("the best class is found in {found} of the queries only (allow more --work)"));
        }
        let least = PROMISED - LUCK * (PROMISED * (1.0 - PROMISED) / queries.max(1) as f32).sqrt();
        if let Some(coverage) = coverage.filter(|coverage| coverage.is_nan() || *coverage < LEAST_COVERAGE.min(least)) {
            let held = percent(coverage);
            warnings.push(format!("the 95 % interval holds for {held} of the queries only: {uncovered}"));
        }
        if queries < FEW_MEASURED {
            warnings.push(format!("figures are from {queries} queries only: they are rough"));
        }
    }
}

/// Formats a share in per cent.
fn percent(share: f32) -> String {
    let percent = share * 100.0;
    if percent >= 1e4 { format!("{percent:.0e} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(queries: usize, error: f32, recall: f32, coverage: f32) -> Vec<String> {
        let mut warnings = Vec::new();
        Figures { queries, error, recall: Some(recall), coverage: Some(coverage) }.warn("why", &mut warnings);
        warnings
    }

    #[test]
    fn a_good_model_has_none() {
        assert!(of(100, 0.03, 0.97, 0.95).is_empty());
        assert!(of(30, 0.2, 0.9, 0.9).is_empty());
        // Four of thirty are luck, forty of three hundred are not.
        assert!(of(30, 0.03, 0.97, 0.867).is_empty());
        assert_eq!(of(300, 0.03, 0.97, 0.867), ["the 95 % interval holds for 86.7 % of the queries only: why"]);
    }

    #[test]
    fn each_figure_that_is_useless_has_one() {
        for (warnings, part) in [
            (of(100, 3e7, 0.97, 0.95), "off by 3e9 %"),
            (of(100, f32::NAN, 0.97, 0.95), "off by NaN"),
            (of(100, 0.03, 0.5, 0.95), "found in 50.0 %"),
            (of(100, 0.03, 0.97, 0.8), "holds for 80.0 %"),
            (of(5, 0.03, 0.97, 0.95), "5 queries only"),
        ] {
            assert!(warnings.len() == 1 && warnings[0].contains(part), "{warnings:?}");
        }
    }

    #[test]
    fn queries_that_show_nothing_are_named() {
        let matrix = |data: &[f32]| Matrix::new(data.to_vec(), 2).expect("whole rows");
        assert!(of_queries("q.npy", &matrix(&[1.0, 2.0, 3.0, 4.0])).is_empty());
        assert!(of_queries("q.npy", &matrix(&[1.0, 2.0])).is_empty());
        assert_eq!(of_queries("q.npy", &matrix(&[1.0, 2.0, 1.0, 2.0])), ["q.npy: all 2 queries are the same one"]);
        assert_eq!(of_queries("q.npy", &matrix(&[0.0; 4])), ["q.npy: all values are zero"]);
        assert_eq!(of_calibration("q.npy", &matrix(&[1.0; 8])), None);
        assert!(
            of_calibration("q.npy", &matrix(&[1.0; 6])).is_some_and(|text| text.contains("3 queries for 2 dimensions"))
        );
        let (long, short) = (matrix(&[3.0, 4.0]), matrix(&[0.0, 1.0, 1.0, 0.0]));
        assert!(of_scale("a", &long, "b", &long).is_empty());
        assert!(of_scale("a", &long, "b", &short)[0].starts_with("a: queries are 5.00 times as long as those of b"));
    }
}
