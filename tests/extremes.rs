//! Values at the ends of their ranges: every query and every file is refused or answered as float64 answers it.
#![cfg(feature = "alloc")]

use proptest::prelude::*;
use zhat::model::{Bits, FileWriter, ModelBuf, Section, Sizes};
use zhat::{Classifier, Error, Log2, Model, Query, QueryBuffer, exact};

/// A model of int8 rows with scales and biases as they are stored.
fn model(dim: usize, rows: &[Vec<i8>], scales: &[u16], biases: &[i16], scale_exponent: i32) -> Result<ModelBuf, Error> {
    file(dim, rows, scales, biases, scale_exponent)?.into_model()
}

fn file(
    dim: usize,
    rows: &[Vec<i8>],
    scales: &[u16],
    biases: &[i16],
    scale_exponent: i32,
) -> Result<FileWriter, Error> {
    let squares = |row: &Vec<i8>| row.iter().map(|&w| u32::from(w.unsigned_abs()).pow(2)).sum::<u32>();
    let unit = f64::from(scale_exponent).exp2();
    let norm = |(row, &scale): (&Vec<i8>, &u16)| f64::from(squares(row)).sqrt() * f64::from(scale) * unit;
    let max_norm = rows.iter().zip(scales).map(norm).fold(0.0, f64::max) as f32;
    let mut file = FileWriter::new(Sizes {
        classes: rows.len(),
        dim,
        scale_exponent,
        bias_shift: 10,
        max_norm,
        largest_row: rows.iter().map(squares).max().unwrap_or(0),
        bits: Bits::Eight,
    });
    let stored: Vec<i16> = rows
        .iter()
        .flat_map(|row| {
            let mut row = row.clone();
            row.resize(dim.next_multiple_of(4), 0);
            row.as_chunks::<2>().0.iter().map(|&[a, b]| zhat::internal::pair(a, b)).collect::<Vec<_>>()
        })
        .collect();
    file.required(Section::Rows, &stored);
    file.required(Section::RowScales, scales);
    file.required(Section::Biases, biases);
    Ok(file)
}

/// Adds a tree to a file of rows: one node at the top, and leaves of up to three rows below it, all of which are predicted to hold
/// what `node` says, a row with its scale and bias.
fn with_tree(mut file: FileWriter, classes: usize, dim: usize, node: (i8, u16, i16)) -> Result<ModelBuf, Error> {
    let firsts: Vec<usize> = (0..classes).step_by(3).collect();
    let nodes = 1 + firsts.len();
    let leaf = |&first: &usize| [first as u16, (classes - first).min(3) as u16, 0, 0];
    let spans: Vec<[u16; 4]> =
        [[0, classes as u16, 1, firsts.len() as u16]].into_iter().chain(firsts.iter().map(leaf)).collect();
    let mut row = vec![zhat::internal::pair(node.0, node.0); dim / 2];
    row.resize(dim.next_multiple_of(4) / 2, 0);
    let info = [1, 1.0_f32.to_bits(), 1.0_f32.to_bits(), (-10_i32).cast_unsigned(), (-10_i32).cast_unsigned(), 0, 0, 0];
    file.required(Section::TreeInfo, &info);
    file.required(Section::NodeRows, &row.repeat(nodes));
    file.required(Section::NodeScales, &vec![node.1; nodes]);
    file.required(Section::NodeBiases, &vec![node.2; nodes]);
    file.required(Section::NodeSpans, &spans);
    file.required(Section::NodeSpreads, &vec![[9_u16, 9, 9]; nodes]);
    file.required(Section::NodeGains, &vec![0_i16; nodes]);
    let cap = (nodes + classes) as u32;
    file.required(Section::Settings, &[cap, 0, 0, 0, 1.0_f32.to_bits(), 64, 0, 0]);
    file.into_model()
}

/// Scores in nats, in float64, of the rows as they are stored and the query as it was given.
fn scores(model: &Model<'_>, query: &[f64]) -> Vec<f64> {
    let unit = f64::from(model.scale_exponent()).exp2();
    let score = |row: usize| {
        let dot: f64 = model.rows().weights(row).zip(query).map(|(weight, q)| f64::from(weight) * q).sum();
        dot * f64::from(model.rows().scale(row)) * unit + f64::from(model.rows().bias(row).to_nats())
    };
    (0..model.classes()).map(score).collect()
}

fn log_sum(scores: &[f64]) -> f64 {
    let most = scores.iter().fold(f64::NEG_INFINITY, |most, &score| most.max(score));
    most + scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln()
}

/// How far a score may be off: the query's whole numbers are rounded by half a step of theirs in each column, and a step is what the
/// sums of 32 bits leave, or 15 bits of the largest column.
fn tolerance(model: &Model<'_>, query: &[f64]) -> f64 {
    let norm = query.iter().map(|q| q * q).sum::<f64>().sqrt();
    let columns = (query.len() as f64).sqrt();
    let of_sums = columns * f64::from(model.largest_row()).sqrt() / f64::from(1 << 22);
    let of_scores = norm * f64::from(model.max_norm());
    of_scores * (of_sums + columns / f64::from(1 << 14)) + 2e-3
}

/// Asks for everything; what is answered has to be right.
fn is_right(model: &Model<'_>, query: &Query, values: &[f64]) {
    let truth = scores(model, values);
    let allowed = tolerance(model, values);
    let answer = exact::<4>(model, query).expect("a query of the model");
    let log_z = log_sum(&truth);
    assert!(
        (f64::from(answer.log_z()) - log_z).abs() <= allowed + log_z.abs() * 1e-6,
        "{} {log_z} ±{allowed}",
        answer.log_z()
    );
    let best = truth.iter().fold(f64::NEG_INFINITY, |most, &score| most.max(score));
    for (place, ranked) in answer.top.iter().enumerate() {
        let score = truth[ranked.class as usize];
        assert!((f64::from(ranked.score.to_nats()) - score).abs() <= allowed + score.abs() * 1e-6);
        assert!(place > 0 || score >= best - 2.0 * allowed, "class {} has {score}, the best {best}", ranked.class);
        assert!((0.0..=1.0).contains(&ranked.p));
        assert!((f64::from(ranked.p).ln() - (score - log_z)).abs() <= 2.0 * allowed + 1e-3 || ranked.p < 1e-30);
    }
    // A model without an index is answered by all rows.
    let classified =
        Classifier::new(*model).expect("no index").classify::<4>(query, &mut []).expect("no memory needed");
    assert_eq!((classified.log_z(), &classified.top), (answer.log_z(), &answer.top));
    assert_eq!(answer.top.len(), model.classes().min(4));
}

const D: usize = 16_384;

/// A query of one kind of number.
#[derive(Clone, Debug)]
enum Values {
    F32(Vec<f32>),
    I16(Vec<i16>, f32),
    I8(Vec<i8>, f32, i8),
    U8(Vec<u8>, f32, u8),
}

impl Values {
    fn set(&self, query: &mut Query, model: &Model<'_>) -> Result<(), Error> {
        match self {
            Self::F32(values) => query.set(model, values),
            Self::I16(values, scale) => query.set_i16(model, values, *scale),
            Self::I8(values, scale, zero) => query.set_i8(model, values, *scale, *zero),
            Self::U8(values, scale, zero) => query.set_u8(model, values, *scale, *zero),
        }
    }

    fn in_f64(&self) -> Vec<f64> {
        let affine = |value: f64, scale: f32, zero: f64| (value - zero) * f64::from(scale);
        match self {
            Self::F32(values) => values.iter().map(|&v| v.into()).collect(),
            Self::I16(values, scale) => values.iter().map(|&v| affine(v.into(), *scale, 0.0)).collect(),
            Self::I8(values, scale, zero) => values.iter().map(|&v| affine(v.into(), *scale, (*zero).into())).collect(),
            Self::U8(values, scale, zero) => values.iter().map(|&v| affine(v.into(), *scale, (*zero).into())).collect(),
        }
    }
}

/// Refused with a fitting error, or answered as float64 does.
fn refused_or_right(model: &Model<'_>, query: &mut QueryBuffer<D>, values: &Values) {
    let truth = values.in_f64();
    let result = values.set(query, model);
    let norm = truth.iter().map(|q| q * q).sum::<f64>().sqrt();
    match result {
        Ok(()) => {
            assert!(norm.is_finite(), "{norm} was taken");
            is_right(model, query, &truth);
        }
        Err(Error::QueryNotFinite) => assert!(truth.iter().any(|v| !v.is_finite() || v.abs() > f64::from(f32::MAX))),
        // Scores could be above 4 000 nats; or scores of a weight of one in a row with a scale of one, where a file of a layer has
        // products of thousands.
        Err(Error::QueryTooLarge) => {
            let score = norm * f64::from(model.max_norm());
            let least = norm * f64::from(model.scale_exponent()).exp2();
            assert!(
                score > 4_000.0 || least > 0.1 || norm > 1e25 || model.scale_exponent() > 70,
                "{norm} was refused: {score}"
            );
        }
        Err(error) => panic!("{error}"),
    }
    if result.is_err() {
        assert_eq!(exact::<1>(model, query).err(), Some(Error::NoQuery));
    }
}

/// Numbers at the ends of the ranges of floats, and ordinary ones.
const SIZES: [f32; 16] = [
    0.0,
    -0.0,
    1e-45,
    -1e-40,
    f32::MIN_POSITIVE,
    1e-30,
    1e-10,
    1e-3,
    0.1,
    1.0,
    -3.7,
    40.0,
    1e4,
    1e20,
    3e38,
    f32::INFINITY,
];

fn seeded(seed: u64) -> impl FnMut() -> u32 {
    let mut state = seed | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_is_asked_is_refused_or_right(
        dim in prop::sample::select(vec![1, 2, 3, 4, 5, 63, 64, 65, 1023, 4096, 16_384]),
        classes in 1..6usize,
        scale_exponent in prop::sample::select(vec![-400, -150, -126, -60, -30, -20, -16, -10, 0, 20, 100, 400]),
        largest in prop::sample::select(vec![0, 1, 5, 127]),
        kind in 0..4,
        size in prop::sample::select(SIZES.to_vec()),
        zero in any::<u8>(),
        seed in any::<u64>(),
    ) {
        let mut next = seeded(seed);
        let rows: Vec<Vec<i8>> = (0..classes)
            .map(|_| (0..dim).map(|_| (next() as i32 % (largest + 1)) as i8 * [1, -1][(next() % 2) as usize]).collect())
            .collect();
        let scales: Vec<u16> = (0..classes).map(|_| [0, 1, 1_000, u16::MAX][next() as usize % 4]).collect();
        let biases: Vec<i16> = (0..classes).map(|_| [0, 1, -32_767, 32_767, 12_345][next() as usize % 5]).collect();
        let Ok(file) = model(dim, &rows, &scales, &biases, scale_exponent) else {
            // The norm of the largest row is no number that f32 holds.
            prop_assert!(scale_exponent >= 100);
            return Ok(());
        };
        let unit = size / 32_768.0;
        let values = match kind {
            0 => Values::F32((0..dim).map(|_| size * ((next() % 2_001) as f32 / 1_000.0 - 1.0)).collect()),
            1 => Values::I16((0..dim).map(|_| next() as i16).collect(), unit),
            2 => Values::I8((0..dim).map(|_| next() as i8).collect(), unit, zero.cast_signed()),
            _ => Values::U8((0..dim).map(|_| next() as u8).collect(), unit, zero),
        };
        refused_or_right(&file.model(), &mut QueryBuffer::<D>::empty(), &values);
    }
}

/// With a tree over the rows the answer is Exact's where all is opened, and one that can be where it is not.
#[test]
fn a_search_in_one_dimension_or_thousands_is_sound() {
    for (dim, classes, scale) in [(1, 1, 100), (1, 40, u16::MAX), (2, 2, 1), (4096, 1, 9), (4096, 40, 9)] {
        let rows: Vec<Vec<i8>> = (0..classes).map(|row| vec![(row as i8 % 3 - 1) * 127; dim]).collect();
        let biases: Vec<i16> = (0..classes).map(|row| [0, 300, -32_767, i16::MIN][row % 4]).collect();
        let rows: Vec<Vec<i8>> =
            rows.into_iter().zip(&biases).map(|(row, &b)| if b == i16::MIN { vec![0; dim] } else { row }).collect();
        for node in [(0, 0, 0), (1, scale, 5), (-127, scale, i16::MIN), (127, scale, i16::MAX)] {
            let file = file(dim, &rows, &vec![scale; classes], &biases, -20).expect("a small model");
            let file = with_tree(file, classes, dim, node).expect("a sound tree");
            let model = file.model();
            let mut query = QueryBuffer::<D>::empty();
            for value in [0.0, -0.0, 1e-45, -1e-30, 0.01, -0.4, 30.0, 1e30] {
                if query.set(&model, &vec![value; dim]).is_err() {
                    assert!(value >= 30.0, "{value} was refused");
                    continue;
                }
                search_is_sound(&model, &query);
            }
        }
    }
}

fn search_is_sound(model: &Model<'_>, query: &Query) {
    let stored = Classifier::new(*model).expect("a tree");
    let truth = exact::<3>(model, query).expect("a query");
    let mut memory = vec![0; model.scratch_words_for(&stored.budget().with_cap(500))];
    for cap in [model.least_cap() as u32, model.least_cap() as u32 + 2, stored.budget().cap, u32::MAX] {
        let budget = stored.budget().with_cap(cap);
        let answer = stored.with_budget(budget).expect("enough").classify::<3>(query, &mut memory).expect("memory");
        assert!(answer.work.row_equivalents() <= cap && !answer.log_z().is_nan() && answer.log_z() < 1e4);
        assert!(answer.top.iter().all(|best| (0.0..=1.0).contains(&best.p) && (best.class as usize) < model.classes()));
        assert!(!answer.top.is_empty() && (0.0..=1.0).contains(&answer.far_share));
        if cap >= stored.budget().cap && query.norm() > 0.0 {
            assert!((answer.log_z() - truth.log_z()).abs() < 1e-3, "{} {}", answer.log_z(), truth.log_z());
            assert_eq!(answer.top[0].class, truth.top[0].class);
        }
    }
}

#[test]
fn what_is_no_number_is_refused_at_any_place() {
    for dim in [1_usize, 4, 7, 4096] {
        let file = model(dim, &[vec![3; dim]], &[100], &[0], -20).expect("a small model");
        let mut query = QueryBuffer::<D>::empty();
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for place in [0, dim / 2, dim - 1] {
                let mut values = vec![0.5; dim];
                values[place] = bad;
                assert_eq!(query.set(&file.model(), &values), Err(Error::QueryNotFinite));
                assert_eq!(exact::<1>(&file.model(), &query).err(), Some(Error::NoQuery));
            }
            assert_eq!(query.set_i8(&file.model(), &vec![1; dim], bad, 0), Err(Error::QueryNotFinite));
            assert_eq!(query.set_u8(&file.model(), &vec![1; dim], bad, 0), Err(Error::QueryNotFinite));
            assert_eq!(query.set_i16(&file.model(), &vec![1; dim], bad), Err(Error::QueryNotFinite));
        }
    }
}

/// One class has all of the probability, whatever is asked.
#[test]
fn the_only_class_is_certain() {
    for dim in [1_usize, 4096] {
        let file = model(dim, &[vec![-127; dim]], &[9], &[-777], -20).expect("a small model");
        for value in [0.0, 1e-45, 1.0, -20.0] {
            let mut query = QueryBuffer::<D>::empty();
            query.set(&file.model(), &vec![value; dim]).expect("small");
            let answer = exact::<3>(&file.model(), &query).expect("a query");
            assert_eq!(answer.top.iter().map(|best| (best.class, best.p)).collect::<Vec<_>>(), [(0, 1.0)]);
        }
    }
}

/// Biases of nothing but −∞ leave no probability to share, and no number that is none.
#[test]
fn masked_classes_have_no_probability() {
    let rows = vec![vec![0; 4]; 3];
    for biases in [[i16::MIN; 3], [i16::MIN, 0, i16::MIN]] {
        let file = model(4, &rows, &[1; 3], &biases, -20).expect("a small model");
        let query = QueryBuffer::<4>::new(&file.model(), &[1.0; 4]).expect("small");
        let answer = exact::<3>(&file.model(), &query).expect("a query");
        assert!(!answer.log_z().is_nan() && answer.top.iter().all(|best| (0.0..=1.0).contains(&best.p)));
        if biases[1] == 0 {
            assert!(answer.top[0].class == 1 && answer.top[0].p > 0.999_99);
            assert!(answer.top[0].score > Log2::of(1) || answer.log_z().abs() < 1e-3);
        }
    }
}
