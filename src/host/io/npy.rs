//! NumPy's `.npy` files: the header, and what is in them as a matrix, a list of floats or of labels.
//!
//! The header is a Python literal, which `npyz` parses. Files come from anywhere, so that only what
//! NumPy itself writes for a plain array is given to that parser: a literal that nests deeply or
//! claims more than 2⁶⁴ values would end in a panic there.

use std::io::{ErrorKind, Read};

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr};

use super::ReadOptions;
use super::element::{Element, Encoding};
use super::error::Problem;
use super::layout::Layout;
use super::source::{Source, not_a};
use crate::host::Matrix;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy's own limit on header text that it trusts.
const LONGEST_HEADER: u32 = 10_000;
/// `{'shape': (…)}` nests two deep, a structured type four.
const DEEPEST_HEADER: usize = 4;
/// No product of numbers with this many digits in all exceeds a u64.
const MOST_DIGITS: usize = 19;

/// An opened `.npy` file, at its first value.
pub(super) struct Npy<R> {
    pub header: NpyHeader,
    pub reader: R,
    /// Bytes of values, as far as the length of the file tells.
    pub len: u64,
}

impl<R: Read> Npy<R> {
    pub fn open(source: Source<R>) -> Result<Self, Problem> {
        let Source { mut reader, len } = source;
        if len == 0 {
            return Err(Problem::Empty);
        }
        let text = read_header(&mut reader)?;
        let header = NpyHeader::from_reader(&text[..]).map_err(|error| malformed(&error.to_string()))?;
        Ok(Self { header, reader, len: len.saturating_sub(text.len() as u64) })
    }

    /// The type of a plain array.
    pub fn scalar(&self) -> Option<TypeStr> {
        match self.header.dtype() {
            DType::Plain(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// How its floats are stored.
    pub fn encoding(&self) -> Result<Encoding, Problem> {
        let scalar = self.scalar();
        let element = scalar.as_ref().and_then(|s| match (s.type_char(), s.size_field()) {
            (TypeChar::Float, 2) => Some(Element::F16),
            (TypeChar::Float, 4) => Some(Element::F32),
            (TypeChar::Float, 8) => Some(Element::F64),
            _ => None,
        });
        match (element, &scalar) {
            (Some(element), Some(scalar)) => {
                Ok(Encoding { element, big_endian: scalar.endianness() == Endianness::Big })
            }
            _ => Err(Problem::Type { found: self.type_name(), expected: "f16, f32 or f64" }),
        }
    }

    /// The type by NumPy's name for it.
    pub fn type_name(&self) -> String {
        let Some(scalar) = self.scalar() else {
            return "a structured type".into();
        };
        let bits = scalar.size_field().saturating_mul(8);
        match scalar.type_char() {
            TypeChar::Bool => "bool".into(),
            TypeChar::Int => format!("int{bits}"),
            TypeChar::Uint => format!("uint{bits}"),
            TypeChar::Float => format!("float{bits}"),
            TypeChar::Complex => format!("complex{bits}"),
            TypeChar::ByteStr | TypeChar::UnicodeStr => "text".into(),
            TypeChar::TimeDelta | TypeChar::DateTime => "dates or times".into(),
            TypeChar::Object => "Python objects".into(),
            _ => format!("type {scalar}"),
        }
    }

    pub fn read_matrix(self, options: ReadOptions<'_>) -> Result<Matrix, Problem> {
        let encoding = self.encoding()?;
        let column_major = self.header.order() == Order::Fortran;
        Layout::new(self.header.shape(), column_major, encoding, self.len)?.read(self.reader, encoding, options)
    }
}

/// The header with all that stands before its text, checked to be one that can be parsed.
fn read_header(mut reader: impl Read) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut more = |bytes: &mut Vec<u8>, count: u32| -> Result<bool, Problem> {
        Ok(reader.by_ref().take(count.into()).read_to_end(bytes)? == count as usize)
    };
    let truncated = || Problem::Truncated { expected: "a header".into(), found: "part of one".into() };
    if !more(&mut bytes, 6)? || bytes[..] != *MAGIC {
        return Err(not_a(".npy", &bytes));
    }
    if !more(&mut bytes, 4)? {
        return Err(truncated());
    }
    let mut length = u32::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    if bytes[6] > 1 {
        if !more(&mut bytes, 2)? {
            return Err(truncated());
        }
        length |= u32::from(u16::from_le_bytes([bytes[10], bytes[11]])) << 16;
    }
    if length > LONGEST_HEADER {
        return Err(malformed("it is too long"));
    }
    let text = bytes.len();
    if !more(&mut bytes, length)? {
        return Err(truncated());
    }
    match is_plain(&bytes[text..]) {
        true => Ok(bytes),
        false => Err(malformed("it is not one that NumPy writes for a plain array")),
    }
}

/// Whether `text` is safe to parse: the alphabet, depth and digits of a plain array's header.
fn is_plain(text: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut digits = 0;
    text.iter().all(|byte| {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b'0'..=b'9' => digits += 1,
            _ => {}
        }
        depth <= DEEPEST_HEADER
            && digits <= MOST_DIGITS
            && (byte.is_ascii_alphanumeric() || b"{}()[],:'\"_<>|=. \t\n".contains(byte))
    }) && !text.windows(2).any(|pair| pair.eq_ignore_ascii_case(b"0x"))
}

fn malformed(why: &str) -> Problem {
    Problem::Malformed(format!("the .npy header cannot be read: {why}"))
}

/// What goes wrong while values are read: nearly always that they end.
pub(super) fn value_error(error: std::io::Error) -> Problem {
    match error.kind() {
        ErrorKind::UnexpectedEof => {
            Problem::Truncated { expected: "more values".into(), found: "the end of the file".into() }
        }
        _ => error.into(),
    }
}

#[cfg(test)]
pub(super) mod tests;
