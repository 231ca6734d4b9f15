//! Formats text for people: tables, sizes, shares.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use std::fmt::Write as _;

use zhat::host::input::expect_writable;
use zhat::host::label::{GroupFigures, SetFigures};
use zhat::host::report::plots;

use super::{Failure, Outcome};

/// Writes to standard output. A reader that stops early (`| head`) is not a failure.
pub fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// The number of the schema, which all JSON output states as `schema`. src/guide/json.md says what it means and
/// when it grows.
const SCHEMA: u32 = 1;

/// Writes an object to standard output, with the number of the schema before its fields.
pub fn print_json(fields: &impl Serialize) -> Outcome {
    #[derive(Serialize)]
    struct Numbered<'a, T> {
        schema: u32,
        #[serde(flatten)]
        fields: &'a T,
    }
    print(&format!("{}\n", serde_json::to_string_pretty(&Numbered { schema: SCHEMA, fields })?))
}

/// Checks, before the work, that a picture can be written to the path, if there is one.
pub fn expect_plot(path: Option<&PathBuf>) -> Outcome {
    let Some(path) = path else { return Ok(()) };
    plots::expect_format(path).map_err(Failure::Usage)?;
    Ok(expect_writable(path)?)
}

/// Formats the warnings, one in a line.
pub fn warnings(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!("warning: {warning}\n")).collect()
}

/// What sets of classes were worth on labels that nothing was made from.
pub fn sets(all: &[SetFigures]) -> String {
    let mut text = String::new();
    for found in all {
        let range = |low, high| format!("({} to {})", percent(low), percent(high));
        let _ = writeln!(
            text,
            "{:<14}{} of the labels {}, of {} queries with a set; {} of the sets have at most 16 classes, {:.1} of 16 listed",
            format!("{} set", percent(found.level)),
            percent(found.coverage),
            range(found.coverage_low, found.coverage_high),
            percent(found.answered),
            percent(found.whole),
            found.short_mean
        );
        let group = |group: &GroupFigures| {
            let GroupFigures { group, queries, coverage, coverage_low, coverage_high } = group;
            format!("{} of {queries} {group} {}", percent(*coverage), range(*coverage_low, *coverage_high))
        };
        let groups: Vec<String> = found.groups.iter().filter(|group| group.queries > 0).map(group).collect();
        if !groups.is_empty() {
            let _ = writeln!(text, "  by label    {}", groups.join(", "));
        }
    }
    text
}

/// The heading of a column of words, which is aligned to the left like the first column.
pub const WHAT_FOR: &str = "what for";

/// Rows of cells in columns: words to the left, numbers to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with a heading for each column.
    pub fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|&heading| heading.to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Formats the table.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width - cell.chars().count());
                let is_words = column == 0 || self.rows[0][column] == WHAT_FOR;
                let gap = if column == 0 { "" } else { "  " };
                line += &if is_words { format!("{gap}{cell}{pad}") } else { format!("{gap}{pad}{cell}") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Formats a share in per cent, with three significant digits.
pub fn percent(share: f32) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        p if p >= 1e4 => format!("{percent:.0e} %"),
        p if p >= 99.95 => format!("{percent:.0} %"),
        p if p >= 9.995 => format!("{percent:.1} %"),
        p if p >= 0.0995 || p == 0.0 => format!("{percent:.2} %"),
        p if p >= 1e-4 => format!("{percent:.4} %"),
        _ => "0.00 %".into(),
    }
}

/// Formats a share, or a dash if there is none.
pub fn maybe(share: Option<f32>) -> String {
    share.map_or("–".into(), percent)
}

/// Formats a number of bytes with a unit.
pub fn bytes(bytes: usize) -> String {
    match bytes {
        0..=9999 => format!("{bytes} B"),
        10_000..=1_048_575 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.2} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// Formats a count, with its digits in groups of three.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", "p"]);
        table.row(vec!["Ẑ".into(), "0.5".into()]);
        table.row(vec!["longer".into(), "10".into()]);
        assert_eq!(table.render(), "name      p\nẐ       0.5\nlonger   10\n");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(percent(0.0228), "2.28 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.00012), "0.0120 %");
        assert_eq!(percent(0.0), "0.00 %");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(bytes(1_047_120), "1022.6 KiB");
    }
}
