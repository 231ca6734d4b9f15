//! Reads `.safetensors` files: eight bytes of header length, a JSON header, then the tensors' bytes, little-endian and
//! in C order.
//!
//! The `safetensors` crate parses the header and checks that the tensors fit it; the values are
//! streamed, since that crate's own reader wants the whole file in memory.

use std::io::{Read, Seek};

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::ReadOptions;
use super::error::Problem;
use super::stream::Layout;
use super::stream::{Element, Encoding};
use super::stream::{Source, not_a};
use crate::host::Matrix;

/// The format's own limit.
const LONGEST_HEADER: u64 = 100_000_000;

/// One tensor, at its first value.
pub(super) struct Tensor<R> {
    pub info: TensorInfo,
    pub reader: R,
    pub len: u64,
}

impl<R: Read + Seek> Tensor<R> {
    /// Opens the tensor called `name`, or the only one whose shape `fits`. `expected` describes these shapes in errors.
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
        // At most the length of the file, which was checked above.
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

/// Reads the header. Also returns the number of bytes that it takes with its length.
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

/// Finds the only tensor whose shape fits, and returns its name.
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
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;
    use safetensors::tensor::TensorView;

    /// Writes a file of tensors, each given by name, type, shape and bytes.
    fn file(tensors: &[(&str, Dtype, &[usize], &[u8])]) -> Vec<u8> {
        let views = tensors
            .iter()
            .map(|&(name, dtype, shape, data)| (name, TensorView::new(dtype, shape.to_vec(), data).unwrap()));
        safetensors::serialize(views, None).unwrap()
    }

    fn read(bytes: &[u8], options: ReadOptions<'_>) -> Result<Matrix, String> {
        read_matrix(Source::of(bytes), options).map_err(|problem| problem.to_string())
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn every_float_type_is_read() {
        let values = [0.5f32, -2.0, 1.0, 0.0, 3.0, -0.25];
        let types = [
            (Dtype::F32, floats(&values)),
            (Dtype::F64, values.iter().flat_map(|&v| f64::from(v).to_le_bytes()).collect()),
            (Dtype::F16, values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect()),
            (Dtype::BF16, values.iter().flat_map(|&v| bf16::from_f32(v).to_le_bytes()).collect()),
        ];
        for (dtype, bytes) in types {
            let bytes = file(&[("w", dtype, &[2, 3], &bytes)]);
            let matrix = read(&bytes, ReadOptions::default()).unwrap();
            assert_eq!((matrix.rows(), matrix.data()), (2, &values[..]), "{dtype}");
        }
    }

    #[test]
    fn the_only_matrix_needs_no_name() {
        let (matrix, bias) = (floats(&[1.0, 2.0]), floats(&[3.0]));
        let bytes = file(&[("bias", Dtype::F32, &[1], &bias), ("weight", Dtype::F32, &[2, 1], &matrix)]);
        assert_eq!(read(&bytes, ReadOptions::default()).unwrap().data(), [1.0, 2.0]);
    }

    #[test]
    fn one_of_several_is_read_by_name() {
        let data: Vec<_> = (0..3).map(|i| floats(&[i as f32])).collect();
        let one: &[usize] = &[1, 1];
        let bytes = file(&[
            ("a", Dtype::F32, one, &data[0]),
            ("b", Dtype::F32, one, &data[1]),
            ("c", Dtype::F32, one, &data[2]),
        ]);
        assert_eq!(
            read(&bytes, ReadOptions::default()).unwrap_err(),
            "has 3 two-dimensional tensors (a, b, c); name one"
        );
        let named = |name| read(&bytes, ReadOptions { tensor: Some(name), ..Default::default() });
        assert_eq!(named("c").unwrap().data(), [2.0]);
        assert_eq!(named("d").unwrap_err(), "has no tensor \"d\" (it has a, b, c)");
    }

    #[test]
    fn other_shapes_and_types_are_refused() {
        let bytes = file(&[("b", Dtype::F32, &[2], &floats(&[1.0, 2.0]))]);
        assert_eq!(read(&bytes, ReadOptions::default()).unwrap_err(), "has no two-dimensional tensor (it has b)");
        let named = ReadOptions { tensor: Some("b"), ..Default::default() };
        assert_eq!(read(&bytes, named).unwrap_err(), "has shape 2, expected two dimensions");
        let bytes = file(&[("w", Dtype::I64, &[1, 1], &[0; 8])]);
        assert_eq!(read(&bytes, ReadOptions::default()).unwrap_err(), "holds I64, expected F16, BF16, F32 or F64");
        let bytes = file(&[("w", Dtype::F32, &[0, 4], &[])]);
        assert_eq!(read(&bytes, ReadOptions::default()).unwrap_err(), "is empty");
        assert_eq!(read(&file(&[]), ReadOptions::default()).unwrap_err(), "is empty");
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = file(&[("w", Dtype::F32, &[2, 2], &floats(&[1.0; 4]))]);
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len], ReadOptions::default()).is_err(), "{len} bytes");
        }
        let error = read(&bytes[..bytes.len() - 1], ReadOptions::default()).unwrap_err();
        assert_eq!(error, "ends early: expected 16 bytes of tensors, found 15 bytes");
        assert_eq!(
            read(b"nonsense and more", ReadOptions::default()).unwrap_err(),
            "not a .safetensors file (wrong magic)"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read(&bytes, ReadOptions::default());
        }

        #[test]
        fn an_arbitrary_header_never_panics(
            rows: usize, cols: usize, start: usize, end: usize, bytes: Vec<u8>,
        ) {
            let header = format!(
                r#"{{"w":{{"dtype":"F32","shape":[{rows},{cols}],"data_offsets":[{start},{end}]}}}}"#
            );
            let length = (header.len() as u64).to_le_bytes();
            let _ = read(&[&length, header.as_bytes(), &bytes].concat(), ReadOptions::default());
        }
    }
}
