//! The stored results of experiments, and their formats beside the paper's figures.

use serde::{Deserialize, Serialize};

use super::published::Published;
use super::tally::{Cell, Series, mean, some_mean};

/// The vectors of an experiment and their properties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// The file's name.
    pub source: String,
    /// N.
    pub rows: usize,
    /// d.
    pub dim: usize,
    /// The scale that the vectors were multiplied with.
    pub scale: f32,
    /// The number of queries.
    pub queries: usize,
    /// The number of seeds.
    pub seeds: u32,
    /// The mean over the queries of the standard deviation of their scores, in nats.
    pub spread: f64,
    /// The mean probability of the best class.
    pub top_p: f64,
    /// The mean of 100·|Z of int8 rows − Z of f32 rows|/Z.
    pub quantisation: f64,
}

/// One estimator in a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub estimator: String,
    /// True if the estimator is not the paper's.
    pub ours: bool,
    /// The number of rows in the head.
    pub k: Option<usize>,
    /// The number of samples.
    pub l: Option<usize>,
    /// The mean work, as a share of N.
    pub work: f64,
    /// The number of queries.
    pub queries: usize,
    /// The recall of the best class, if the estimator searches for it itself.
    pub recall: Option<f64>,
    /// The mean number of steps of its solver, if it has one.
    pub steps: Option<f64>,
    /// A figure for each condition.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Summarises an estimator's answers under each condition, on a model of this many classes.
    pub fn new(
        estimator: &str,
        ours: bool,
        (k, l): (Option<usize>, Option<usize>),
        series: &[Series],
        classes: usize,
    ) -> Self {
        let all = |of: fn(&Series) -> &Vec<f64>| series.iter().flat_map(of).copied().collect::<Vec<f64>>();
        Self {
            estimator: estimator.into(),
            ours,
            k,
            l,
            work: mean(&all(|series| &series.works)) / classes as f64,
            queries: series.first().and_then(|series| series.errors.first()).map_or(0, Vec::len),
            recall: some_mean(&all(|series| &series.hits)),
            steps: some_mean(&all(|series| &series.steps)),
            cells: series.iter().map(Series::cell).collect(),
        }
    }

    fn is_the_same_as(&self, other: &Self) -> bool {
        (&self.estimator, self.k, self.l) == (&other.estimator, other.k, other.l)
    }
}

/// Table 1, 2 or 3 at one scale of the vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OracleTable {
    /// The date of the experiment, year-month-day.
    pub date: String,
    /// The command line.
    pub command: String,
    /// The vectors.
    pub data: Data,
    /// The names of the columns.
    pub conditions: Vec<String>,
    /// A row for each estimator.
    pub rows: Vec<Row>,
}

/// Returns the paper's cell for a row under a condition.
pub type PaperCell = fn(&Row, usize) -> Option<Published>;

impl OracleTable {
    /// Returns the row of an estimator.
    pub fn row(&self, estimator: &str, k: Option<usize>, l: Option<usize>) -> Option<&Row> {
        self.rows.iter().find(|row| row.estimator == estimator && row.k == k && row.l == l)
    }

    /// Formats the mean of an estimator under a condition: "7 %".
    pub fn mean(&self, estimator: &str, k: usize, l: usize, condition: usize) -> String {
        let size = |n: usize| (n > 0).then_some(n);
        let cell = self.row(estimator, size(k), size(l)).and_then(|row| row.cells.get(condition));
        cell.map_or("–".into(), |cell| percent(cell.mean))
    }

    /// Formats the means of an estimator under all conditions: "7 %, 8 %, 9 %".
    pub fn means(&self, estimator: &str, k: usize, l: usize) -> String {
        let all: Vec<String> = (0..self.conditions.len()).map(|at| self.mean(estimator, k, l, at)).collect();
        all.join(", ")
    }
}

/// Joins the same table at several scales: for every condition a column for each scale and one of the paper.
pub fn side_by_side(tables: &[OracleTable], paper: PaperCell) -> Grid {
    let Some(first) = tables.first() else { return Grid::default() };
    let mut headings: Vec<String> = ["estimator", "k", "l", "work"].map(String::from).into();
    for condition in &first.conditions {
        let of = |name: String| if condition.is_empty() { name } else { format!("{condition}: {name}") };
        headings.extend(tables.iter().map(|table| of(format!("×{}", table.data.scale))));
        headings.push(of("paper".into()));
    }
    let line = |row: &Row| {
        let size = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
        let fewer =
            if row.queries < first.data.queries { format!(" ({} queries)", row.queries) } else { String::new() };
        let name = if row.ours { format!("*{}*", row.estimator) } else { row.estimator.clone() };
        let mut cells = vec![name + &fewer, size(row.k), size(row.l), percent(100.0 * row.work)];
        for at in 0..first.conditions.len() {
            for table in tables {
                let same = table.rows.iter().find(|other| other.is_the_same_as(row));
                let cell = same.and_then(|row| row.cells.get(at));
                cells.push(cell.map_or("–".into(), |cell| format!("{} ± {}", number(cell.mean), number(cell.error))));
            }
            cells.push(paper(row, at).map_or("–".into(), Published::text));
        }
        cells
    };
    Grid { headings, rows: first.rows.iter().map(line).collect() }
}

/// A table as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The headings of the columns.
    pub headings: Vec<String>,
    /// The lines.
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    /// Formats the rows in columns: names to the left, numbers to the right.
    pub fn text(&self) -> String {
        let lines = || [&self.headings].into_iter().chain(&self.rows);
        let width = |column: usize| lines().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..self.headings.len()).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in lines() {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width - cell.chars().count());
                line += &if column == 0 { format!("{cell}{pad}") } else { format!("  {pad}{cell}") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// Formats the table as Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|{}\n", "---|".repeat(self.headings.len()));
        line(&self.headings) + &rule + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }
}

/// Formats a number with three significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1e5 => format!("{value:.1e}"),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.0995 || v == 0.0 => format!("{value:.2}"),
        v if v >= 1e-4 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

/// Formats a figure in per cent.
pub fn percent(value: f64) -> String {
    format!("{} %", number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [7.0, 123.4, 0.031, 2.5e6, 0.0, 31.27].map(number),
            ["7.00", "123", "0.0310", "2.5e6", "0.00", "31.3"]
        );
    }

    #[test]
    fn scales_and_paper_stand_side_by_side() {
        let series = Series { errors: vec![vec![1.0, 3.0]], works: vec![2.0], ..Series::default() };
        let rows = vec![
            Row::new("MIMPS", false, (Some(1000), Some(1000)), &[series.clone(), series.clone()], 100),
            Row::new("Moments", true, (None, None), &[series.clone(), series], 100),
        ];
        let table = |scale: f32, rows: Vec<Row>| OracleTable {
            date: String::new(),
            command: String::new(),
            data: Data {
                source: "v.npy".into(),
                rows: 100,
                dim: 4,
                scale,
                queries: 10,
                seeds: 3,
                spread: 1.0,
                top_p: 0.1,
                quantisation: 0.1,
            },
            conditions: vec!["0 %".into(), "10 %".into()],
            rows,
        };
        let tables = [table(0.5, rows.clone()), table(0.8, rows[..1].to_vec())];
        let text =
            side_by_side(&tables, |row, at| super::super::published::table2(&row.estimator, row.k, at)).markdown();
        assert!(text.lines().all(|line| line.matches('|').count() == 11), "{text}");
        assert!(text.contains("0 %: ×0.5 | 0 %: ×0.8 | 0 %: paper | 10 %: ×0.5"), "{text}");
        assert!(text.contains("| 2.00 ± 1.00 | 2.00 ± 1.00 | 0.8 ± 0.0 | 2.00 ± 1.00 |"), "{text}");
        assert!(text.contains("| *Moments* (2 queries) |  |  | 2.00 % | 2.00 ± 1.00 | – | – |"), "{text}");
    }
}
