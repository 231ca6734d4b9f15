//! `zhat eval`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use zhat::Model;
use zhat::host::evaluate::{
    EvaluateError, Evaluation, FloatLayer, Method, Mismatch, Options, Report, TOP, mismatch, stored_budget,
};
use zhat::host::label::{Labelled, SetFigures, set_figures};
use zhat::host::report::{plots, warnings};
use zhat::host::{Matrix, with_fmbe};
use zhat::model::{FmbeKind, ModelBuf};

use super::args;
use super::files::{expect_apart, given};
use super::inputs::{self, LayerArgs};
use super::output::{self, Table, expect_plot, maybe, percent, print, print_json};
use super::progress::Progress;
use super::{Failure, Outcome};

/// Compare estimators with the exact answers
///
/// The error is |Ẑ−Z|/Z against the exact Z of the same quantised model; "float" columns compare with the given float
/// weights, at the model's temperature. Work is the number of dot products as a share of all rows, nodes included.
#[derive(Args)]
#[command(after_help = "Example:
  zhat eval model.zhat --weights W.npy --bias b.npy --queries test.npy
  zhat eval model.zhat --weights W.npy --bias b.npy --queries test.npy --estimators all --json > report.json")]
pub struct Eval {
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    layer: LayerArgs,
    /// Queries that the model was not tuned on, M×d
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The true class of each query: adds log-loss and calibration error
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// The queries that the model was tuned on: adds recall of classes that are the best of none of them
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// all, or names: exact, moments, moments+samples, uniform, nmimps, mimps, mince, fmbe, self-normalised
    #[arg(long, value_name = "NAMES", default_value = "exact,moments")]
    estimators: String,
    /// Seeds for estimators that draw samples
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// k of recall@k
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=TOP as i64))]
    top: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw error against work, .svg or .png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Eval {
    pub fn run(&self) -> Outcome {
        let methods = args::methods(&self.estimators).map_err(Failure::Usage)?;
        let files = [
            Some(("the model", self.model.as_path())),
            Some(("--queries", self.queries.as_path())),
            given("--labels", &self.labels),
            given("--calibration", &self.calibration),
        ];
        expect_apart(given("--plot", &self.plot), self.layer.files().chain(files.into_iter().flatten()))?;
        expect_plot(self.plot.as_ref())?;
        let file = inputs::model(&self.model)?;
        let layer = self.layer.read()?;
        let (classes, dim) = (file.model().classes(), file.model().dim());
        if (layer.weights.rows(), layer.weights.cols()) != (classes, dim) {
            let found = format!("{}×{}", layer.weights.rows(), layer.weights.cols());
            let (weights, model) = (self.layer.path().display(), self.model.display());
            let hint = self.layer.transpose_hint((layer.weights.cols(), layer.weights.rows()) == (classes, dim));
            return Err(Failure::Failed(format!("{weights}: {found}, but {model} is of {classes}×{dim}{hint}")));
        }
        let queries = inputs::model_queries(&self.queries, &self.model, dim)?;
        let labels =
            self.labels.as_ref().map(|path| inputs::labels(path, &self.queries, &queries, classes)).transpose()?;
        let calibration =
            self.calibration.as_ref().map(|path| inputs::model_queries(path, &self.model, dim)).transpose()?;
        let file = usable(file, &methods)?;
        let temperature = file.model().settings().map_or(1.0, |settings| settings.temperature);
        let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature };
        if let Some(mismatch) = mismatch(&file.model(), float, &queries) {
            return Err(self.other_layer(mismatch));
        }
        let options = Options {
            methods,
            seeds: self.seeds as usize,
            k: self.top as usize,
            calibration: calibration.as_ref(),
            labels: labels.as_deref(),
            ..Options::default()
        };
        let found = shown(&file.model(), Some(float), &queries, &options)
            .map_err(|error| Failure::Failed(format!("{}: {error}", self.queries.display())))?;
        if let Some(path) = &self.plot {
            let points = found.report.estimators.iter().filter(|e| e.name != "exact" && e.work_mean > 0.0);
            let lines: Vec<_> =
                points.map(|e| plots::Line { name: e.name.into(), points: vec![(e.work_mean, e.err_mean)] }).collect();
            plots::error_against_work(path, &inputs::about(&self.model, queries.rows()), &lines)?;
        }
        let mut warnings = warnings::of_report(&found.report);
        let shown = self.queries.display().to_string();
        warnings.extend(warnings::of_queries(&shown, &queries));
        if let (Some(path), Some(calibration)) = (&self.calibration, &calibration) {
            warnings.extend(warnings::of_scale(&shown, &queries, &path.display().to_string(), calibration));
        }
        let sets = match &labels {
            Some(labels) => set_figures(&file.model(), Labelled { queries: &queries, labels }, None)?,
            None => Vec::new(),
        };
        if self.json {
            let warned = Warned { report: &found.report, sets: &sets, warnings };
            return print_json(&warned);
        }
        let gap = if sets.is_empty() { "" } else { "\n" };
        print(&(text(&found.report) + gap + &output::sets(&sets) + &output::warnings(&warnings)))
    }

    /// Explains that the files are not those that the model was made from, and suggests an option.
    fn other_layer(&self, mismatch: Mismatch) -> Failure {
        let model = self.model.display();
        let weights = self.layer.path().display();
        Failure::Failed(match (mismatch, &self.layer.bias) {
            (Mismatch::Weights(off), _) => format!(
                "{weights}: not the weights that {model} was made from: they differ by {} (another --tensor? --transpose?)",
                percent(off)
            ),
            (Mismatch::Biases(off), Some(bias)) => {
                format!("{}: not the biases that {model} was made with: they differ by {off:.2} nats", bias.display())
            }
            (Mismatch::Biases(off), None) => format!(
                "{weights}: {model} was made with biases that differ by {off:.2} nats from those given here: \
                 give its --bias, or --bias-tensor"
            ),
        })
    }
}

/// A report with its warnings.
#[derive(Serialize)]
struct Warned<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// How sets of classes did on the labels.
    sets: &'a [SetFigures],
    warnings: Vec<String>,
}

/// Runs [`Evaluation::watched`] with a progress display.
pub fn shown(
    model: &Model<'_>,
    layer: Option<FloatLayer<'_>>,
    queries: &Matrix,
    options: &Options<'_>,
) -> Result<Evaluation, EvaluateError> {
    let progress = Progress::new();
    let found = Evaluation::watched(model, layer, queries, options, &mut |done, of| {
        progress.count("evaluating", done, of);
    });
    progress.finish();
    found
}

/// Returns the model with everything that the methods need: for FMBE, a table of about as many features as the budget
/// has rows.
pub fn usable(file: ModelBuf, methods: &[Method]) -> Outcome<ModelBuf> {
    /// The most products for computing a table.
    const MOST_PRODUCTS: usize = 20_000_000_000;
    /// The most features of a table.
    const MOST_FEATURES: usize = 1000;
    let model = file.model();
    if !methods.contains(&Method::Fmbe) || model.fmbe().is_some() {
        return Ok(file);
    }
    let affordable = MOST_PRODUCTS / (model.classes() * model.dim());
    let features = (stored_budget(&model).cap as usize).min(affordable).clamp(16, MOST_FEATURES);
    Ok(with_fmbe(&file, FmbeKind::Maclaurin, features as u32, 1)?)
}

/// Formats a report for people.
pub fn text(report: &Report) -> String {
    let (model, data) = (&report.model, &report.data);
    let mut text = format!(
        "{} classes, {} dimensions, {} queries; mean p of the best class {:.3}\n",
        data.classes, data.dim, data.queries, data.top_p_mean
    );
    let _ = writeln!(
        text,
        "budget: a cap of {} rows ({}), epsilon {}, links of {} rows followed\n",
        model.cap,
        percent(model.cap as f32 / model.classes as f32),
        model.epsilon,
        model.expand
    );
    let k = report.estimators.first().map_or(0, |estimator| estimator.k);
    let recall = format!("rec@{k}");
    let mut table = Table::new(&[
        "estimator",
        "work",
        "p95",
        "max",
        "error",
        "median",
        "p95",
        "p99",
        "float",
        "|Δp|",
        "rec@1",
        "float@1",
        &recall,
        "cover",
        "2–5",
        "familiar",
        "width",
        "µs",
        "×exact",
    ]);
    for e in &report.estimators {
        let plain = |x: Option<f32>| x.map_or("–".into(), |x| format!("{x:.4}"));
        let rate = |x: Option<f32>| x.map_or("–".into(), |x| format!("{x:.3}"));
        table.row(vec![
            e.name.into(),
            percent(e.work_mean),
            percent(e.work_p95),
            percent(e.work_max),
            percent(e.err_mean),
            percent(e.err_median),
            percent(e.err_p95),
            percent(e.err_p99),
            maybe(e.err_float_mean),
            plain(e.dp_mean),
            rate(e.recall_at_1),
            rate(e.float_recall_at_1),
            rate(e.recall_at_k),
            rate(e.coverage95),
            rate(e.coverage95_others),
            rate(e.familiar),
            plain(e.interval_width),
            format!("{:.1}", e.time_us),
            format!("{:.3}", e.time_ratio_to_exact),
        ]);
    }
    text += &table.render();
    if let Some(unseen) = data.unseen_queries {
        let _ = writeln!(
            text,
            "\n{unseen} queries have a best class that is the best of no calibration query; recall@1 of those:"
        );
        for e in report.estimators.iter().filter(|e| e.unseen_recall_at_1.is_some()) {
            let _ = writeln!(text, "  {:16} {}", e.name, maybe(e.unseen_recall_at_1));
        }
    }
    if let Some(labels) = &report.labels {
        let mut table = Table::new(&["probabilities", "accuracy", "log-loss", "ECE"]);
        let layers = [
            ("float layer", labels.float),
            ("exact Z", Some(labels.exact)),
            ("Z = 1 (no sum of one)", Some(labels.self_normalised)),
        ];
        for (name, quality) in layers.into_iter().filter_map(|(name, quality)| Some((name, quality?))) {
            let (accuracy, ece) = (percent(quality.accuracy), percent(quality.ece));
            table.row(vec![name.into(), accuracy, format!("{:.4}", quality.log_loss), ece]);
        }
        for e in report.estimators.iter().filter(|e| e.name != "exact" && e.name != "self-normalised") {
            if let (Some(accuracy), Some(loss), Some(ece)) = (e.accuracy, e.log_loss, e.ece) {
                table.row(vec![e.name.into(), percent(accuracy), format!("{loss:.4}"), percent(ece)]);
            }
        }
        let _ = write!(text, "\n{}", table.render());
        text += &figures(report);
    }
    text
}

/// What p of the best class is worth.
fn figures(report: &Report) -> String {
    let with_figures = || report.estimators.iter().filter_map(|e| Some((e, e.figures.as_ref()?)));
    let shares =
        with_figures().next().map_or(Vec::new(), |(_, figures)| figures.surest.iter().map(|s| s.share).collect());
    let mut headings =
        vec!["p of the best class".to_owned(), "ECE, equal mass".into(), "less chance".into(), "chance".into()];
    headings.extend(["by class".into(), "Brier".into(), "risk area".into()]);
    headings.extend(shares.iter().map(|&share| format!("surest {}", percent(share))));
    let mut table = Table::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    for (e, figures) in with_figures() {
        let mut row = vec![
            e.name.into(),
            percent(figures.ece),
            format!("{} to {}", percent(figures.ece_low), percent(figures.ece_high)),
            percent(figures.ece_by_chance),
            percent(figures.classwise_ece),
            format!("{:.4}", figures.brier),
            percent(figures.risk_area),
        ];
        row.extend(figures.surest.iter().map(|surest| percent(surest.accuracy)));
        table.row(row);
    }
    format!("\n{}", table.render())
}
