//! One number of a text file.

use super::element::Accept;
use super::error::{Position, Problem};

/// Where a number stands: its line for editors, its position for programs.
pub(super) struct Place {
    pub line: u64,
    pub at: Position,
}

/// `text` as an accepted f32.
pub(super) fn parse(text: &str, accept: Accept, place: impl FnOnce() -> Place) -> Result<f32, Problem> {
    match text.parse::<f32>() {
        Ok(value) if accept.accepts(value) => Ok(value),
        // "1e300" is infinite as f32; the message shows what the file says.
        Ok(value) => Err(Problem::Value { value: text.parse().unwrap_or(value.into()), at: place().at }),
        Err(_) => Err(not_a_number(text, place().line, "a number")),
    }
}

/// The complaint about `text`, shortened if it is long.
pub(super) fn not_a_number(text: &str, line: u64, expected: &'static str) -> Problem {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    Problem::Number { line, text: short, expected }
}
