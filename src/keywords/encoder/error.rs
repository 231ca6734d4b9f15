//! Why an encoder's file is refused.

use core::fmt;

/// Why bytes are no encoder.
///
/// ```
/// use zhat::keywords::{Encoder, EncoderError};
/// use zhat::model::Aligned;
///
/// static BYTES: Aligned<[u8; 40]> = Aligned([0; 40]);
/// let error = Encoder::from_bytes(&BYTES.0).unwrap_err();
/// assert_eq!(error, EncoderError::NotAnEncoder);
/// assert_eq!(error.to_string(), "not an encoder of keywords (wrong magic)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum EncoderError {
    /// The bytes do not start on a word boundary: use [`include_model!`](crate::include_model).
    Misaligned,
    /// The bytes end before the encoder does.
    Truncated,
    /// There are bytes after the end.
    TrailingBytes,
    /// The file does not start with the magic bytes of an encoder.
    NotAnEncoder,
    /// The file is of a version that this library does not read.
    Version(u32),
    /// The sizes in the header are zero, no multiples of four, or above what there is memory for.
    Sizes,
    /// The tensor of this number has other sizes than the header asks for.
    TensorSizes(u32),
    /// The tensor of this number has a scale or a bias that is out of range.
    TensorContent(u32),
    /// A scale of activations, or a threshold, is out of range.
    Content,
}

impl fmt::Display for EncoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Misaligned => f.write_str("the encoder's bytes are not word-aligned"),
            Self::Truncated => f.write_str("the encoder's file is cut short"),
            Self::TrailingBytes => f.write_str("there are bytes after the end of the encoder"),
            Self::NotAnEncoder => f.write_str("not an encoder of keywords (wrong magic)"),
            Self::Version(version) => write!(f, "version {version} of the encoder's file is not supported"),
            Self::Sizes => f.write_str("the encoder's sizes are zero, no multiples of four, or too large"),
            Self::TensorSizes(tensor) => {
                write!(f, "tensor {tensor} of the encoder has other sizes than its header says")
            }
            Self::TensorContent(tensor) => write!(f, "tensor {tensor} of the encoder holds an invalid number"),
            Self::Content => f.write_str("the encoder's scales or thresholds are invalid"),
        }
    }
}

impl core::error::Error for EncoderError {}
