//! Word vectors as text: a line per word, the word first, then its values, separated by spaces.
//!
//! GloVe's files start with the first word, word2vec's with a line `N d`. Words of GloVe's largest
//! set contain spaces (`. . .`), so that the values are the last d fields of a line and the word is
//! all before them; d is that of the header, or of the first line.

use std::io::BufRead;

use super::ReadOptions;
use super::element::Accept;
use super::error::{Position, Problem};
use super::matrix::NamedMatrix;
use super::number::{Place, parse};
use super::source::Source;
use crate::host::Matrix;

pub(super) fn read<R: BufRead>(source: Source<R>, options: ReadOptions<'_>) -> Result<NamedMatrix, Problem> {
    let mut reader = source.reader;
    let mut buffer = Vec::new();
    let (mut data, mut names) = (Vec::new(), Vec::new());
    let mut header = None;
    let mut dimension = None;
    let mut line = 0;
    while !options.is_enough(names.len()) {
        buffer.clear();
        if reader.read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        line += 1;
        let text = std::str::from_utf8(&buffer)
            .map_err(|_| Problem::Malformed(format!("line {line} is not UTF-8")))?
            // Not all whitespace: a no-break space can be a word, and is in some files.
            .trim_end_matches([' ', '\t', '\r', '\n']);
        if line == 1 {
            header = parse_header(text);
            dimension = header.map(|(_, dimension)| dimension);
            if header.is_some() {
                continue;
            }
        }
        if text.is_empty() {
            continue;
        }
        let cols = *dimension.get_or_insert_with(|| fields(text).count().saturating_sub(1));
        if cols == 0 {
            return Err(Problem::Malformed(format!("line {line}: expected a word and its values")));
        }
        let word = read_row(text, cols, line, names.len(), &mut data)?;
        names.push(word.to_owned());
    }
    check_count(header, names.len(), options)?;
    let is_table = |names: &[String]| names.len() > 1 && names.iter().all(|n| n.parse::<f32>().is_ok());
    if header.is_none() && is_table(&names) {
        // Taking the first column for words would silently shift every row.
        return Err(Problem::Malformed(
            "every line starts with a number, expected a word (give a table of numbers as .csv)".into(),
        ));
    }
    let matrix = Matrix::new(data, dimension.unwrap_or(0)).filter(|matrix| matrix.rows() > 0).ok_or(Problem::Empty)?;
    Ok(NamedMatrix { matrix, names: Some(names) })
}

/// The rows and columns that word2vec's first line announces.
pub(super) fn parse_header(line: &str) -> Option<(usize, usize)> {
    let mut fields = fields(line);
    let header = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some(header)
}

/// Appends the values of a line to `data` and returns its word.
fn read_row<'a>(text: &'a str, cols: usize, line: u64, row: usize, data: &mut Vec<f32>) -> Result<&'a str, Problem> {
    let start = data.len();
    let mut rest = text;
    for column in (0..cols).rev() {
        let Some((before, field)) = rest.rsplit_once([' ', '\t']) else {
            return Err(Problem::Ragged { line, found: cols - column - 1, expected: cols });
        };
        let place = || Place { line, at: Position::Cell { row: row as u64, column: column as u64 } };
        data.push(parse(field, Accept::Finite, place)?);
        rest = before.trim_end_matches([' ', '\t']);
    }
    data[start..].reverse();
    // A value too many looks like the end of a word with a space in it.
    match rest.rsplit_once([' ', '\t']) {
        Some((_, end)) if end.parse::<f32>().is_ok() => {
            Err(Problem::Ragged { line, found: fields(text).count() - 1, expected: cols })
        }
        _ => Ok(rest),
    }
}

fn check_count(header: Option<(usize, usize)>, found: usize, options: ReadOptions<'_>) -> Result<(), Problem> {
    match header {
        Some((rows, _)) if found < options.take(rows) => {
            Err(Problem::Truncated { expected: format!("{rows} rows"), found: format!("{found}") })
        }
        Some((rows, _)) if found > rows => {
            Err(Problem::Malformed(format!("the first line says {rows} rows, found {found}")))
        }
        _ => Ok(()),
    }
}

fn fields(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t']).filter(|field| !field.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<(Vec<String>, Matrix), String> {
        let named = super::read(Source::of(text.as_bytes()), ReadOptions::default());
        let named = named.map_err(|problem| problem.to_string())?;
        Ok((named.names.unwrap(), named.matrix))
    }

    #[test]
    fn files_with_and_without_a_header_hold_the_same() {
        let glove = read("the 0.1 -2\nof 3e-1 4\n").unwrap();
        assert_eq!(glove.0, ["the", "of"]);
        assert_eq!(glove.1, Matrix::new(vec![0.1, -2.0, 0.3, 4.0], 2).unwrap());
        assert_eq!(read("2 2\nthe 0.1 -2 \r\nof 3e-1 4 \r\n").unwrap(), glove);
        assert_eq!(read("2 2\nthe\t0.1  -2\n\nof 3e-1 4").unwrap(), glove);
    }

    #[test]
    fn words_may_hold_spaces_and_be_numbers() {
        let (names, matrix) = read("the 1 2\n. . . 3 4\n1999 5 6\n\u{a0} 7 8\n").unwrap();
        assert_eq!(names, ["the", ". . .", "1999", "\u{a0}"]);
        assert_eq!(matrix.row(1), [3.0, 4.0]);
    }

    #[test]
    fn rows_of_another_length_are_refused() {
        assert_eq!(read("a 1 2\nb 1\n").unwrap_err(), "line 2 has 1 values, expected 2");
        assert_eq!(read("a 1 2\nb 1 2 3\n").unwrap_err(), "line 2 has 3 values, expected 2");
        assert_eq!(read("a\nb\n").unwrap_err(), "line 1: expected a word and its values");
    }

    #[test]
    fn the_header_is_held_to() {
        assert_eq!(read("3 1\na 1\nb 2\n").unwrap_err(), "ends early: expected 3 rows, found 2");
        assert_eq!(read("1 1\na 1\nb 2\n").unwrap_err(), "the first line says 1 rows, found 2");
        assert_eq!(read("0 5\n").unwrap_err(), "is empty");
        assert_eq!(read("1 99999999999999\na 1\n").unwrap_err(), "line 2 has 1 values, expected 99999999999999");
    }

    #[test]
    fn a_table_of_numbers_is_not_taken_for_words() {
        assert!(read("0.1 0.2\n0.3 0.4\n").unwrap_err().contains("starts with a number"));
    }

    #[test]
    fn values_are_finite_numbers() {
        assert_eq!(read("a 1 2\nb nan 4\n").unwrap_err(), "NaN at row 1, column 0");
        assert_eq!(read("a 1 2\nb x 4\n").unwrap_err(), "line 2: \"x\" is not a number");
        assert_eq!(read("").unwrap_err(), "is empty");
    }

    #[test]
    fn the_limit_ends_reading() {
        let options = ReadOptions { limit: Some(1), ..Default::default() };
        for text in ["a 1\nbroken", "2 1\na 1\nbroken"] {
            let named = super::read(Source::of(text.as_bytes()), options).unwrap();
            assert_eq!(named.matrix.data(), [1.0]);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, limit: Option<usize>) {
            let _ = super::read(Source::of(&bytes), ReadOptions { limit, ..Default::default() });
        }

        #[test]
        fn text_like_vectors_never_panics(text in "([0-9]{1,20} [0-9]{1,20}\n)?[0-9a. \t\n]{0,60}") {
            let _ = read(&text);
        }
    }
}
