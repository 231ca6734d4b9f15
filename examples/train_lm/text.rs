//! Text as a stream of word numbers, and its contexts.

use std::fs;
use std::path::Path;

use super::error::Error;
use super::vocabulary::Vocabulary;

/// Reads a text file: UTF-8, one sentence a line.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let text = String::from_utf8(bytes)
        .map_err(|bad| Error::NotUtf8 { path: path.into(), offset: bad.utf8_error().valid_up_to() })?;
    // A byte order mark would otherwise become part of the first word.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.split_whitespace().next().is_none() {
        return Err(Error::EmptyText { path: Some(path.into()) });
    }
    Ok(text)
}

/// A text as numbers: the words of each sentence, then `</s>`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    ids: Vec<u32>,
    end: u32,
    classes: usize,
}

impl Tokens {
    /// Numbers the words of `text`. Blank lines are no sentences.
    pub fn new(text: &str, vocabulary: &Vocabulary) -> Result<Self, Error> {
        let mut ids = Vec::new();
        for line in text.lines() {
            let before = ids.len();
            ids.extend(line.split_whitespace().map(|word| vocabulary.id(word)));
            if ids.len() > before && ids.last() != Some(&vocabulary.end()) {
                ids.push(vocabulary.end());
            }
        }
        if ids.is_empty() {
            return Err(Error::EmptyText { path: None });
        }
        Ok(Self { ids, end: vocabulary.end(), classes: vocabulary.len() })
    }

    /// Returns the numbers. Each of them is predicted once, `</s>` included.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Writes the words before position `at` into `context`, the oldest first.
    ///
    /// A context ends at its sentence: all places before the first word hold `</s>`. So a model needs nothing from
    /// before the sentence, and learns from those places how far into the sentence it is.
    pub fn context(&self, at: usize, context: &mut [u32]) {
        let before = self.ids.get(..at).unwrap_or(&[]);
        let sentence = before.iter().rev().take_while(|&&id| id != self.end);
        let words = sentence.copied().chain(core::iter::repeat(self.end));
        for (word, id) in context.iter_mut().rev().zip(words) {
            *word = id;
        }
    }

    /// Checks that the words were numbered with a vocabulary of the model's size.
    pub fn check(&self, classes: usize) -> Result<(), Error> {
        match self.classes == classes {
            true => Ok(()),
            false => Err(Error::Setting("the text was numbered with another vocabulary")),
        }
    }

    /// Counts how often each word of the vocabulary occurs.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.classes];
        for &id in &self.ids {
            counts[id as usize] += 1;
        }
        counts
    }
}
