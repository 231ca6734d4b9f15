//! Comma-separated numbers, row after row.
//!
//! The first row is a header if none of its fields is a number. A first row of numbers and text is
//! an error, not a header: it is more likely a broken value than a name.

use std::io::Read;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::ReadOptions;
use super::error::{Position, Problem};
use super::stream::Accept;
use super::stream::Source;
use super::stream::{Place, parse};
use crate::host::Matrix;

/// Calls `row` with the fields and the line number of each row, except for a header row. Stops when `row` returns
/// false.
pub(super) fn for_each_row<R: Read>(
    source: Source<R>,
    mut row: impl FnMut(&StringRecord, u64) -> Result<bool, Problem>,
) -> Result<(), Problem> {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(source.reader);
    let mut record = StringRecord::new();
    let (mut width, mut is_header) = (None, false);
    while reader.read_record(&mut record).map_err(problem)? {
        let line = record.position().map_or(0, csv::Position::line);
        let is_first = width.is_none();
        let expected = *width.get_or_insert(record.len());
        if record.len() != expected {
            return Err(Problem::Ragged { line, found: record.len(), expected });
        }
        is_header = is_first && record.iter().all(|field| field.parse::<f64>().is_err());
        if is_header {
            continue;
        }
        if !row(&record, line)? {
            break;
        }
    }
    match is_header {
        true => Err(Problem::Malformed("has a header row, but no numbers below it".into())),
        false => Ok(()),
    }
}

/// Reads rows of numbers.
pub(super) fn read_matrix<R: Read>(source: Source<R>, options: ReadOptions<'_>) -> Result<Matrix, Problem> {
    let mut data = Vec::new();
    let (mut rows, mut cols) = (0, 0);
    // With `transpose` the limit is on columns of the file, so every row is read, up to that column.
    let limit = match options.transpose {
        false => options,
        true => ReadOptions::default(),
    };
    for_each_row(source, |record, line| {
        if limit.is_enough(rows) {
            return Ok(false);
        }
        cols = match options.transpose {
            false => record.len(),
            true => options.take(record.len()),
        };
        for (column, field) in record.iter().take(cols).enumerate() {
            let place = || Place { line, at: Position::Cell { row: rows as u64, column: column as u64 } };
            data.push(parse(field, Accept::Finite, place)?);
        }
        rows += 1;
        Ok(true)
    })?;
    if data.is_empty() {
        return Err(Problem::Empty);
    }
    let matrix = Matrix::new(data, cols).ok_or(Problem::Empty)?;
    Ok(match options.transpose {
        false => matrix,
        true => matrix.transposed(),
    })
}

fn problem(error: csv::Error) -> Problem {
    let text = match error.kind() {
        csv::ErrorKind::Utf8 { pos, .. } => match pos {
            Some(pos) => format!("line {} is not UTF-8", pos.line()),
            None => "is not UTF-8".to_owned(),
        },
        _ => error.to_string(),
    };
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        _ => Problem::Malformed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, options: ReadOptions<'_>) -> Result<Matrix, String> {
        read_matrix(Source::of(text.as_bytes()), options).map_err(|problem| problem.to_string())
    }

    fn rows(text: &str) -> Result<Vec<Vec<f32>>, String> {
        let matrix = read(text, ReadOptions::default())?;
        Ok(matrix.iter().map(<[f32]>::to_vec).collect())
    }

    #[test]
    fn a_first_row_without_numbers_is_a_header() {
        let values = vec![vec![1.0, 2.5], vec![-3e-2, 4.0]];
        assert_eq!(rows("1,2.5\n-3e-2,4\n").unwrap(), values);
        assert_eq!(rows("x,y\n1,2.5\n-3e-2,4").unwrap(), values);
        assert_eq!(rows("\u{feff}1 , 2.5\r\n\r\n\"-3e-2\",4\r\n").unwrap(), values);
    }

    #[test]
    fn a_broken_value_in_the_first_row_is_not_a_header() {
        assert_eq!(rows("1,x\n3,4\n").unwrap_err(), "line 1: \"x\" is not a number");
        assert_eq!(rows("a,b\n3,\n").unwrap_err(), "line 2: \"\" is not a number");
        assert_eq!(rows("a,b\nc,d\n").unwrap_err(), "line 2: \"c\" is not a number");
    }

    #[test]
    fn values_that_no_f32_holds_are_refused_by_row_and_column() {
        assert_eq!(rows("a,b\n1,2\n3,NaN\n").unwrap_err(), "NaN at row 1, column 1");
        assert_eq!(rows("-inf,2\n").unwrap_err(), "-inf at row 0, column 0");
        assert_eq!(rows("1,1e39\n").unwrap_err(), "1e39 at row 0, column 1 is too large for f32");
    }

    #[test]
    fn rows_of_different_lengths_are_refused() {
        assert_eq!(rows("1,2\n3,4,5\n").unwrap_err(), "line 2 has 3 values, expected 2");
        assert_eq!(rows("1,2\n3\n").unwrap_err(), "line 2 has 1 values, expected 2");
    }

    #[test]
    fn a_file_without_numbers_is_refused() {
        assert_eq!(rows("").unwrap_err(), "is empty");
        assert_eq!(rows("x,y\n").unwrap_err(), "has a header row, but no numbers below it");
    }

    #[test]
    fn the_limit_is_on_rows_of_the_result() {
        let text = "1,2,3\n4,5,6\n";
        let options = |transpose, limit| ReadOptions { transpose, limit: Some(limit), ..Default::default() };
        assert_eq!(read(text, options(false, 1)).unwrap().data(), [1.0, 2.0, 3.0]);
        assert_eq!(read(text, options(true, 2)).unwrap().data(), [1.0, 4.0, 2.0, 5.0]);
        assert_eq!(read(text, options(true, 9)).unwrap().rows(), 3);
        assert_eq!(read(text, options(false, 0)).unwrap_err(), "is empty");
        assert_eq!(read(text, options(true, 0)).unwrap_err(), "is empty");
    }

    proptest! {
        #[test]
        fn every_finite_f32_survives_as_text(values in prop::collection::vec(prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO, 1..40)) {
            let text: String = values.iter().map(|v| format!("{v},{v:e}\n")).collect();
            let read = read(&text, ReadOptions::default()).unwrap();
            for (row, value) in read.iter().zip(&values) {
                prop_assert_eq!(row, [*value, *value]);
            }
            prop_assert_eq!(read.rows(), values.len());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, transpose: bool, limit: Option<usize>) {
            let _ = read_matrix(Source::of(&bytes), ReadOptions { transpose, limit, tensor: None });
        }

        #[test]
        fn text_like_a_table_never_panics(text in "[0-9a,.\\-\"\n ]{0,60}", transpose: bool) {
            let _ = read(&text, ReadOptions { transpose, ..Default::default() });
        }
    }
}
