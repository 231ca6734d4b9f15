use super::*;
use crate::host::{Matrix, flat_model};

fn model(cols: usize) -> crate::model::ModelBuf {
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
fn int8_queries_are_those_of_their_float_values() {
    let file = model(4);
    let bytes = [127i8, -128, 3, 0];
    let floats = bytes.map(|b| f32::from(b) * 0.04);
    let a = QueryBuffer::<4>::from_i8(&file.model(), &bytes, 0.04, 0).expect("valid");
    let b = QueryBuffer::<4>::new(&file.model(), &floats).expect("valid");
    // They are scaled in integers: one in many comes out on the other side of a half.
    assert_eq!((a.exponent, a.shift, a.len), (b.exponent, b.shift, b.len));
    for (a, b) in a.columns().zip(b.columns()) {
        assert!((a - b).abs() <= 256, "{a} {b}");
    }
}

/// Compares int8 queries with uint8 queries whose numbers are 128 higher.
#[test]
fn uint8_queries_are_int8_ones_to_the_bit() {
    let file = model(4);
    for (bytes, zero_point) in [([127i8, -128, 3, 0], -5i8), ([-128; 4], -128), ([127; 4], -128), ([1, 2, 3, -4], 127)]
    {
        let up = |byte: i8| byte.cast_unsigned() ^ 0x80;
        for scale in [0.04, -0.3, 1e-30, 0.0] {
            let a = QueryBuffer::<4>::from_i8(&file.model(), &bytes, scale, zero_point).expect("valid");
            let b = QueryBuffer::<4>::from_u8(&file.model(), &bytes.map(up), scale, up(zero_point)).expect("valid");
            assert_eq!((a.exponent, a.shift, a.norm, a.values), (b.exponent, b.shift, b.norm, b.values));
        }
    }
    let refused = |scale| QueryBuffer::<4>::from_u8(&file.model(), &[1; 4], scale, 0).expect_err("refused");
    assert_eq!(refused(f32::NAN), Error::QueryNotFinite);
    assert_eq!(refused(1e30), Error::QueryTooLarge);
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
    assert_eq!(QueryBuffer::<3>::new(&model, &[1.0; 4]).expect_err("too small"), Error::QueryColumns(4));
    assert_eq!(QueryBuffer::<4>::from_i8(&model, &[1; 4], f32::NAN, 0).expect_err("NaN"), Error::QueryNotFinite);
}

#[test]
fn tiny_and_zero_queries_are_fine() {
    let file = model(4);
    for value in [0.0, 1e-38, 1e-45, -1e-20] {
        let query = QueryBuffer::<4>::new(&file.model(), &[value; 4]).expect("valid");
        assert!(query.norm() <= 1e-19);
    }
}

/// Makes a model of int8 rows whose header states the true largest row, on which the tests depend.
fn model_of(rows: &[Vec<i8>], scale_exponent: i32) -> crate::model::ModelBuf {
    use crate::model::{FileWriter, Section, Sizes};
    let dim = rows[0].len();
    let squares = |row: &Vec<i8>| row.iter().map(|&w| u32::from(w.unsigned_abs()).pow(2)).sum::<u32>();
    let largest_row = rows.iter().map(squares).max().expect("rows");
    let max_norm = (f64::from(largest_row).sqrt() * f64::from(scale_exponent).exp2()) as f32;
    let mut file = FileWriter::new(Sizes {
        classes: rows.len(),
        dim,
        scale_exponent,
        bias_shift: 0,
        max_norm,
        largest_row,
        bits: Bits::Eight,
    });
    let pairs = rows.iter().flat_map(|row| {
        let mut row = row.clone();
        row.resize(dim.next_multiple_of(4), 0);
        row.as_chunks().0.iter().map(|&[even, odd]| kernels::pair(even, odd)).collect::<Vec<i16>>()
    });
    file.required(Section::Rows, &pairs.collect::<Vec<_>>());
    file.required(Section::RowScales, &vec![1u16; rows.len()]);
    file.required(Section::Biases, &vec![0i16; rows.len()]);
    file.into_model().expect("a valid model")
}

/// Makes a model of 4-bit rows, given the numbers of each row and the scales of its groups.
fn model_of_four_bits(rows: &[(Vec<i8>, Vec<i8>)], scale_exponent: i32) -> crate::model::ModelBuf {
    use crate::kernels::four_bit::{self, group_of};
    use crate::model::{FileWriter, Section, Sizes};
    let (dim, stride) = (rows[0].0.len(), rows[0].0.len().next_multiple_of(4));
    let squares = |(numbers, scales): &(Vec<i8>, Vec<i8>)| {
        let weight = |(column, &n): (usize, &i8)| n * scales[group_of(column, stride)];
        numbers.iter().enumerate().map(weight).map(|w| u32::from(w.unsigned_abs()).pow(2)).sum::<u32>()
    };
    let largest = rows.iter().map(squares).max().expect("rows");
    let max_norm = (f64::from(largest).sqrt() * f64::from(scale_exponent).exp2()) as f32;
    let largest_row = largest.max(four_bit::least_largest_row(stride));
    let sizes =
        Sizes { classes: rows.len(), dim, scale_exponent, bias_shift: 0, max_norm, largest_row, bits: Bits::Four };
    let stored = rows.iter().flat_map(|(numbers, scales)| {
        let mut numbers = numbers.clone();
        numbers.resize(stride, 0);
        let mut row = four_bit::pack(&numbers, scales);
        row[four_bit::SCALE] = 1;
        row
    });
    let mut file = FileWriter::new(sizes);
    file.required(Section::Rows, &stored.collect::<Vec<i16>>());
    file.required(Section::Biases, &vec![0i16; rows.len()]);
    file.into_model().expect("a valid model")
}

/// Asserts that no dot product overflows, that each is that of the columns, and that columns are near the query.
fn dots_are_exact(rows: &[Vec<i8>], query: &[f32]) {
    are_exact(&model_of(rows, -20).model(), query);
}

fn are_exact(model: &crate::Model<'_>, query: &[f32]) {
    let quantised = QueryBuffer::<512>::new(model, query).expect("a valid query");
    let columns: Vec<i32> = quantised.columns().collect();
    for i in 0..model.classes() {
        let row = model.rows().weights(i);
        let truth: i64 = row.zip(&columns).map(|(w, &c)| i64::from(w) * i64::from(c)).sum();
        let dot = model.bits().dot(model.rows().stored(i), quantised.values());
        assert_eq!(i64::from(dot), truth, "row {i} of {dim} columns, {query:?}", dim = query.len());
    }
    // Half a step, and half of one of the fifteen bits before: those may be no finer.
    let step = power_of_two(8 - quantised.exponent()) * core::f32::consts::LN_2;
    for (column, &value) in query.iter().enumerate() {
        let error = (quantised.value(column) - value).abs();
        assert!(error <= step * 1.01, "{column}: {error}, {step}");
    }
    let norm = columns.iter().map(|&c| f64::from(c).powi(2)).sum::<f64>().sqrt();
    let norm = norm * f64::from(-quantised.exponent()).exp2() * core::f64::consts::LN_2;
    assert!((f64::from(quantised.norm()) - norm).abs() <= norm * 1e-6);
}

#[test]
fn dots_of_extreme_rows_and_queries_are_exact() {
    for dim in [1, 2, 3, 4, 5, 8, 31, 63, 64, 100, 301, 512] {
        let signs = |seed: usize| (0..dim).map(move |i| if (i * i + i / 3 + seed) % 3 == 1 { -1i8 } else { 1 });
        for size in [1e-3, 1.0, 10.0] {
            for seed in 0..3 {
                // Rows along the query: Cauchy and Schwarz is an equation.
                let along: Vec<i8> = signs(seed).map(|sign| 127 * sign).collect();
                let query: Vec<f32> = signs(seed).map(|sign| size * f32::from(sign)).collect();
                let against: Vec<i8> = along.iter().map(|w| -w).collect();
                dots_are_exact(&[along, against, vec![-127; dim], vec![127; dim]], &query);
            }
            let mut lone = vec![0.0; dim];
            lone[dim / 2] = -size;
            dots_are_exact(&[vec![127; dim], vec![-127; dim]], &lone);
        }
        dots_are_exact(&[vec![0; dim]], &vec![1.0; dim]);
        dots_are_exact(&[vec![127; dim]], &vec![0.0; dim]);
    }
}

#[test]
fn dots_of_extreme_4_bit_rows_are_exact() {
    for dim in [1_usize, 2, 3, 4, 5, 8, 15, 16, 17, 31, 63, 64, 65, 100, 301, 512] {
        let groups = dim.next_multiple_of(4).div_ceil(16);
        for scale in [-8, -1, 0, 1, 7] {
            let rows = [-8, 7].map(|n| (vec![n; dim], vec![scale; groups]));
            let model = model_of_four_bits(&rows, -20);
            for size in [1e-3, 1.0, 10.0] {
                are_exact(&model.model(), &vec![size; dim]);
                // All of the query in one group.
                are_exact(
                    &model.model(),
                    &(0..dim).map(|i| if i + 16 < dim { 0.0 } else { -size }).collect::<Vec<_>>(),
                );
            }
        }
    }
}

proptest::proptest! {
    #[test]
    fn dots_of_random_4_bit_rows_are_exact(
        dim in 1usize..200,
        count in 1usize..4,
        size in 0.001f32..20.0,
        seed in proptest::num::u64::ANY,
    ) {
        let mut state = seed | 1;
        let mut next = || { state = state.wrapping_mul(6364136223846793005).wrapping_add(1); (state >> 60) as i8 - 8 };
        let mut numbers = |n: usize| (0..n).map(|_| next()).collect::<Vec<i8>>();
        let rows: Vec<_> = (0..count).map(|_| (numbers(dim), numbers(dim.next_multiple_of(4).div_ceil(16)))).collect();
        let query: Vec<f32> = numbers(dim).iter().map(|&x| size * f32::from(x) / 8.0).collect();
        are_exact(&model_of_four_bits(&rows, -20).model(), &query);
    }
    #[test]
    fn dots_of_random_rows_and_queries_are_exact(
        dim in 1usize..200,
        count in 1usize..4,
        spread in 0.001f32..20.0,
        small in 1i32..128,
        seed in proptest::num::u64::ANY,
    ) {
        let mut state = seed | 1;
        let mut next = || { state = state.wrapping_mul(6364136223846793005).wrapping_add(1); (state >> 33) as i32 };
        let mut weight = || (next() % (small + 1)) as i8 * if next() % 2 == 0 { 1 } else { -1 };
        let rows: Vec<Vec<i8>> = (0..count).map(|_| (0..dim).map(|_| weight()).collect()).collect();
        let query: Vec<f32> = rows[0].iter().map(|&w| spread * (f32::from(w) / 127.0 + (next() % 1000) as f32 / 4000.0)).collect();
        dots_are_exact(&rows, &query);
    }
}
