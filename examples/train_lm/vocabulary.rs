//! The words that a model knows, numbered by frequency.

use std::collections::HashMap;

use super::error::Error;

pub use zhat::language::{END, UNKNOWN};

/// The words of a model; `<unk>` and `</s>` are always among them.
///
/// Words are numbered from the most to the least frequent (ties by spelling, so that the same text always gives the
/// same numbers). A `<unk>` or `</s>` in the text counts as that entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    words: Vec<String>,
    ids: HashMap<String, u32>,
    unknown: u32,
    end: u32,
}

impl Vocabulary {
    /// Counts the words of `text` (one sentence a line, words between white space) and keeps the most frequent, `size`
    /// entries in all, or all of them if there is no `size`.
    pub fn from_text(text: &str, size: Option<usize>) -> Result<Self, Error> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        let mut sentences = 0;
        for line in text.lines() {
            let mut empty = true;
            for word in line.split_whitespace() {
                *counts.entry(word).or_default() += 1;
                empty = false;
            }
            sentences += u64::from(!empty);
        }
        if counts.is_empty() {
            return Err(Error::EmptyText { path: None });
        }
        let unknown = counts.remove(UNKNOWN).unwrap_or(0);
        let ends = counts.remove(END).unwrap_or(0) + sentences;
        let mut ranked: Vec<_> = counts.into_iter().collect();
        ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let available = ranked.len() + 2;
        let size = size.unwrap_or(available);
        if size > available {
            return Err(Error::VocabularyAboveText { asked: size, available });
        }
        // Words below the limit count as `<unk>`, which decides its rank.
        let kept = size.saturating_sub(2);
        let dropped: u64 = ranked[kept..].iter().map(|(_, n)| n).sum();
        ranked.truncate(kept);
        ranked.extend([(UNKNOWN, unknown + dropped), (END, ends)]);
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        Self::from_words(ranked.into_iter().map(|(word, _)| word.to_owned()).collect())
    }

    /// Takes a word list as it is: word `i` has the number `i`.
    pub fn from_words(words: Vec<String>) -> Result<Self, Error> {
        let mut ids = HashMap::with_capacity(words.len());
        for (i, word) in words.iter().enumerate() {
            if word.is_empty() || word.contains(char::is_whitespace) {
                return Err(Error::WordList { reason: format!("entry {i} is no single word") });
            }
            if ids.insert(word.clone(), i as u32).is_some() {
                return Err(Error::WordList { reason: format!("{word} stands twice") });
            }
        }
        let find = |word| {
            let missing = || Error::WordList { reason: format!("{word} is missing") };
            ids.get(word).copied().ok_or_else(missing)
        };
        let (unknown, end) = (find(UNKNOWN)?, find(END)?);
        if words.len() < 4 {
            return Err(Error::OneWord);
        }
        Ok(Self { words, ids, unknown, end })
    }

    /// Returns the number of entries, `<unk>` and `</s>` included.
    #[allow(clippy::len_without_is_empty)] // There is no empty vocabulary.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the words in the order of their numbers.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the number of `word`, or of `<unk>` if it is not in the vocabulary.
    pub fn id(&self, word: &str) -> u32 {
        self.ids.get(word).copied().unwrap_or(self.unknown)
    }

    /// Returns the number of `</s>`.
    pub fn end(&self) -> u32 {
        self.end
    }

    #[cfg(test)]
    /// Returns the number of `<unk>`.
    pub fn unknown(&self) -> u32 {
        self.unknown
    }
}
