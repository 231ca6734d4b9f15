//! `zhat query`.

use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use zhat::host::Matrix;
use zhat::host::evaluate::stored_budget;
use zhat::host::evaluate::{exact_predictions, predictions};
use zhat::host::input::read_matrix_bytes;
use zhat::{Model, Prediction};

use super::output::{Table, percent, print, print_json};
use super::{Failure, Outcome, inputs};

/// The most classes that `--top` accepts.
const MOST: usize = 100;

/// Classify queries: print top classes with p, interval and work
#[derive(Args)]
#[command(after_help = "Example:
  zhat query model.zhat --query q.npy --top 3
  echo 0.1,-0.7,2.5 | zhat query model.zhat")]
pub struct QueryArgs {
    /// The model file
    model: PathBuf,
    /// Queries, M×d, or one of d values; - or nothing for CSV or .npy on standard input
    #[arg(long, value_name = "FILE")]
    query: Option<PathBuf>,
    /// The number of classes to show
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=MOST as i64))]
    top: u32,
    /// Score all rows instead
    #[arg(long)]
    exact: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Json<'a> {
    answers: &'a [Answer],
}

#[derive(Serialize)]
struct Answer {
    query: usize,
    log_z: f32,
    work: u32,
    far_share: f32,
    /// True if the query is familiar; `null` if the model cannot tell.
    familiar: Option<bool>,
    /// True if the query's energy is above the threshold for inputs of no class; `null` if the model has no threshold.
    rejected: Option<bool>,
    top: Vec<Class>,
    /// Sets of classes that hold the true one; `null` in a model without, and for a query that is not familiar.
    set: Option<Vec<Set>>,
}

#[derive(Serialize)]
struct Set {
    /// The share of the inputs that it is for.
    level: f32,
    /// The classes of the set that are listed.
    classes: usize,
    /// Whether there are others.
    more: bool,
}

#[derive(Serialize)]
struct Class {
    class: u32,
    name: Option<String>,
    p: f32,
    /// The lower end of the 95 % interval; `null` if there is none.
    low: Option<f32>,
    high: Option<f32>,
}

impl QueryArgs {
    pub fn run(&self) -> Outcome {
        let file = inputs::model(&self.model)?;
        let model = file.model();
        let queries = self.queries(model.dim())?;
        let found = if self.exact || model.tree().is_none() {
            exact_predictions::<MOST>(&model, &queries)
        } else {
            predictions::<MOST>(&model, &queries, &stored_budget(&model))
        };
        let found = found.map_err(|error| Failure::Failed(format!("{}: {error}", self.source().display())))?;
        let answers: Vec<Answer> = found.iter().enumerate().map(|(i, found)| self.answer(&model, i, found)).collect();
        if self.json {
            return print_json(&Json { answers: &answers });
        }
        print(&answers.iter().map(|answer| text(answer, &model)).collect::<Vec<_>>().join("\n"))
    }

    fn source(&self) -> &Path {
        match &self.query {
            Some(path) if path.as_os_str() != "-" => path,
            _ => Path::new("standard input"),
        }
    }

    fn queries(&self, dim: usize) -> Outcome<Matrix> {
        match &self.query {
            Some(path) if path.as_os_str() != "-" => inputs::model_queries(path, &self.model, dim),
            _ => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes)?;
                let queries = read_matrix_bytes("standard input", &bytes)?;
                inputs::expect_dim(self.source(), &queries, &self.model, dim)?;
                Ok(queries)
            }
        }
    }

    fn answer(&self, model: &Model<'_>, query: usize, found: &Prediction<MOST>) -> Answer {
        let class = |(place, ranked): (usize, &zhat::Ranked)| {
            let (low, high) = found.interval(place).unzip();
            let name = model.names().and_then(|names| names.get(ranked.class as usize)).map(str::to_owned);
            Class { class: ranked.class, name, p: ranked.p, low, high }
        };
        // Of the classes that are shown, as if the list were no longer than that.
        let set = |level: f32| {
            let set = found.set(model, level)?;
            let shown = set.classes.len().min(self.top as usize);
            Some(Set { level, classes: shown, more: set.more || shown < set.classes.len() })
        };
        let sets = model.sets().and_then(|sets| sets.levels().map(set).collect());
        Answer {
            query,
            log_z: found.log_z(),
            work: found.work.row_equivalents(),
            far_share: found.far_share,
            familiar: found.is_familiar(),
            rejected: found.is_rejected(),
            top: found.top.iter().take(self.top as usize).enumerate().map(class).collect(),
            set: sets,
        }
    }
}

fn text(answer: &Answer, model: &Model<'_>) -> String {
    let work = percent(answer.work as f32 / model.classes() as f32);
    let mut text = format!(
        "query {}: ln Z {:.4}, {} of it not scored; work {} rows ({work})\n",
        answer.query,
        answer.log_z,
        percent(answer.far_share),
        answer.work
    );
    if answer.familiar == Some(false) {
        text += "  not like the calibration queries: the answer may be far off\n";
    }
    if answer.rejected == Some(true) {
        text += "  probably none of the classes: its energy is above the threshold\n";
    }
    let mut table = Table::new(&["  class", "name", "p", "95 % interval"]);
    for class in &answer.top {
        let interval = class.low.zip(class.high).map_or("–".into(), |(low, high)| format!("{low:.5} to {high:.5}"));
        let name = class.name.clone().unwrap_or_else(|| "–".into());
        table.row(vec![format!("  {}", class.class), name, format!("{:.5}", class.p), interval]);
    }
    let _ = write!(text, "{}", table.render());
    for Set { level, classes, more } in answer.set.iter().flatten() {
        let level = percent(*level);
        let _ = match (classes, more) {
            (_, true) => writeln!(text, "  {level} set: more than these"),
            (1, false) => writeln!(text, "  {level} set: the first class"),
            (count, false) => writeln!(text, "  {level} set: the first {count} classes"),
        };
    }
    text
}
