//! Streams of floats as files store them, in blocks: bytes in, f32 out, each value looked at.
//!
//! A block is small enough to stay in cache between reading, converting and checking, so that a
//! file costs one pass over its bytes and one over the result.

use std::io::{ErrorKind, Read};

use half::{bf16, f16};

use super::error::Problem;

/// Values per block.
const BLOCK: usize = 1 << 13;

/// How a float is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    pub fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// How a stream of floats is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoding {
    pub element: Element,
    pub big_endian: bool,
}

/// Which values a use of numbers can live with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accept {
    /// Weights and queries.
    Finite,
    /// Biases: −∞ masks a class.
    FiniteOrMasked,
}

impl Accept {
    pub fn accepts(self, value: f32) -> bool {
        value.is_finite() || (self == Self::FiniteOrMasked && value == f32::NEG_INFINITY)
    }
}

/// A value that was not accepted, and its index in the stream.
pub(super) struct Refused {
    pub index: usize,
    pub value: f64,
}

/// Why a stream of floats ended early.
pub(super) enum Stop {
    Refused(Refused),
    Problem(Problem),
}

/// Reads `count` values and hands them to `put`, block after block.
pub(super) fn read_floats(
    mut reader: impl Read,
    encoding: Encoding,
    count: usize,
    accept: Accept,
    mut put: impl FnMut(&[f32]),
) -> Result<(), Stop> {
    let size = encoding.element.size();
    let mut bytes = vec![0; size * BLOCK.min(count)];
    let mut values = vec![0.0; BLOCK.min(count)];
    let mut done = 0;
    while done < count {
        let block = BLOCK.min(count - done);
        let (bytes, values) = (&mut bytes[..block * size], &mut values[..block]);
        reader.read_exact(bytes).map_err(|error| {
            Stop::Problem(match error.kind() {
                ErrorKind::UnexpectedEof => Problem::Truncated {
                    expected: format!("{count} values"),
                    found: format!("fewer than {}", done + block),
                },
                _ => error.into(),
            })
        })?;
        decode(bytes, encoding, values);
        if let Some(at) = values.iter().position(|&value| !accept.accepts(value)) {
            return Err(Stop::Refused(Refused {
                index: done + at,
                value: original(&bytes[at * size..][..size], encoding, values[at]),
            }));
        }
        put(values);
        done += block;
    }
    Ok(())
}

/// Converts a block; one loop per encoding, so that each is a straight one.
fn decode(bytes: &[u8], encoding: Encoding, values: &mut [f32]) {
    fn each<const SIZE: usize>(bytes: &[u8], values: &mut [f32], convert: impl Fn([u8; SIZE]) -> f32) {
        let (chunks, _) = bytes.as_chunks();
        for (value, &chunk) in values.iter_mut().zip(chunks) {
            *value = convert(chunk);
        }
    }
    match (encoding.element, encoding.big_endian) {
        (Element::F16, false) => each(bytes, values, |b| f16::from_le_bytes(b).to_f32()),
        (Element::F16, true) => each(bytes, values, |b| f16::from_be_bytes(b).to_f32()),
        (Element::Bf16, false) => each(bytes, values, |b| bf16::from_le_bytes(b).to_f32()),
        (Element::Bf16, true) => each(bytes, values, |b| bf16::from_be_bytes(b).to_f32()),
        (Element::F32, false) => each(bytes, values, f32::from_le_bytes),
        (Element::F32, true) => each(bytes, values, f32::from_be_bytes),
        (Element::F64, false) => each(bytes, values, |b| f64::from_le_bytes(b) as f32),
        (Element::F64, true) => each(bytes, values, |b| f64::from_be_bytes(b) as f32),
    }
}

/// The value as the file has it: an f64 may be finite where its f32 is not.
fn original(bytes: &[u8], encoding: Encoding, value: f32) -> f64 {
    match (encoding.element, bytes.try_into()) {
        (Element::F64, Ok(bytes)) if encoding.big_endian => f64::from_be_bytes(bytes),
        (Element::F64, Ok(bytes)) => f64::from_le_bytes(bytes),
        _ => value.into(),
    }
}
