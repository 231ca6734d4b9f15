//! Reads NumPy's `.npy` files: the header, and the values as a matrix, a list of floats, labels or a tensor.
//!
//! The header is a Python literal, which `npyz` parses. Files come from anywhere, so that parser gets only what NumPy
//! itself writes for a plain array: a deeply nested literal, or one that claims more than 2⁶⁴ values, would make it
//! panic.

use std::io::{ErrorKind, Read};
use std::path::Path;

use npyz::{DType, Deserialize, Endianness, NpyFile, NpyHeader, Order, TypeChar, TypeStr};

use super::ReadOptions;
use super::error::{Position, Problem, ReadError};
use super::stream::{Accept, Element, Encoding, Stop, read_floats};
use super::stream::{Layout, expect_bytes};
use super::stream::{Source, extension, not_a, with_file};
use crate::host::Matrix;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy's own limit on the length of a header from an untrusted file.
const LONGEST_HEADER: u32 = 10_000;
/// `{'shape': (…)}` nests two deep, a structured type four.
const DEEPEST_HEADER: usize = 4;
/// No product of numbers with this many digits in all exceeds a u64.
const MOST_DIGITS: usize = 19;

/// An opened `.npy` file, at its first value.
pub(super) struct Npy<R> {
    pub header: NpyHeader,
    pub reader: R,
    /// The bytes that are left for values, by the length of the file.
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

    /// Returns the type of a plain array.
    pub fn scalar(&self) -> Option<TypeStr> {
        match self.header.dtype() {
            DType::Plain(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns the encoding of the array's floats.
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

    /// Returns NumPy's name for the type.
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

/// Reads the header with everything before its text, and checks that it is safe to parse.
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

/// Tells whether `text` is safe to parse: the alphabet, depth and digits of a plain array's header.
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

/// Converts an error from reading values, which nearly always means that the file ends too early.
pub(super) fn value_error(error: std::io::Error) -> Problem {
    match error.kind() {
        ErrorKind::UnexpectedEof => {
            Problem::Truncated { expected: "more values".into(), found: "the end of the file".into() }
        }
        _ => error.into(),
    }
}

// Arrays of any number of dimensions, as networks take them.

/// An array of any number of dimensions, in C order.
///
/// ```
/// let tensor = zhat::host::input::read_tensor("models/import/activations.npy")?;
/// assert!(!tensor.shape.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The lengths of its axes.
    pub shape: Vec<usize>,
    /// The values, as many as the product of the lengths.
    pub values: TensorValues,
}

/// The values of a [`Tensor`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TensorValues {
    /// From f16, f32 or f64, all of them finite.
    Float(Vec<f32>),
    /// From integers of any width, or truth values.
    Int(Vec<i32>),
}

/// Reads a `.npy` file of floats, integers or truth values, with any number of dimensions.
///
/// ```
/// let tensor = zhat::host::input::read_tensor("models/import/activations.npy")?;
/// println!("{:?}", tensor.shape);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A [`ReadError`] if the file cannot be read, is not a `.npy` file, or holds another type, NaN, an infinity, or an
/// integer that needs more than 32 bits.
pub fn read_tensor(path: impl AsRef<Path>) -> Result<Tensor, ReadError> {
    let path = path.as_ref();
    with_file(path, |source| match extension(path).as_str() {
        "npy" => read_tensor_from(Npy::open(source)?),
        _ => Err(Problem::Extension(".npy")),
    })
}

pub(super) fn read_tensor_from<R: Read>(npy: Npy<R>) -> Result<Tensor, Problem> {
    let shape = npy.header.shape().to_vec();
    if npy.header.order() == Order::Fortran && shape.len() > 1 {
        let why = "is in Fortran order: save it with np.save(name, np.ascontiguousarray(x))";
        return Err(Problem::Malformed(why.into()));
    }
    let values = match npy.scalar().map(|s| (s.type_char(), s.size_field())) {
        Some((TypeChar::Float, _)) => floats(npy)?,
        Some((TypeChar::Int, 1)) => ints::<i8, R>(npy, i64::from)?,
        Some((TypeChar::Int, 2)) => ints::<i16, R>(npy, i64::from)?,
        Some((TypeChar::Int, 4)) => ints::<i32, R>(npy, i64::from)?,
        Some((TypeChar::Int, 8)) => ints::<i64, R>(npy, |int| int)?,
        Some((TypeChar::Uint, 1)) => ints::<u8, R>(npy, i64::from)?,
        Some((TypeChar::Uint, 2)) => ints::<u16, R>(npy, i64::from)?,
        Some((TypeChar::Uint, 4)) => ints::<u32, R>(npy, i64::from)?,
        Some((TypeChar::Bool, _)) => ints::<bool, R>(npy, i64::from)?,
        _ => return Err(Problem::Type { found: npy.type_name(), expected: "floats, integers or truth values" }),
    };
    let shape = shape.iter().map(|&length| usize::try_from(length).unwrap_or(usize::MAX)).collect();
    Ok(Tensor { shape, values })
}

fn count(shape: &[u64], size: usize, len: u64) -> Result<usize, Problem> {
    expect_bytes(shape, size, len)?;
    // No more than the length of the file, which was checked above.
    Ok(shape.iter().map(|&length| length as usize).product())
}

fn floats<R: Read>(npy: Npy<R>) -> Result<TensorValues, Problem> {
    let encoding = npy.encoding()?;
    let count = count(npy.header.shape(), encoding.element.size(), npy.len)?;
    let mut values = Vec::with_capacity(count);
    read_floats(npy.reader, encoding, count, Accept::Finite, |block| values.extend_from_slice(block)).map_err(
        |stop| match stop {
            Stop::Problem(problem) => problem,
            Stop::Refused(refused) => {
                Problem::Value { value: refused.value, at: Position::Index(refused.index as u64) }
            }
        },
    )?;
    Ok(TensorValues::Float(values))
}

fn ints<T: Deserialize, R: Read>(npy: Npy<R>, widen: impl Fn(T) -> i64) -> Result<TensorValues, Problem> {
    let count = count(npy.header.shape(), size_of::<T>(), npy.len)?;
    let values = NpyFile::with_header(npy.header, npy.reader)
        .data::<T>()
        .map_err(|error| Problem::Malformed(error.to_string()))?;
    let narrow = |int: i64| {
        i32::try_from(int).map_err(|_| Problem::Malformed(format!("holds {int}, which is more than 32 bits")))
    };
    let values: Result<_, Problem> =
        values.take(count).map(|value| narrow(widen(value.map_err(value_error)?))).collect();
    Ok(TensorValues::Int(values?))
}

#[cfg(test)]
pub(super) mod tests {
    use half::f16;
    use npyz::{DType, Order, Serialize, WriteOptions, WriterBuilder};
    use proptest::prelude::*;

    use super::*;

    /// Writes a `.npy` file of `values` in the order they stand.
    pub(in super::super) fn file<T: Serialize + Copy>(
        dtype: &str,
        shape: &[u64],
        order: Order,
        values: &[T],
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = WriteOptions::new()
            .dtype(DType::Plain(dtype.parse().unwrap()))
            .shape(shape)
            .order(order)
            .writer(&mut bytes)
            .begin_nd()
            .unwrap();
        writer.extend(values.iter().copied()).unwrap();
        writer.finish().unwrap();
        bytes
    }

    /// Writes a `.npy` file with this text as its header.
    fn with_header(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read(bytes: &[u8], options: ReadOptions<'_>) -> Result<Matrix, String> {
        Npy::open(Source::of(bytes)).and_then(|npy| npy.read_matrix(options)).map_err(|problem| problem.to_string())
    }

    fn read_all(bytes: &[u8]) -> Result<Matrix, String> {
        read(bytes, ReadOptions::default())
    }

    #[test]
    fn every_float_type_and_endianness_holds_the_same() {
        let values = [0.5, -2.0, 1.0, 0.0, 3.0, -0.25];
        let halves = values.map(f16::from_f32);
        let doubles = values.map(f64::from);
        let shape = [2, 3];
        let files = [
            file("<f2", &shape, Order::C, &halves),
            file(">f2", &shape, Order::C, &halves),
            file("<f4", &shape, Order::C, &values),
            file(">f4", &shape, Order::C, &values),
            file("<f8", &shape, Order::C, &doubles),
            file(">f8", &shape, Order::C, &doubles),
        ];
        for bytes in files {
            let matrix = read_all(&bytes).unwrap();
            assert_eq!((matrix.rows(), matrix.cols(), matrix.data()), (2, 3, &values[..]));
        }
    }

    #[test]
    fn numpy_headers_of_every_version_are_read() {
        // As NumPy writes them, padded and with a trailing comma.
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }          \n";
        for version in 1..=3 {
            let bytes = with_header(version, text, &1.5f32.to_le_bytes());
            assert_eq!(read_all(&bytes).unwrap().data(), [1.5]);
        }
    }

    #[test]
    fn other_types_are_refused_by_name() {
        let expected = "expected f16, f32 or f64";
        let integers = file("<i8", &[1, 1], Order::C, &[1i64]);
        assert_eq!(read_all(&integers).unwrap_err(), format!("holds int64, {expected}"));
        let named = |descr: &str| {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1, 1)}}\n");
            read_all(&with_header(1, &text, &[0; 64])).unwrap_err()
        };
        assert_eq!(named("'|b1'"), format!("holds bool, {expected}"));
        assert_eq!(named("'<u2'"), format!("holds uint16, {expected}"));
        assert_eq!(named("'<c16'"), format!("holds complex128, {expected}"));
        assert_eq!(named("'<f16'"), format!("holds float128, {expected}"));
        assert_eq!(named("'|O'"), format!("holds Python objects, {expected}"));
        assert_eq!(named("'<U7'"), format!("holds text, {expected}"));
        assert_eq!(named("[('x', '<f4')]"), format!("holds a structured type, {expected}"));
    }

    #[test]
    fn other_shapes_are_refused() {
        let shape = |shape: &[u64]| read_all(&file("<f4", shape, Order::C, &[0f32; 6])).unwrap_err();
        assert_eq!(shape(&[6]), "has shape 6, expected two dimensions");
        assert_eq!(shape(&[1, 2, 3]), "has shape 1×2×3, expected two dimensions");
        let empty = |shape: &[u64]| read_all(&file::<f32>("<f4", shape, Order::C, &[])).unwrap_err();
        assert_eq!(empty(&[0, 64]), "is empty");
        assert_eq!(empty(&[64, 0]), "is empty");
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(read_all(b"").unwrap_err(), "is empty");
        assert_eq!(read_all(b"\x93NUM").unwrap_err(), "not a .npy file (wrong magic)");
        let error = read_all(b"PK\x03\x04 and so on").unwrap_err();
        assert_eq!(error, "not a .npy file, but a zip archive, as .npz files are: np.save writes one array as .npy");
        let error = read_all(&with_header(1, "{'descr': '<f4'}", &[])).unwrap_err();
        assert!(error.contains("fortran_order"), "{error}");
        let error = read_all(&with_header(9, "{'descr': '<f4'}", &[])).unwrap_err();
        assert!(error.contains("unsupported version"), "{error}");
    }

    #[test]
    fn values_that_no_f32_holds_are_refused_by_row_and_column() {
        let mut values = vec![0f32; 20 * 5];
        values[17 * 5 + 3] = f32::NAN;
        let bytes = file("<f4", &[20, 5], Order::C, &values);
        assert_eq!(read_all(&bytes).unwrap_err(), "NaN at row 17, column 3");
        let bytes = file("<f4", &[5, 20], Order::Fortran, &values);
        assert_eq!(read_all(&bytes).unwrap_err(), "NaN at row 3, column 17");
        let transpose = ReadOptions { transpose: true, ..Default::default() };
        assert_eq!(read(&bytes, transpose).unwrap_err(), "NaN at row 3, column 17");
        let bytes = file(">f8", &[1, 2], Order::C, &[0.0, -1e300]);
        assert_eq!(read_all(&bytes).unwrap_err(), "-1e300 at row 0, column 1 is too large for f32");
        let bytes = file("<f2", &[1, 1], Order::C, &[f16::INFINITY]);
        assert_eq!(read_all(&bytes).unwrap_err(), "inf at row 0, column 0");
    }

    #[test]
    fn a_bad_value_is_found_beyond_the_first_block() {
        let mut values = vec![0f32; 30_000];
        values[29_999] = f32::INFINITY;
        let bytes = file("<f4", &[300, 100], Order::C, &values);
        assert_eq!(read_all(&bytes).unwrap_err(), "inf at row 299, column 99");
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = file("<f4", &[2, 3], Order::C, &[1f32; 6]);
        for len in 0..bytes.len() {
            assert!(read_all(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
        }
        assert_eq!(
            read_all(&bytes[..bytes.len() - 1]).unwrap_err(),
            "ends early: expected 2×3 values of 4 bytes, found 23 bytes"
        );
        // Nor is the length that the system tells believed without the bytes.
        let lying = Source { reader: &bytes[..bytes.len() - 1], len: bytes.len() as u64 };
        let error = Npy::open(lying).and_then(|npy| npy.read_matrix(ReadOptions::default()));
        assert!(matches!(error, Err(Problem::Truncated { .. })));
    }

    #[test]
    fn a_claimed_shape_is_held_against_the_length_of_the_file() {
        let claim = |shape: &str| {
            let text = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': {shape}}}\n");
            read_all(&with_header(1, &text, &[0; 8])).unwrap_err()
        };
        assert!(claim("(100000000, 10000000)").starts_with("ends early: expected 100000000×10000000"));
        for shape in ["(99999999999, 99999999999)", "(0xffffffffffffffff, 0xffffffffffffffff)", "(1+1, 2)"] {
            assert!(claim(shape).starts_with("the .npy header cannot be read"), "{shape}");
        }
        let deep = "(".repeat(5000);
        assert!(claim(&deep).starts_with("the .npy header cannot be read"));
        let long = with_header(2, &" ".repeat(LONGEST_HEADER as usize + 1), &[]);
        assert!(read_all(&long).unwrap_err().contains("too long"));
        let mut claims_long = MAGIC.to_vec();
        claims_long.extend([2, 0, 0xff, 0xff, 0xff, 0xff]);
        assert!(read_all(&claims_long).unwrap_err().contains("too long"));
    }

    proptest! {
        /// Reads the same matrix in every order: order and transposition are how a matrix is stored, not its content.
        #[test]
        fn order_and_transposition_cancel(
            rows in 1usize..40, cols in 1usize..40, limit in prop::option::of(1usize..50), seed: u32,
        ) {
            let cell = |row: usize, col: usize| (seed % 1000) as f32 + (row * 64 + col) as f32;
            let by_rows: Vec<_> = (0..rows).flat_map(|r| (0..cols).map(move |c| cell(r, c))).collect();
            let by_cols: Vec<_> = (0..cols).flat_map(|c| (0..rows).map(move |r| cell(r, c))).collect();
            let taken = limit.map_or(rows, |limit| limit.min(rows));
            let expected = Matrix::new(by_rows[..taken * cols].to_vec(), cols);
            let (shape, swapped) = ([rows as u64, cols as u64], [cols as u64, rows as u64]);
            let files = [
                (file("<f4", &shape, Order::C, &by_rows), false),
                (file("<f4", &shape, Order::Fortran, &by_cols), false),
                (file("<f4", &swapped, Order::C, &by_cols), true),
                (file("<f4", &swapped, Order::Fortran, &by_rows), true),
            ];
            for (bytes, transpose) in files {
                let options = ReadOptions { transpose, limit, tensor: None };
                prop_assert_eq!(read(&bytes, options).ok(), expected.clone());
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read_all(&bytes);
            let _ = read_all(&[&MAGIC[..], &bytes].concat());
        }

        #[test]
        fn an_arbitrary_header_never_panics(
            text in r#"\{'descr': '[<>|][fiuSbcV][0-9]{1,3}', 'fortran_order': (True|False), 'shape': [(\[][0-9, ]{0,30}[)\]]\}"#,
            data: Vec<u8>,
        ) {
            let _ = read_all(&with_header(1, &text, &data));
        }

        #[test]
        fn header_like_text_never_panics(text in r#"[{}()\[\],:'" 0-9a-zTF<|_.+\\-]{0,80}"#) {
            let _ = read_all(&with_header(1, &text, &[]));
        }

        #[test]
        fn a_changed_byte_never_panics(at in 0usize..96, byte: u8) {
            let mut bytes = file("<f4", &[2, 3], Order::C, &[1f32; 6]);
            bytes[at] = byte;
            let _ = read_all(&bytes);
        }
    }
}
