//! `.safetensors` files: eight bytes of header length, a JSON header, then the tensors' bytes,
//! little-endian and in C order.
//!
//! The `safetensors` crate parses the header and checks that the tensors fit it; the values are
//! streamed, since that crate's own reader wants the whole file in memory.

use std::io::{Read, Seek};

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::ReadOptions;
use super::element::{Element, Encoding};
use super::error::Problem;
use super::layout::Layout;
use super::source::{Source, not_a};
use crate::host::Matrix;

/// What the format itself allows.
const LONGEST_HEADER: u64 = 100_000_000;

/// One tensor, at its first value.
pub(super) struct Tensor<R> {
    pub info: TensorInfo,
    pub reader: R,
    pub len: u64,
}

impl<R: Read + Seek> Tensor<R> {
    /// Opens the tensor called `name`, or the only one whose shape `fits`: `expected` says which do.
    pub fn open(
        source: Source<R>,
        name: Option<&str>,
        expected: &'static str,
        fits: impl Fn(&[usize]) -> bool,
    ) -> Result<Self, Problem> {
        let Source { mut reader, len } = source;
        let (metadata, header) = read_metadata(&mut reader, len)?;
        let all = metadata.offset_keys();
        let name = match name {
            Some(name) => name.to_owned(),
            None => choose(&metadata, &all, expected, fits)?,
        };
        let Some(info) = metadata.info(&name) else {
            return Err(Problem::Missing { tensor: name, names: all });
        };
        let start = info.data_offsets.0 as u64;
        // Below the length of the file by now.
        reader.seek_relative(start.cast_signed())?;
        Ok(Self { info: info.clone(), reader, len: len.saturating_sub(header).saturating_sub(start) })
    }

    pub fn shape(&self) -> Vec<u64> {
        self.info.shape.iter().map(|&n| n as u64).collect()
    }

    pub fn encoding(&self) -> Result<Encoding, Problem> {
        let element = match self.info.dtype {
            Dtype::F16 => Element::F16,
            Dtype::BF16 => Element::Bf16,
            Dtype::F32 => Element::F32,
            Dtype::F64 => Element::F64,
            other => {
                return Err(Problem::Type { found: other.to_string(), expected: "F16, BF16, F32 or F64" });
            }
        };
        Ok(Encoding { element, big_endian: false })
    }
}

/// Reads a two-dimensional tensor.
pub(super) fn read_matrix<R: Read + Seek>(source: Source<R>, options: ReadOptions<'_>) -> Result<Matrix, Problem> {
    let tensor = Tensor::open(source, options.tensor, "two-dimensional", |shape| shape.len() == 2)?;
    let encoding = tensor.encoding()?;
    Layout::new(&tensor.shape(), false, encoding, tensor.len)?.read(tensor.reader, encoding, options)
}

/// The header, and how many bytes it and its length take.
fn read_metadata(mut reader: impl Read, len: u64) -> Result<(Metadata, u64), Problem> {
    if len == 0 {
        return Err(Problem::Empty);
    }
    let mut start = [0; 8];
    let magic = |start: &[u8]| not_a(".safetensors", start);
    reader.read_exact(&mut start).map_err(|_| magic(&[]))?;
    let length = u64::from_le_bytes(start);
    if length > LONGEST_HEADER {
        return Err(magic(&start));
    }
    let mut header = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut header)?;
    if header.first() != Some(&b'{') {
        return Err(magic(&start));
    }
    if header.len() as u64 != length {
        return Err(Problem::Truncated {
            expected: format!("a header of {length} bytes"),
            found: format!("{} bytes", header.len()),
        });
    }
    let metadata: Metadata = serde_json::from_slice(&header)
        .map_err(|error| Problem::Malformed(format!("the .safetensors header cannot be read: {error}")))?;
    let found = len.saturating_sub(8 + length);
    match metadata.data_len() as u64 {
        expected if expected > found => Err(Problem::Truncated {
            expected: format!("{expected} bytes of tensors"),
            found: format!("{found} bytes"),
        }),
        _ => Ok((metadata, 8 + length)),
    }
}

/// The only tensor of a fitting shape, by name.
fn choose(
    metadata: &Metadata,
    all: &[String],
    expected: &'static str,
    fits: impl Fn(&[usize]) -> bool,
) -> Result<String, Problem> {
    let mut names = all.to_vec();
    names.retain(|name| metadata.info(name).is_some_and(|info| fits(&info.shape)));
    match &names[..] {
        [] if all.is_empty() => Err(Problem::Empty),
        [] => Err(Problem::Choice { names: all.to_vec(), fitting: 0, expected }),
        [only] => Ok(only.clone()),
        _ => Err(Problem::Choice { fitting: names.len(), names, expected }),
    }
}

#[cfg(test)]
mod tests;
