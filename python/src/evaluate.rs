//! A model against the layer that it was made from: figures, plots and the page.

use std::path::Path;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use zhat::host::Matrix;
use zhat::host::evaluate::{
    Evaluation, FloatLayer, Method, Mismatch, Options, QuantisedLayer, mismatch, quantised, scores, sweep,
};
use zhat::host::report::plots::{self, PlotError};
use zhat::host::report::warnings;

use crate::cli::{args, eval, report, tune};
use crate::error::{failure, value};
use crate::model::Model;
use crate::queries::{labels, matrix};
use crate::work::interruptible;

/// The text over a plot and a page.
const MODEL: &str = "the model";
const QUERIES: &str = "queries";

#[pymethods]
impl Model {
    /// Compares estimators with the exact answers: returns the report as JSON, as the command's text, and the warnings.
    #[pyo3(signature = (queries, weights, bias, labelled, calibration, estimators, top, seeds, progress))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn evaluate(
        &self,
        py: Python<'_>,
        queries: PyReadonlyArray2<'_, f32>,
        weights: Option<PyReadonlyArray2<'_, f32>>,
        bias: Option<PyReadonlyArray1<'_, f32>>,
        labelled: Option<PyReadonlyArray1<'_, i64>>,
        calibration: Option<PyReadonlyArray2<'_, f32>>,
        estimators: &str,
        top: usize,
        seeds: usize,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(String, String, Vec<String>)> {
        let (queries, labels) = self.asked(&queries, labelled.as_ref())?;
        let weights = weights.map(|weights| matrix("weights", &weights)).transpose()?;
        let calibration = calibration.map(|queries| matrix("calibration", &queries)).transpose()?;
        let biases = match (&bias, &weights) {
            (Some(bias), _) => bias.as_slice().map_err(value)?.to_vec(),
            (None, Some(weights)) => vec![0.0; weights.rows()],
            (None, None) => Vec::new(),
        };
        let (classes, dim) = (self.file.model().classes(), self.file.model().dim());
        if let Some(weights) = weights.as_ref().filter(|weights| (weights.rows(), weights.cols()) != (classes, dim)) {
            let (rows, cols) = (weights.rows(), weights.cols());
            return Err(value(format!("weights: {rows}×{cols}, but {MODEL} is of {classes}×{dim}")));
        }
        if weights.is_some() && biases.len() != classes {
            return Err(value(format!("bias: {} values, but {MODEL} is of {classes} classes", biases.len())));
        }
        if !(1..=zhat::host::evaluate::TOP).contains(&top) {
            return Err(value(format!("top: {top} is not 1 to {}", zhat::host::evaluate::TOP)));
        }
        let methods = args::methods(estimators).map_err(value)?;
        let file = self.file.clone();
        let found = interruptible(py, progress.as_ref(), move |watch| {
            let file = eval::usable((*file).clone(), &methods).map_err(failure)?;
            let model = file.model();
            let temperature = model.settings().map_or(1.0, |settings| settings.temperature);
            let float = weights.as_ref().map(|weights| FloatLayer { weights, biases: &biases, temperature });
            if let Some(mismatch) = float.and_then(|float| mismatch(&model, float, &queries)) {
                return Err(other_layer(mismatch));
            }
            let options = Options {
                methods,
                seeds,
                k: top,
                calibration: calibration.as_ref(),
                labels: labels.as_deref(),
                ..Options::default()
            };
            let shown = &mut |done: usize, of: usize| watch.step("asking the estimators", done, of);
            let found = Evaluation::watched(&model, float, &queries, &options, shown).map_err(of_queries)?;
            let mut warned = warnings::of_report(&found.report);
            warned.extend(warnings::of_queries(QUERIES, &queries));
            if let Some(calibration) = &calibration {
                warned.extend(warnings::of_scale(QUERIES, &queries, "calibration", calibration));
            }
            Ok((found.report, warned))
        });
        let (report, warned) = found??;
        Ok((serde_json::to_string(&report).map_err(value)?, eval::text(&report), warned))
    }

    /// Draws whether a p of 70 % is right 70 % of the time, as SVG.
    fn plot_reliability(
        &self,
        py: Python<'_>,
        queries: PyReadonlyArray2<'_, f32>,
        labelled: PyReadonlyArray1<'_, i64>,
        estimators: &str,
    ) -> PyResult<String> {
        let (queries, labels) = self.asked(&queries, Some(&labelled))?;
        let methods = args::methods(estimators).map_err(value)?;
        let file = self.file.clone();
        let drawn = interruptible(py, None, move |_| {
            let file = eval::usable((*file).clone(), &methods).map_err(failure)?;
            let options = Options { methods, labels: labels.as_deref(), timed: false, ..Options::default() };
            let found = Evaluation::run(&file.model(), None, &queries, &options).map_err(of_queries)?;
            let curves: Vec<_> = found.reliability.iter().map(|(name, curve)| (*name, curve.points())).collect();
            svg(|path| plots::reliability(path, &about(&queries), &curves))
        });
        drawn?
    }

    /// Draws the error of estimators against their work, as SVG.
    fn plot_error_work(
        &self,
        py: Python<'_>,
        queries: PyReadonlyArray2<'_, f32>,
        estimators: &str,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let (queries, _) = self.asked(&queries, None)?;
        let methods: Vec<Method> = args::methods(estimators).map_err(value)?;
        let file = self.file.clone();
        let drawn = interruptible(py, progress.as_ref(), move |watch| {
            let file = eval::usable((*file).clone(), &methods).map_err(failure)?;
            let shown = &mut |what: &str, done: usize, of: usize| watch.step(what, done, of);
            let points = sweep(&file.model(), &queries, &methods, &tune::BUDGETS, 1, shown).map_err(of_queries)?;
            svg(|path| plots::error_against_work(path, &about(&queries), &tune::lines(&points)))
        });
        drawn?
    }

    /// Draws how much of the probability the best classes hold, a line for each of at most `count` queries, as SVG.
    fn plot_cumulative(&self, py: Python<'_>, queries: PyReadonlyArray2<'_, f32>, count: usize) -> PyResult<String> {
        let (queries, _) = self.asked(&queries, None)?;
        if !(1..=16).contains(&count) {
            return Err(value(format!("count: {count} is not 1 to 16")));
        }
        let file = self.file.clone();
        let drawn = interruptible(py, None, move |_| {
            let model = file.model();
            let mut curves = Vec::new();
            for index in (0..queries.rows()).step_by(queries.rows().div_ceil(count)) {
                let values = quantised(&model, queries.row(index))
                    .map_err(|(_, error)| value(format!("queries: query {index}: {error}")))?;
                let shares = plots::cumulative_shares(scores(&QuantisedLayer(&model), &values));
                curves.push((format!("query {index}"), shares));
            }
            let about = format!("{}, {} of them drawn", about(&queries), curves.len());
            svg(|path| plots::cumulative(path, &about, &curves))
        });
        drawn?
    }

    /// Returns the page that `zhat report` writes.
    #[pyo3(signature = (queries, labelled, name))]
    fn report(
        &self,
        py: Python<'_>,
        queries: PyReadonlyArray2<'_, f32>,
        labelled: Option<PyReadonlyArray1<'_, i64>>,
        name: String,
    ) -> PyResult<String> {
        let (queries, labels) = self.asked(&queries, labelled.as_ref())?;
        let file = self.file.clone();
        let page = interruptible(py, None, move |_| {
            report::page(Path::new(&name), &file, Path::new(QUERIES), &queries, labels.as_deref())
        });
        page?.map_err(failure)
    }
}

impl Model {
    /// Copies queries and labels, and checks them.
    fn asked(
        &self,
        queries: &PyReadonlyArray2<'_, f32>,
        labelled: Option<&PyReadonlyArray1<'_, i64>>,
    ) -> PyResult<(Matrix, Option<Vec<usize>>)> {
        let queries = matrix(QUERIES, queries)?;
        let (classes, dim) = (self.file.model().classes(), self.file.model().dim());
        if queries.cols() != dim {
            let (rows, cols) = (queries.rows(), queries.cols());
            return Err(value(format!("queries: {rows}×{cols}, but {MODEL} has a dimension of {dim}")));
        }
        let labels = labelled.map(|array| labels(array, classes)).transpose()?;
        match &labels {
            Some(labels) if labels.len() != queries.rows() => {
                Err(value(format!("labels: {} values for {} queries", labels.len(), queries.rows())))
            }
            _ => Ok((queries, labels)),
        }
    }
}

fn about(queries: &Matrix) -> String {
    format!("{} queries", queries.rows())
}

fn of_queries(error: impl std::fmt::Display) -> PyErr {
    value(format!("{QUERIES}: {error}"))
}

fn other_layer(mismatch: Mismatch) -> PyErr {
    value(match mismatch {
        Mismatch::Weights(off) => {
            format!("weights: not the weights that {MODEL} was made from: they differ by {:.1} %", 100.0 * off)
        }
        Mismatch::Biases(off) => {
            format!("bias: not the biases that {MODEL} was made with: they differ by {off:.2} nats")
        }
    })
}

fn svg(draw: impl FnOnce(&Path) -> Result<(), PlotError>) -> PyResult<String> {
    let file = tempfile::Builder::new().suffix(".svg").tempfile()?;
    draw(file.path()).map_err(value)?;
    Ok(std::fs::read_to_string(file.path())?)
}
