//! `zhat demo`.

use std::fmt::Write;

use clap::{Args, Subcommand};
use zhat::host::Matrix;
use zhat::host::evaluate::{Evaluation, Method, Options, Report, stored_budget};
use zhat::host::evaluate::{exact_predictions, predictions};
use zhat::language::Context;
use zhat::{Model, Ranked, include_model};

use super::demo_keywords::Keywords;
use super::output::{Table, percent, print};
use super::{Failure, Outcome, eval};

/// Show next words with exact and estimated probabilities, side by side
///
/// The model ships with zhat: a language model of 8 192 words in 64 dimensions, trained on the State of the Union
/// addresses. The demo predicts the word after each of a few beginnings, then after all sample contexts, with every
/// class scored and with a few per cent of them.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:
  zhat demo
  zhat demo we will defend the
  zhat demo keywords"
)]
pub struct Demo {
    /// Words to continue, instead of the sample contexts: as in the speeches, in lower case, with spaces around
    /// punctuation
    words: Vec<String>,
    #[command(subcommand)]
    other: Option<Other>,
}

#[derive(Subcommand)]
enum Other {
    Keywords(Keywords),
}

static MODEL: &[u8] = include_model!("../../../models/next_word.zhat");
static CONTEXT: &[u8] = include_model!("../../../models/next_word.context");
static PROMPTS: &str = include_str!("../../../models/prompts.txt");
/// The last word of a line is the true next word.
static SAMPLES: &str = include_str!("../../../models/next_word.txt");

/// The words of a context, the dimension, and the length of the context's sums, as the model was trained.
const POSITIONS: usize = 9;
const DIM: usize = 64;
const WIDTH: usize = 128;
/// The number of words shown.
const TOP: usize = 5;
/// The mark on an exact answer that the estimate did not find.
const MISSED: &str = " *";

impl Demo {
    pub fn run(&self) -> Outcome {
        if let Some(Other::Keywords(keywords)) = &self.other {
            return keywords.run();
        }
        let model = Model::from_bytes(MODEL)?;
        let context = Context::from_bytes(CONTEXT, DIM)?;
        if !self.words.is_empty() {
            let text = side_by_side(&model, &context, &[self.words.join(" ").to_lowercase()])?;
            return print(&(text + &misses(&samples(&model, &context, &[Method::Moments])?)));
        }
        let prompts: Vec<String> = PROMPTS.lines().map(str::to_owned).collect();
        let text = side_by_side(&model, &context, &prompts)?;
        let report = samples(&model, &context, &[Method::Exact, Method::Moments, Method::Mimps, Method::Uniform])?;
        print(&format!("{text}{}\n{}\n{}", misses(&report), eval::text(&report), perplexities(&report)))
    }
}

/// Formats the best next words after each beginning, exact and within the stored budget.
fn side_by_side(model: &Model<'_>, context: &Context<'_>, beginnings: &[String]) -> Outcome<String> {
    let queries = queries(model, context, beginnings.iter().map(String::as_str))?;
    let exact = exact_predictions::<TOP>(model, &queries)?;
    let estimated = predictions::<TOP>(model, &queries, &stored_budget(model))?;
    let mut text = String::new();
    for ((exact, estimated), beginning) in exact.iter().zip(&estimated).zip(beginnings) {
        let rows = estimated.work.row_equivalents();
        let share = percent(rows as f32 / model.classes() as f32);
        let _ = writeln!(text, "{beginning} …    ({rows} of {} rows, {share})", model.classes());
        let mut table = Table::new(&["  exact", "p", "  estimated", "p", "95 % interval"]);
        for (place, (a, b)) in exact.top.iter().zip(&estimated.top).enumerate() {
            let missed = estimated.top.iter().all(|found| found.class != a.class);
            table.row(vec![
                format!("  {}{}", name(model, a), if missed { MISSED } else { "" }),
                format!("{:.4}", a.p),
                format!("  {}", name(model, b)),
                format!("{:.4}", b.p),
                estimated.interval(place).map_or("–".into(), |(low, high)| format!("{low:.4} to {high:.4}")),
            ]);
        }
        let _ = writeln!(text, "{}", table.render());
    }
    Ok(text)
}

/// Formats how often a word is missed, to explain the mark in the tables.
fn misses(report: &Report) -> String {
    let found = report.of("moments").and_then(|found| Some((found.recall_at_1?, found.recall_at_k?, found.k)));
    let Some((best, listed, k)) = found else { return String::new() };
    format!(
        "*  not found by the estimate, which shares out its probability among the others. Of {} sample contexts this \
         happens to the best word in {}, and to {} of the {k} best words.\n",
        report.data.queries,
        percent(1.0 - best),
        percent(1.0 - listed)
    )
}

/// Evaluates all sample contexts, with the true next words as labels.
fn samples(model: &Model<'_>, context: &Context<'_>, methods: &[Method]) -> Outcome<Report> {
    let (before, next): (Vec<&str>, Vec<&str>) = SAMPLES.lines().filter_map(|line| line.rsplit_once(' ')).unzip();
    let queries = queries(model, context, before.into_iter())?;
    let class = |word: &str| model.names().and_then(|names| names.find(word));
    let labels: Option<Vec<usize>> = next.into_iter().map(class).collect();
    let labels = labels.ok_or_else(|| Failure::Failed("a sample ends with a word that the model lacks".into()))?;
    let timed = methods.contains(&Method::Exact);
    let options = Options { methods: methods.to_vec(), labels: Some(&labels), timed, k: TOP, ..Options::default() };
    Ok(Evaluation::run(model, None, &queries, &options)?.report)
}

/// Formats the perplexity with and without the estimate.
fn perplexities(report: &Report) -> String {
    let perplexity = |method: &str| report.of(method).and_then(|found| found.log_loss).map(f32::exp);
    match (perplexity("exact"), perplexity("moments")) {
        (Some(exact), Some(estimated)) => {
            let change = percent((estimated - exact) / exact);
            format!("perplexity    {exact:.2} with all rows, {estimated:.2} with the estimate ({change} apart)\n")
        }
        _ => String::new(),
    }
}

fn queries<'t>(model: &Model<'_>, context: &Context<'_>, texts: impl Iterator<Item = &'t str>) -> Outcome<Matrix> {
    let names = model.names().ok_or_else(|| Failure::Failed("the model has no names".into()))?;
    let mut values = Vec::new();
    for text in texts {
        let words = Context::words::<POSITIONS>(names, text)?;
        values.extend(context.query::<DIM, WIDTH>(model, &words)?);
    }
    Matrix::new(values, DIM).ok_or_else(|| Failure::Failed("there are no sample contexts".into()))
}

fn name(model: &Model<'_>, ranked: &Ranked) -> String {
    let class = ranked.class as usize;
    model.names().and_then(|names| names.get(class)).map_or_else(|| format!("class {class}"), str::to_owned)
}
