//! `zhat report`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use zhat::host::Matrix;
use zhat::host::evaluate::{Method, Options, QuantisedLayer, Report, quantised, scores};
use zhat::host::input::{expect_writable, write_atomically};
use zhat::host::report::describe::Description;
use zhat::host::report::{plots, warnings};
use zhat::{Model, ModelBuf};

use super::files::{expect_apart, given};
use super::output::{bytes, count, maybe, percent, print};
use super::{Failure, Outcome, eval, inputs, tune};

/// The estimators that are compared.
const METHODS: [Method; 4] = [Method::Exact, Method::Moments, Method::Mimps, Method::Uniform];
/// The estimators that are drawn over budgets.
const DRAWN: [Method; 3] = [Method::Moments, Method::Mimps, Method::Uniform];
/// The number of queries whose distribution is drawn.
const CURVES: usize = 6;

/// Write a page about a model, to send to a colleague
///
/// One HTML file with everything in it: the model, the needs of a device, the results on the queries, and plots.
#[derive(Args)]
#[command(
    name = "report",
    after_help = "Example:
  zhat report model.zhat --queries test.npy --labels y.npy -o report.html"
)]
pub struct ReportArgs {
    /// The model file
    model: PathBuf,
    /// Queries that the model was not tuned on, M×d
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The true class of each query: adds accuracy, log-loss and calibration error
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// The page
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl ReportArgs {
    pub fn run(&self) -> Outcome {
        let files = [Some(("the model", self.model.as_path())), Some(("--queries", self.queries.as_path()))];
        let files = files.into_iter().chain([given("--labels", &self.labels)]).flatten();
        expect_apart([("--output", self.output.as_path())], files.collect::<Vec<_>>())?;
        expect_writable(&self.output)?;
        let file = inputs::model(&self.model)?;
        let queries = inputs::model_queries(&self.queries, &self.model, file.model().dim())?;
        let labels = self.labels.as_ref();
        let labels = labels.map(|path| inputs::labels(path, &self.queries, &queries, file.model().classes()));
        let html = page(&self.model, &file, &self.queries, &queries, labels.transpose()?.as_deref())?;
        write_atomically(&self.output, html.as_bytes())?;
        print(&format!("{}: {}\n", self.output.display(), bytes(html.len())))
    }
}

/// Returns the page about a model on queries, each with the path that names it.
pub fn page(
    path: &Path,
    file: &ModelBuf,
    queries_path: &Path,
    queries: &Matrix,
    labels: Option<&[usize]>,
) -> Outcome<String> {
    let model = file.model();
    let fail = |error: &dyn core::fmt::Display| Failure::Failed(format!("{}: {error}", queries_path.display()));
    let methods = METHODS.iter().copied().filter(|&method| model.tree().is_some() || method == Method::Exact);
    let options = Options { methods: methods.collect(), labels, ..Options::default() };
    let found = eval::shown(&model, None, queries, &options).map_err(|error| fail(&error))?;
    let description = Description::of(&model);
    let mut warned = description.warnings.clone();
    warned.extend(warnings::of_report(&found.report));
    warned.extend(warnings::of_queries(&inputs::name(queries_path), queries));
    warned.dedup();

    let about = inputs::about(path, queries.rows());
    let mut html = HEAD.to_owned();
    let title = format!("{} on {} queries", inputs::name(path), count(queries.rows() as u64));
    let _ = write!(html, "<title>{0}</title>\n<h1>{0}</h1>\n", escaped(&title));
    for warning in &warned {
        let _ = writeln!(html, "<p class=warning>{}</p>", escaped(warning));
    }
    html += &table("The layer", &["", ""], &layer(&description, &found.report));
    html += &table("What a device needs", &["", ""], &needs(&description));
    let headings =
        ["estimator", "work", "largest seen", "error of Z", "for 95 %", "recall", "coverage", "log-loss", "ECE"];
    html += &table("Estimators", &headings, &estimators(&found.report));
    if model.tree().is_some() {
        let points = tune::shown(&model, queries, &DRAWN, &tune::BUDGETS, 1)?;
        html += &drawn("Error against work", |path| plots::error_against_work(path, &about, &tune::lines(&points)))?;
    }
    let curves = curves(&model, queries).map_err(|error| fail(&error))?;
    let drawn_about = format!("{about}, {} of them drawn", curves.len());
    html += &drawn("How much of the probability the best classes hold", |path| {
        plots::cumulative(path, &drawn_about, &curves)
    })?;
    if !found.reliability.is_empty() {
        let curves: Vec<_> = found.reliability.iter().map(|(name, curve)| (*name, curve.points())).collect();
        html += &drawn("Is a p of 70 % right 70 % of the time?", |path| plots::reliability(path, &about, &curves))?;
    }
    let sections = description.sections.iter().map(|section| vec![section.name.into(), count(section.bytes as u64)]);
    html += &table("The file", &["section", "bytes"], &sections.collect::<Vec<_>>());
    Ok(html)
}

fn layer(description: &Description, report: &Report) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let model = &description.model;
    vec![
        row("classes", count(model.classes as u64)),
        row("dimensions", model.dim.to_string()),
        row("mean p of the best class", format!("{:.3}", report.data.top_p_mean)),
        row("scores spread by", format!("{:.2} nats", report.data.score_spread)),
        row("budget", format!("a cap of {} rows ({})", model.cap, percent(model.cap as f32 / model.classes as f32))),
    ]
}

fn needs(description: &Description) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let needs = &description.needs;
    let mut rows = vec![row("flash for the file", bytes(needs.flash)), row("RAM for a query", bytes(needs.ram))];
    if let Some(mean) = needs.instructions_mean {
        rows.push(row("instructions of a mean query, about, Cortex-M4", count(mean)));
    }
    rows.push(row("instructions of any query, at most", count(needs.instructions_max)));
    rows.push(row("instructions for all rows", count(needs.instructions_exact)));
    rows
}

fn estimators(report: &Report) -> Vec<Vec<String>> {
    let row = |e: &zhat::host::evaluate::EstimatorReport| {
        vec![
            e.name.to_owned(),
            percent(e.work_mean),
            percent(e.work_max),
            percent(e.err_mean),
            percent(e.err_p95),
            maybe(e.recall_at_1),
            maybe(e.coverage95),
            e.log_loss.map_or("–".into(), |loss| format!("{loss:.4}")),
            maybe(e.ece),
        ]
    };
    report.estimators.iter().map(row).collect()
}

/// Computes the cumulative distribution of a few queries, from first to last at equal steps.
fn curves(model: &Model<'_>, queries: &Matrix) -> Result<Vec<(String, Vec<f32>)>, zhat::Error> {
    let step = queries.rows().div_ceil(CURVES).max(1);
    let curve = |index: usize| {
        let values = quantised(model, queries.row(index)).map_err(|(_, error)| error)?;
        Ok((format!("query {index}"), plots::cumulative_shares(scores(&QuantisedLayer(model), &values))))
    };
    (0..queries.rows()).step_by(step).map(curve).collect()
}

/// Draws a plot below a heading.
fn drawn<E: std::error::Error>(heading: &str, draw: impl FnOnce(&Path) -> Result<(), E>) -> Outcome<String> {
    let file = tempfile::Builder::new().suffix(".svg").tempfile()?;
    draw(file.path())?;
    let svg = std::fs::read_to_string(file.path())?;
    Ok(format!("<h2>{}</h2>\n{svg}\n", escaped(heading)))
}

fn table(heading: &str, headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut html = format!("<h2>{}</h2>\n<table>\n", escaped(heading));
    let mut line = |cells: &mut dyn Iterator<Item = &str>, tag: &str| {
        let cells: String = cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        let _ = writeln!(html, "<tr>{cells}</tr>");
    };
    if headings.iter().any(|heading| !heading.is_empty()) {
        line(&mut headings.iter().copied(), "th");
    }
    rows.iter().for_each(|row| line(&mut row.iter().map(String::as_str), "td"));
    html + "</table>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const HEAD: &str = "<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content=\"width=device-width\">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse }
td, th { padding: .15rem .8rem .15rem 0; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left }
svg { max-width: 100%; height: auto }
.warning { background: #fff4d6; padding: .5rem .8rem }
</style>
";
