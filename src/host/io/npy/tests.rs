//! What is expected of `.npy` files.

use half::f16;
use npyz::{DType, Order, Serialize, WriteOptions, WriterBuilder};
use proptest::prelude::*;

use super::*;

/// A `.npy` file of `values` in the order they stand.
pub(in super::super) fn file<T: Serialize + Copy>(dtype: &str, shape: &[u64], order: Order, values: &[T]) -> Vec<u8> {
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

/// A `.npy` file with this text as its header.
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
    /// Order and transposition are how a matrix is stored, not what it is.
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
