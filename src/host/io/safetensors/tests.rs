//! What is expected of `.safetensors` files.

use super::*;
use half::{bf16, f16};
use proptest::prelude::*;
use safetensors::tensor::TensorView;

/// A file of tensors, each given by name, type, shape and bytes.
fn file(tensors: &[(&str, Dtype, &[usize], &[u8])]) -> Vec<u8> {
    let views =
        tensors.iter().map(|&(name, dtype, shape, data)| (name, TensorView::new(dtype, shape.to_vec(), data).unwrap()));
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
    let bytes =
        file(&[("a", Dtype::F32, one, &data[0]), ("b", Dtype::F32, one, &data[1]), ("c", Dtype::F32, one, &data[2])]);
    assert_eq!(read(&bytes, ReadOptions::default()).unwrap_err(), "has 3 two-dimensional tensors (a, b, c); name one");
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
