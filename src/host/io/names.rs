//! The names of the classes.

use std::io::BufRead;
use std::path::Path;

use super::error::{Problem, ReadError};
use super::source::{Source, with_file};
use super::vector::expect_some;

/// Reads names in UTF-8, one per line. An empty line is an empty name, so that a name's line is its
/// class; a newline after the last name is not a further one.
///
/// ```
/// let names = zhat::host::io::read_names("models/prompts.txt")?;
/// assert!(!names.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// For a file that cannot be read, is empty, or has a line that is not UTF-8.
pub fn read_names(path: impl AsRef<Path>) -> Result<Vec<String>, ReadError> {
    with_file(path.as_ref(), read)
}

pub(super) fn read<R: BufRead>(source: Source<R>) -> Result<Vec<String>, Problem> {
    let mut names = Vec::new();
    for line in source.reader.split(b'\n') {
        let mut line = line?;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let mut name = String::from_utf8(line)
            .map_err(|_| Problem::Malformed(format!("line {} is not UTF-8", names.len() + 1)))?;
        if names.is_empty() && name.starts_with('\u{feff}') {
            // A byte-order mark, as some editors write.
            name.remove(0);
        }
        names.push(name);
    }
    expect_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_endings_and_a_final_newline_are_not_names() {
        let read = |text: &str| read(Source::of(text.as_bytes())).unwrap();
        assert_eq!(read("a\nb\n"), ["a", "b"]);
        assert_eq!(read("a\r\n\r\nb"), ["a", "", "b"]);
        assert_eq!(read("\u{feff}é\n"), ["é"]);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_by_line() {
        let error = read(Source::of(b"a\n\xff\n")).unwrap_err();
        assert_eq!(error.to_string(), "line 2 is not UTF-8");
        assert!(matches!(read(Source::of(b"")), Err(Problem::Empty)));
    }

    proptest! {
        #[test]
        fn names_survive_a_round_trip(names in prop::collection::vec("[^\r\n\u{feff}]{1,8}", 1..20)) {
            prop_assert_eq!(read(Source::of(names.join("\n").as_bytes())).unwrap(), names);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read(Source::of(&bytes));
        }
    }
}
