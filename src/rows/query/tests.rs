use super::*;
use crate::host::{Matrix, flat_model};

fn model(cols: usize) -> crate::format::ModelBuf {
    let rows = Matrix::new((0..cols * 3).map(|i| (i as f32 * 0.37).sin()).collect(), cols).expect("whole rows");
    flat_model(&rows, &[0.0; 3]).expect("a valid model")
}

#[test]
fn a_query_keeps_fourteen_bits() {
    let file = model(7);
    let query = [0.1_f32, -5.0, 3.3, 0.0, 1e-9, 2.5, -4.999];
    let quantised = QueryBuffer::<8>::new(&file.model(), &query).expect("a valid query");
    for (column, &value) in query.iter().enumerate() {
        assert!((quantised.value(column) - value).abs() <= 5.0 / 16384.0, "{column}");
    }
    assert_eq!(quantised.value(7), 0.0);
}

#[test]
fn int8_queries_are_the_same_as_their_float_values() {
    let file = model(4);
    let bytes = [127i8, -128, 3, 0];
    let floats = bytes.map(|b| f32::from(b) * 0.04);
    let a = QueryBuffer::<4>::from_i8(&file.model(), &bytes, 0.04).expect("valid");
    let b = QueryBuffer::<4>::new(&file.model(), &floats).expect("valid");
    assert_eq!(a.values, b.values);
}

#[test]
fn bad_queries_are_refused() {
    let file = model(4);
    let model = file.model();
    let refused = |query: &[f32]| QueryBuffer::<4>::new(&model, query).expect_err("refused");
    assert_eq!(refused(&[1.0; 3]), Error::QueryLength);
    assert_eq!(refused(&[]), Error::QueryLength);
    assert_eq!(refused(&[1.0; 5]), Error::QueryLength);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(refused(&[0.0, bad, 0.0, 0.0]), Error::QueryNotFinite);
    }
    assert_eq!(refused(&[1e30; 4]), Error::QueryTooLarge);
    assert_eq!(refused(&[f32::MAX; 4]), Error::QueryTooLarge);
    assert_eq!(QueryBuffer::<3>::new(&model, &[1.0; 4]).expect_err("too small"), Error::Capacity(4));
    assert_eq!(QueryBuffer::<4>::from_i8(&model, &[1; 4], f32::NAN).expect_err("NaN"), Error::QueryNotFinite);
}

#[test]
fn tiny_and_zero_queries_are_fine() {
    let file = model(4);
    for value in [0.0, 1e-38, 1e-45, -1e-20] {
        let query = QueryBuffer::<4>::new(&file.model(), &[value; 4]).expect("valid");
        assert!(query.norm() <= 1e-19);
    }
}
