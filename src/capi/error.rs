//! Error codes.

use core::ffi::{CStr, c_char};

use crate::Error;

/// The result of a function: zero if it succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ZhatError {
    /// Success.
    None = 0,
    /// A pointer is null.
    Null = 1,
    /// A pointer is not aligned for its type; a model file has to start on a word boundary.
    Misaligned = 2,
    /// The model was not opened.
    NotOpen = 3,
    /// The model file is cut short.
    Truncated = 4,
    /// There are bytes after the end of the model.
    TrailingBytes = 5,
    /// The bytes are not a zhat model file.
    NotAModel = 6,
    /// The model file is of a version that this library does not read.
    Version = 7,
    /// The checksum does not match: the model file is damaged.
    Checksum = 8,
    /// The header or the section table of the model file is invalid.
    Header = 9,
    /// A section of the model file is missing, unknown, of the wrong length or of invalid content.
    Section = 10,
    /// The query's length is not the model's dimension.
    QueryLength = 11,
    /// The query holds NaN or an infinity.
    QueryNotFinite = 12,
    /// The query is so large that scores could leave the range of ±4 000 nats.
    QueryTooLarge = 13,
    /// More than `ZHAT_MAX_TOP` classes were requested.
    TopTooLong = 14,
    /// The scratch memory is too small for the model: `zhat_scratch_words` returns how much is enough.
    Scratch = 15,
    /// The model file has no index.
    NoIndex = 16,
    /// The budget is too small to score even one class: `zhat_least_cap` returns the smallest cap.
    Budget = 17,
    /// An error without a code of its own.
    Other = 18,
    /// The model's rows are 4-bit, and the library was built without `rows4`.
    FourBitRows = 19,
    /// The class number is not below `zhat_classes`.
    NoSuchClass = 20,
    /// The model file has no names, or no input scale.
    Absent = 21,
    /// The scratch memory does not hold the query of this result any more.
    OtherQuery = 22,
}

impl ZhatError {
    const ALL: [Self; 23] = [
        Self::None,
        Self::Null,
        Self::Misaligned,
        Self::NotOpen,
        Self::Truncated,
        Self::TrailingBytes,
        Self::NotAModel,
        Self::Version,
        Self::Checksum,
        Self::Header,
        Self::Section,
        Self::QueryLength,
        Self::QueryNotFinite,
        Self::QueryTooLarge,
        Self::TopTooLong,
        Self::Scratch,
        Self::NoIndex,
        Self::Budget,
        Self::Other,
        Self::FourBitRows,
        Self::NoSuchClass,
        Self::Absent,
        Self::OtherQuery,
    ];

    const fn text(self) -> &'static CStr {
        match self {
            Self::None => c"no error",
            Self::Null => c"a pointer is null",
            Self::Misaligned => c"a pointer is not aligned",
            Self::NotOpen => c"the model was not opened: call zhat_open",
            Self::Truncated => c"the model file is cut short",
            Self::TrailingBytes => c"there are bytes after the end of the model",
            Self::NotAModel => c"not a zhat model file",
            Self::Version => {
                c"the version of the model file is not supported: build the model with this release of zhat"
            }
            Self::Checksum => c"the checksum does not match",
            Self::Header => c"the model's header is invalid",
            Self::Section => c"a section of the model is invalid",
            Self::QueryLength => c"the query's length is not the model's dimension",
            Self::QueryNotFinite => c"the query holds NaN or an infinity",
            Self::QueryTooLarge => c"the query is too large",
            Self::TopTooLong => c"more than ZHAT_MAX_TOP classes are requested",
            Self::Scratch => c"the scratch memory is too small: see zhat_scratch_words",
            Self::NoIndex => c"the model has no index: call zhat_exact",
            Self::Budget => c"the budget is too small: see zhat_least_cap",
            Self::Other => c"other error",
            Self::FourBitRows => c"the model's rows are 4-bit: build the library with the feature rows4",
            Self::NoSuchClass => c"there is no such class in the model",
            Self::Absent => c"the model file has no names, or no input scale",
            Self::OtherQuery => c"the scratch memory does not hold the query of this result",
        }
    }
}

impl From<Error> for ZhatError {
    fn from(error: Error) -> Self {
        match error {
            Error::Misaligned => Self::Misaligned,
            Error::Truncated => Self::Truncated,
            Error::TrailingBytes => Self::TrailingBytes,
            Error::NotAModel => Self::NotAModel,
            Error::Version(_) => Self::Version,
            Error::Checksum => Self::Checksum,
            Error::FourBitRows => Self::FourBitRows,
            Error::Header | Error::SectionTable => Self::Header,
            Error::MissingSection(_)
            | Error::UnknownSection(_)
            | Error::SectionLength(_)
            | Error::SectionContent(_) => Self::Section,
            Error::QueryLength => Self::QueryLength,
            Error::QueryNotFinite => Self::QueryNotFinite,
            Error::QueryTooLarge => Self::QueryTooLarge,
            Error::QueryWords(_) | Error::QueryColumns(_) | Error::ScratchWords(_) => Self::Scratch,
            Error::NoIndex => Self::NoIndex,
            Error::Budget(_) => Self::Budget,
            Error::NoQuery | Error::OtherModel | Error::OtherQuery => Self::OtherQuery,
            Error::NoSuchClass => Self::NoSuchClass,
            Error::MarkWords(_) | Error::NoiseScores(_) | Error::NoBounds => Self::Other,
        }
    }
}

/// Turns the result of a body with `?` into the code that C sees.
pub(super) fn code(result: Result<(), ZhatError>) -> ZhatError {
    result.err().unwrap_or(ZhatError::None)
}

/// Returns the text of an error for any number: static, and with a zero at the end.
#[unsafe(no_mangle)]
pub extern "C" fn zhat_error_text(error: i32) -> *const c_char {
    let known = ZhatError::ALL.into_iter().find(|known| *known as i32 == error);
    known.unwrap_or(ZhatError::Other).text().as_ptr()
}
