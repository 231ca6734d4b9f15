//! `zhat tune`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use zhat::Model;
use zhat::host::Matrix;
use zhat::host::evaluate::{Method, Point, sweep};
use zhat::host::report::plots::{self, Line};

use super::files::{expect_apart, given};
use super::output::{Table, expect_plot, maybe, percent, print, print_json};
use super::progress::Progress;
use super::{Failure, Outcome, args, eval, inputs};

/// The shares of N that are tried.
pub const BUDGETS: [f32; 7] = [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32];

/// Show error, recall and work of a model over budgets and settings
///
/// Runs every estimator with every budget, and the default one also with other numbers of links followed and with the
/// stored rule for stopping early. A * marks points that no other beats in both work and error. The factor on the far
/// field is the stored one, which was fitted for the stored budget.
#[derive(Args)]
#[command(after_help = "Example:
  zhat tune model.zhat --queries test.npy --plot tune.svg
  zhat tune model.zhat --queries test.npy --budgets 1%,2%,4% --estimators moments,mimps")]
pub struct Tune {
    /// The model file
    model: PathBuf,
    /// Queries, M×d
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Caps to try, as shares of N
    #[arg(long, value_name = "SHARES", value_delimiter = ',', value_parser = args::share)]
    budgets: Vec<f32>,
    /// all, or names of estimators
    #[arg(long, value_name = "NAMES", default_value = "moments,moments+samples,mimps,nmimps,uniform")]
    estimators: String,
    /// Seeds for estimators that draw samples
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Draw error against work, .svg or .png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Json<'a> {
    points: &'a [Point],
}

impl Tune {
    pub fn run(&self) -> Outcome {
        let methods = args::methods(&self.estimators).map_err(Failure::Usage)?;
        let files = [("the model", self.model.as_path()), ("--queries", self.queries.as_path())];
        expect_apart(given("--plot", &self.plot), files)?;
        expect_plot(self.plot.as_ref())?;
        let file = inputs::model(&self.model)?;
        let queries = inputs::model_queries(&self.queries, &self.model, file.model().dim())?;
        let file = eval::usable(file, &methods)?;
        let budgets = if self.budgets.is_empty() { &BUDGETS[..] } else { &self.budgets };
        let points = shown(&file.model(), &queries, &methods, budgets, self.seeds as usize)?;
        if let Some(path) = &self.plot {
            plots::error_against_work(path, &inputs::about(&self.model, queries.rows()), &lines(&points))?;
        }
        if self.json {
            return print_json(&Json { points: &points });
        }
        let mut table = Table::new(&["estimator", "setting", "cap", "work", "max", "error", "recall", "coverage", ""]);
        for point in &points {
            table.row(vec![
                point.estimator.into(),
                point.setting.clone(),
                percent(point.cap),
                percent(point.work_mean),
                percent(point.work_max),
                percent(point.err_mean),
                maybe(point.recall_at_1),
                maybe(point.coverage95),
                if point.pareto { "*".into() } else { String::new() },
            ]);
        }
        print(&table.render())
    }
}

/// Runs [`sweep`] with a progress display.
pub fn shown(
    model: &Model<'_>,
    queries: &Matrix,
    methods: &[Method],
    shares: &[f32],
    seeds: usize,
) -> Outcome<Vec<Point>> {
    let progress = Progress::new();
    let points = sweep(model, queries, methods, shares, seeds, &mut |what, done, of| {
        progress.part("tuning", what, done, of);
    })?;
    progress.finish();
    Ok(points)
}

/// Makes a line for each estimator and setting.
pub fn lines(points: &[Point]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for point in points.iter().filter(|point| point.work_mean > 0.0) {
        let name = match point.setting.as_str() {
            "–" | "stored" => point.estimator.to_owned(),
            setting => format!("{}, {setting}", point.estimator),
        };
        let at = (point.work_mean, point.err_mean);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(at),
            None => lines.push(Line { name, points: vec![at] }),
        }
    }
    lines
}
