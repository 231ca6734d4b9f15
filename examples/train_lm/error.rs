//! The errors from a text file to a trained model.

use core::fmt;
use std::io;
use std::path::PathBuf;

use zhat::host::input::WriteError;

/// Says why a text, a vocabulary, a training run or one of its files was refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be written.
    Write(WriteError),
    /// A text file holds bytes that are not UTF-8.
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first byte that is not UTF-8, counted from 0.
        offset: usize,
    },
    /// A text has no words.
    EmptyText {
        /// The file, if the text came from one.
        path: Option<PathBuf>,
    },
    /// A vocabulary of fewer than two words leaves nothing to predict.
    OneWord,
    /// The requested vocabulary is larger than the text can fill.
    VocabularyAboveText {
        /// The requested number of entries.
        asked: usize,
        /// The number of entries the text has, `<unk>` and `</s>` included.
        available: usize,
    },
    /// A word list names a word twice, or lacks `<unk>` or `</s>`.
    WordList {
        /// The reason.
        reason: String,
    },
    /// A word id is outside the model's vocabulary.
    NoSuchWord {
        /// The id.
        word: u32,
        /// The size of the vocabulary.
        classes: usize,
    },
    /// The contexts are not a whole number of windows of the model's length.
    ContextLength {
        /// The number of words given.
        words: usize,
        /// The number of words in one context.
        context: usize,
    },
    /// A setting is not valid; holds the reason.
    Setting(&'static str),
    /// The loss stopped being a number: the learning rate is too high.
    Diverged {
        /// The step at which it happened.
        step: u64,
    },
    /// A file is not a checkpoint, or is one of another kind of run.
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => write!(f, "can't read {}: {source}", path.display()),
            Self::Write(error) => error.fmt(f),
            Self::NotUtf8 { path, offset } => {
                write!(f, "{} is not UTF-8 text: bad byte at offset {offset}", path.display())
            }
            Self::EmptyText { path: Some(path) } => write!(f, "{} has no words", path.display()),
            Self::EmptyText { path: None } => f.write_str("the text has no words"),
            Self::OneWord => f.write_str("a vocabulary of one word leaves nothing to predict; two are the least"),
            Self::VocabularyAboveText { asked, available } => write!(
                f,
                "a vocabulary of {asked} was asked for, but the text has {available} entries \
                 (<unk> and </s> included)"
            ),
            Self::WordList { reason } => write!(f, "bad word list: {reason}"),
            Self::NoSuchWord { word, classes } => {
                write!(f, "word {word} is outside the vocabulary of {classes}")
            }
            Self::ContextLength { words, context } => {
                write!(f, "{words} words do not divide into contexts of {context}")
            }
            Self::Setting(reason) => f.write_str(reason),
            Self::Diverged { step } => {
                write!(f, "training diverged at step {step}: lower the learning rate")
            }
            Self::Checkpoint { path, reason } => {
                write!(f, "{} is no usable checkpoint: {reason}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            Self::Write(error) => error.source(),
            _ => None,
        }
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}
