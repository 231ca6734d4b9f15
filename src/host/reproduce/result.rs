//! What an experiment found, as it is stored, and how it is shown.

use serde::{Deserialize, Serialize};

use super::tally::Cell;

/// The vectors of an experiment and what they are like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// The file's name.
    pub source: String,
    /// N.
    pub rows: usize,
    /// d.
    pub dim: usize,
    /// What the vectors were multiplied with.
    pub scale: f32,
    /// How many queries.
    pub queries: usize,
    /// How many seeds.
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
    /// Whether it is not the paper's.
    pub ours: bool,
    /// Rows of the head.
    pub k: Option<usize>,
    /// Samples.
    pub l: Option<usize>,
    /// Mean dot products, as a share of N.
    pub work: f64,
    /// The queries that it was asked.
    pub queries: usize,
    /// How often it found the best class, where it looks for that itself.
    pub recall: Option<f64>,
    /// A figure for each condition; none where the condition does not apply.
    pub cells: Vec<Option<Cell>>,
}

/// Tables 1, 2 and 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OracleTable {
    /// When it was made, year-month-day.
    pub date: String,
    /// What was typed.
    pub command: String,
    /// The vectors.
    pub data: Data,
    /// What the columns stand for.
    pub conditions: Vec<String>,
    /// A row for each estimator.
    pub rows: Vec<Row>,
}

impl OracleTable {
    /// The figure of an estimator under a condition.
    pub fn cell(&self, estimator: &str, k: Option<usize>, l: Option<usize>, condition: usize) -> Option<Cell> {
        let row = self.rows.iter().find(|row| row.estimator == estimator && row.k == k && row.l == l)?;
        row.cells.get(condition).copied().flatten()
    }

    /// The headings and rows, as text.
    pub fn grid(&self) -> Grid {
        let mut headings: Vec<String> = ["estimator", "k", "l", "work"].map(String::from).into();
        for condition in &self.conditions {
            let of = |figure: &str| if condition.is_empty() { figure.into() } else { format!("{condition}: {figure}") };
            headings.extend([of("μ"), of("σ")]);
        }
        let all = self.data.queries;
        let rows = self.rows.iter().map(|row| {
            let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
            let fewer = if row.queries < all { format!(" ({} queries)", row.queries) } else { String::new() };
            let name = if row.ours { format!("*{}*", row.estimator) } else { row.estimator.clone() };
            let mut cells = vec![name + &fewer, number(row.k), number(row.l), percent(100.0 * row.work)];
            for cell in &row.cells {
                match cell {
                    Some(cell) => cells.extend([
                        with_error(cell.mean, cell.mean_error),
                        with_error(cell.deviation, cell.deviation_error),
                    ]),
                    None => cells.extend(["–".into(), "–".into()]),
                }
            }
            cells
        });
        let rows = rows.collect();
        Grid { headings, rows }
    }
}

/// A table as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Above the columns.
    pub headings: Vec<String>,
    /// The lines.
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|{}\n", "---|".repeat(self.headings.len()));
        line(&self.headings) + &rule + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }
}

/// Three digits that count.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1e4 => format!("{value:.1e}"),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.0995 || v == 0.0 => format!("{value:.2}"),
        v if v >= 1e-4 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

/// A figure in per cent.
pub fn percent(value: f64) -> String {
    format!("{} %", number(value))
}

/// A figure and its standard error.
fn with_error(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{} ± {}", number(value), number(error)),
        None => number(value),
    }
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
        assert_eq!(with_error(7.0, Some(0.1)), "7.00 ± 0.10");
    }

    #[test]
    fn markdown_has_a_cell_for_every_heading() {
        let cell = Cell { mean: 1.0, mean_error: None, deviation: 2.0, deviation_error: None };
        let row = Row {
            estimator: "Moments".into(),
            ours: true,
            k: None,
            l: None,
            work: 0.02,
            queries: 5,
            recall: None,
            cells: vec![Some(cell), None],
        };
        let data = Data {
            source: "v.npy".into(),
            rows: 100,
            dim: 4,
            scale: 0.5,
            queries: 10,
            seeds: 3,
            spread: 1.0,
            top_p: 0.1,
            quantisation: 0.1,
        };
        let conditions = vec!["0 %".into(), "10 %".into()];
        let table = OracleTable { date: String::new(), command: String::new(), data, conditions, rows: vec![row] };
        let text = table.grid().markdown();
        assert!(text.lines().all(|line| line.matches('|').count() == 9), "{text}");
        assert!(text.contains("*Moments* (5 queries)") && text.contains("| 2.00 % | 1.00 | 2.00 | – | – |"), "{text}");
    }
}
