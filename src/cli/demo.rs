//! `zhat demo`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use zhat::format::ModelBuf;
use zhat::host::build::{Plan, Targets, build};
use zhat::host::evaluate::{Evaluation, Method, Options, stored_budget};
use zhat::host::measure::{exact_predictions, predictions};
use zhat::host::{Kind, Layer, Matrix};
use zhat::{Model, Ranked};

use super::output::{Table, percent, print};
use super::{Outcome, eval, inputs};

/// Show what it is all about: a few queries exact and estimated, then all of them
///
/// Without arguments it makes up a layer of 10 000 classes in 64 dimensions, like that of a language model, and builds a
/// model from it.
#[derive(Args)]
#[command(after_help = "Example:
  zhat demo
  zhat demo --model model.zhat --queries test.npy")]
pub struct Demo {
    /// Another model file
    #[arg(long, value_name = "FILE", requires = "queries")]
    model: Option<PathBuf>,
    /// Queries for it
    #[arg(long, value_name = "FILE", requires = "model")]
    queries: Option<PathBuf>,
}

/// Queries that are shown, and classes of each.
const SHOWN: usize = 3;
const TOP: usize = 4;

impl Demo {
    pub fn run(&self) -> Outcome {
        let (file, queries) = match (&self.model, &self.queries) {
            (Some(path), Some(queries)) => {
                let file = inputs::model(path)?;
                let queries = inputs::model_queries(queries, path, file.model().dim())?;
                (file, queries)
            }
            _ => made_up()?,
        };
        let model = file.model();
        let budget = stored_budget(&model);
        let step = (queries.rows() / SHOWN).max(1);
        let picked: Vec<u32> = (0..queries.rows() as u32).step_by(step).take(SHOWN).collect();
        let some = queries.reordered(&picked);
        let exact = exact_predictions::<TOP>(&model, &some)?;
        let estimated = predictions::<TOP>(&model, &some, &budget)?;
        let mut text = String::new();
        for ((exact, estimated), query) in exact.iter().zip(&estimated).zip(&picked) {
            let share = percent(estimated.work.row_equivalents() as f32 / model.classes() as f32);
            let _ = writeln!(
                text,
                "query {query}: all {} rows scored, and {} of them ({share})",
                model.classes(),
                estimated.work.row_equivalents()
            );
            let mut table = Table::new(&["  exact", "p", "  estimated", "p", "95 % interval"]);
            for (a, b) in exact.top.iter().zip(&estimated.top) {
                let (low, high) = estimated.interval(b.p);
                table.row(vec![
                    format!("  {}", name(&model, a)),
                    format!("{:.4}", a.p),
                    format!("  {}", name(&model, b)),
                    format!("{:.4}", b.p),
                    format!("{low:.4} to {high:.4}"),
                ]);
            }
            let _ = writeln!(text, "{}", table.render());
        }
        let options = Options { methods: vec![Method::Exact, Method::Moments, Method::Mimps], ..Options::default() };
        let found = Evaluation::run(&model, None, &queries, &options)?;
        print(&(text + &eval::text(&found.report)))
    }
}

fn name(model: &Model<'_>, ranked: &Ranked) -> String {
    let class = ranked.class as usize;
    model.names().and_then(|names| names.get(class)).map_or_else(|| format!("class {class}"), str::to_owned)
}

/// A layer, calibration queries and queries of a language model, from a seed.
fn made_up() -> Outcome<(ModelBuf, Matrix)> {
    let layer = Layer::generate(10_000, 64, 1);
    let calibration = layer.queries(Kind::LanguageModel, 1000, 2);
    let queries = layer.queries(Kind::LanguageModel, 500, 3);
    let plans = vec![Plan { blend: 0.25, branching: 16, leaf: 16, learn: true, links: 8 }];
    let targets = Targets { plans, ..Targets::default() };
    let built = build(&layer.weights, &layer.biases, Some(&calibration), &targets, &mut |_| {})?;
    Ok((built.model, queries))
}
