//! The one error type of the core.

use core::fmt;

/// Says why a model file, a query or a request was refused.
///
/// ```
/// use zhat::{Error, Model};
///
/// let file = zhat::doc_example();
/// let error = Model::from_bytes(&file[..60]).unwrap_err();
/// assert_eq!(error, Error::Truncated);
/// assert_eq!(error.to_string(), "the model file is cut short");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not start on a word boundary: use [`include_model!`](crate::include_model).
    Misaligned,
    /// The bytes end before the model does.
    Truncated,
    /// There are bytes after the end that the header states.
    TrailingBytes,
    /// The file does not start with the magic bytes of a zhat model.
    NotAModel,
    /// The file is of a format version that this library does not read.
    Version(u16),
    /// The checksum does not match the content.
    Checksum,
    /// The header is invalid: a size is zero or above its limit, or a field that must be zero is not.
    Header,
    /// The rows are 4-bit, and this library was built without the feature `rows4`.
    FourBitRows,
    /// The section table is too long or out of order, its sections overlap or end outside the file, or a section comes
    /// twice.
    SectionTable,
    /// A required section of this kind is missing.
    MissingSection(u16),
    /// A section of this kind is required to understand the file, and this library does not know it.
    UnknownSection(u16),
    /// The length of the section of this kind does not follow from the header's sizes.
    SectionLength(u16),
    /// The section of this kind holds a value that is out of range or contradicts another one.
    SectionContent(u16),
    /// The query's length is not the model's dimension.
    QueryLength,
    /// The query holds NaN or an infinity.
    QueryNotFinite,
    /// The query is so large that scores could leave the range of ±4 000 nats.
    QueryTooLarge,
    /// There is no query: none was set, or the last one was refused.
    NoQuery,
    /// The query was quantised for another model.
    OtherModel,
    /// The answer is to another query, or of another model.
    OtherQuery,
    /// The [`QueryBuffer`](crate::QueryBuffer) is too short for the model; holds the `D` that it needs.
    QueryColumns(u32),
    /// The caller's memory for the query is too short for the model; holds the required length in words.
    QueryWords(u32),
    /// The scratch memory is too short to score even one class; holds the required length in words.
    ScratchWords(u32),
    /// The memory for a sampling estimator's marks is too short for the model's rows; holds the required length in
    /// words.
    MarkWords(u32),
    /// The buffer for the samples' scores is too short; holds the required length.
    NoiseScores(u32),
    /// The class number is not below the model's number of classes.
    NoSuchClass,
    /// The model file has no tree or no settings, so that there is nothing to search. [`exact`](crate::exact) works
    /// without.
    NoIndex,
    /// The model file has no bounds on the mass of its nodes.
    NoBounds,
    /// The budget is too small to score even one class; holds the smallest cap that is enough.
    Budget(u32),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Misaligned => f.write_str("the model's bytes are not word-aligned: embed them with include_model!"),
            Self::Truncated => f.write_str("the model file is cut short"),
            Self::TrailingBytes => {
                f.write_str("there are bytes after the end of the model: open a partition with Model::from_prefix")
            }
            Self::NotAModel => f.write_str("not a zhat model file (wrong magic)"),
            Self::Version(v) => {
                write!(f, "format version {v} is not supported: build the model with this release of zhat")
            }
            Self::Checksum => f.write_str("the checksum does not match: the model file is damaged"),
            Self::Header => f.write_str("the model's header is invalid: the file is damaged"),
            Self::FourBitRows => f.write_str("the model's rows are 4-bit: enable zhat's feature `rows4`"),
            Self::SectionTable => f.write_str("the model's section table is invalid: the file is damaged"),
            Self::MissingSection(kind) => write!(f, "section {kind} of the model file is missing"),
            Self::UnknownSection(kind) => write!(f, "section {kind} of the model file is unknown: update zhat"),
            Self::SectionLength(kind) => write!(f, "section {kind} of the model file has the wrong length"),
            Self::SectionContent(kind) => write!(f, "section {kind} of the model file holds an invalid value"),
            Self::QueryLength => f.write_str("the query's length is not the model's dimension"),
            Self::QueryNotFinite => f.write_str("the query holds NaN or an infinity"),
            Self::QueryTooLarge => f.write_str("the query is too large: scores could leave the range of ±4000 nats"),
            Self::NoQuery => f.write_str("there is no query: none was set, or the last one was refused"),
            Self::OtherModel => f.write_str("the query was quantised for another model"),
            Self::OtherQuery => {
                f.write_str("the answer is to another query or of another model: pass those that were classified")
            }
            Self::QueryColumns(needed) => write!(f, "the query's buffer is too small: it needs {needed} columns"),
            Self::QueryWords(needed) => write!(f, "the query's memory is too small: it needs {needed} words"),
            Self::ScratchWords(needed) => {
                write!(f, "the scratch memory is too small: it needs at least {needed} words")
            }
            Self::MarkWords(needed) => write!(f, "the memory for the marks is too small: it needs {needed} words"),
            Self::NoiseScores(needed) => {
                write!(f, "the buffer for the noise is too small: it needs {needed} scores")
            }
            Self::NoSuchClass => f.write_str("there is no such class in the model"),
            Self::NoIndex => {
                f.write_str("the model file has no index: call zhat::exact, or build a model with an index")
            }
            Self::NoBounds => f.write_str("the model file has no node bounds: build the model again"),
            Self::Budget(needed) => write!(f, "the budget is too small: the cap must be at least {needed}"),
        }
    }
}

impl core::error::Error for Error {}
