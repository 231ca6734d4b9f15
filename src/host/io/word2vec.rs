//! word2vec's binary files: a line `N d`, then for each word the word, a space and d f32 values,
//! little-endian; some writers end each with a newline.

use std::io::{BufRead, Read};

use super::ReadOptions;
use super::element::{Accept, Element, Encoding, Stop, read_floats};
use super::error::{Position, Problem};
use super::layout::expect_bytes;
use super::matrix::NamedMatrix;
use super::source::{Source, not_a};
use super::word_text::parse_header;
use crate::host::Matrix;

/// Far above any word: what is longer is not such a file.
const LONGEST_WORD: u64 = 1 << 12;

const ENCODING: Encoding = Encoding { element: Element::F32, big_endian: false };

pub(super) fn read<R: BufRead>(source: Source<R>, options: ReadOptions<'_>) -> Result<NamedMatrix, Problem> {
    let Source { mut reader, len } = source;
    if len == 0 {
        return Err(Problem::Empty);
    }
    let start: Vec<u8> = reader.fill_buf()?.iter().take(8).copied().collect();
    let (rows, cols) = until(&mut reader, b'\n')?
        .and_then(|line| parse_header(std::str::from_utf8(&line).ok()?.trim_end()))
        .ok_or_else(|| not_a("word2vec binary", &start))?;
    expect_bytes(&[rows as u64, cols as u64], ENCODING.element.size(), len)?;
    let taken = options.take(rows);
    let mut data = Vec::with_capacity(taken * cols);
    let mut names = Vec::with_capacity(taken);
    for row in 0..taken {
        names.push(read_word(&mut reader, row, rows)?);
        read_floats(&mut reader, ENCODING, cols, Accept::Finite, |block| {
            data.extend_from_slice(block);
        })
        .map_err(|stop| match stop {
            Stop::Refused(refused) => Problem::Value {
                value: refused.value,
                at: Position::Cell { row: row as u64, column: refused.index as u64 },
            },
            Stop::Problem(Problem::Truncated { .. }) => ends_early(row, rows),
            Stop::Problem(problem) => problem,
        })?;
    }
    let matrix = Matrix::new(data, cols).filter(|matrix| matrix.rows() > 0).ok_or(Problem::Empty)?;
    Ok(NamedMatrix { matrix, names: Some(names) })
}

fn read_word(reader: &mut impl BufRead, row: usize, rows: usize) -> Result<String, Problem> {
    let Some(bytes) = until(reader, b' ')? else {
        return Err(match reader.fill_buf()?.is_empty() {
            true => ends_early(row, rows),
            false => Problem::Malformed(format!("row {row} has no word")),
        });
    };
    let word = bytes.strip_prefix(b"\n").unwrap_or(&bytes);
    match std::str::from_utf8(word) {
        Ok(word) => Ok(word.to_owned()),
        Err(_) => Err(Problem::Malformed(format!("the word of row {row} is not UTF-8"))),
    }
}

/// The bytes before `delimiter`, if it comes within the longest word.
fn until(reader: &mut impl BufRead, delimiter: u8) -> Result<Option<Vec<u8>>, Problem> {
    let mut bytes = Vec::new();
    reader.by_ref().take(LONGEST_WORD).read_until(delimiter, &mut bytes)?;
    Ok((bytes.pop() == Some(delimiter)).then_some(bytes))
}

fn ends_early(row: usize, rows: usize) -> Problem {
    Problem::Truncated { expected: format!("{rows} rows"), found: format!("{row}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(header: &str, rows: &[(&str, &[f32])], end: &str) -> Vec<u8> {
        let mut bytes = header.as_bytes().to_vec();
        for (word, values) in rows {
            bytes.extend(word.as_bytes());
            bytes.push(b' ');
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend(end.as_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<NamedMatrix, String> {
        super::read(Source::of(bytes), ReadOptions::default()).map_err(|problem| problem.to_string())
    }

    const ROWS: [(&str, &[f32]); 2] = [("the", &[0.5, -2.0]), ("né", &[3.0, 1e-20])];

    #[test]
    fn words_and_values_are_read_with_and_without_newlines() {
        for end in ["", "\n"] {
            let named = read(&file("2 2\n", &ROWS, end)).unwrap();
            assert_eq!(named.names.unwrap(), ["the", "né"]);
            assert_eq!(named.matrix.data(), [0.5, -2.0, 3.0, 1e-20]);
        }
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = file("2 2\n", &ROWS, "");
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
        }
        let error = read(&bytes[..bytes.len() - 1]).unwrap_err();
        assert_eq!(error, "ends early: expected 2 rows, found 1");
    }

    #[test]
    fn a_claimed_size_is_held_against_the_length_of_the_file() {
        let error = read(&file("3000000 300\n", &ROWS, "")).unwrap_err();
        assert!(error.starts_with("ends early: expected 3000000×300 values of 4 bytes"), "{error}");
        let most = format!("{0} {0}\n", usize::MAX);
        assert!(read(&file(&most, &ROWS, "")).unwrap_err().starts_with("ends early"));
    }

    #[test]
    fn what_is_no_word_or_number_is_refused() {
        let nan: [(&str, &[f32]); 1] = [("a", &[1.0, f32::NAN])];
        assert_eq!(read(&file("1 2\n", &nan, "")).unwrap_err(), "NaN at row 0, column 1");
        assert_eq!(read(b"1 1\n\xff \0\0\0\0").unwrap_err(), "the word of row 0 is not UTF-8");
        assert_eq!(read(b"\x93NUMPY\n").unwrap_err(), "not a word2vec binary file, but a .npy file");
        assert_eq!(read(b"what\n").unwrap_err(), "not a word2vec binary file (wrong magic)");
        assert_eq!(read(b"0 5\n").unwrap_err(), "is empty");
        assert_eq!(read(b"").unwrap_err(), "is empty");
    }

    #[test]
    fn the_limit_ends_reading() {
        let options = ReadOptions { limit: Some(1), ..Default::default() };
        let named = super::read(Source::of(&file("2 2\n", &ROWS, "")), options).unwrap();
        assert_eq!(named.matrix.data(), [0.5, -2.0]);
        assert_eq!(named.names.unwrap(), ["the"]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }

        #[test]
        fn arbitrary_bytes_after_a_header_never_panic(rows: u64, cols in 0u64..9, bytes: Vec<u8>) {
            let header = format!("{} {cols}\n", rows % 9);
            let _ = read(&[header.as_bytes(), &bytes].concat());
        }
    }
}
