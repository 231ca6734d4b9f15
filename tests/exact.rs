//! Exact against sums in f64, and probabilities where they are known.
#![cfg(feature = "std")]

use proptest::prelude::*;
use zhat::host::{Matrix, flat_model};
use zhat::{Model, QueryBuffer, exact};

const D: usize = 64;

fn wave(n: usize, amplitude: f32) -> Vec<f32> {
    (0..n).map(|i| amplitude * ((i * 7919 % 4001) as f32 * 0.731).sin()).collect()
}

/// Scores in f64 from the model's own int8 rows and the query as given.
fn scores(model: &Model<'_>, query: &[f32]) -> Vec<f64> {
    let unit = f64::from(model.scale_exponent()).exp2();
    (0..model.classes())
        .map(|row| {
            let step = f64::from(model.rows().scale(row)) * unit;
            let dot: f64 = model.rows().weights(row).zip(query).map(|(v, &q)| f64::from(v) * f64::from(q)).sum();
            dot * step + f64::from(model.rows().bias(row).to_nats())
        })
        .collect()
}

fn log_sum(scores: &[f64]) -> f64 {
    let max = scores.iter().fold(f64::NEG_INFINITY, |m, &s| m.max(s));
    max + scores.iter().map(|s| (s - max).exp()).sum::<f64>().ln()
}

#[test]
fn equal_scores_share_equally() {
    for n in [1usize, 4096, 100_000] {
        let file = flat_model(&Matrix::new(vec![0.25; n * 4], 4).expect("rows"), &vec![0.0; n]).expect("valid");
        let query = QueryBuffer::<4>::new(&file.model(), &[3.0, -1.0, 0.5, 0.0]).expect("valid");
        let answer = exact::<3>(&file.model(), &query).expect("valid");
        for (rank, ranked) in answer.top.iter().enumerate() {
            assert_eq!(ranked.class as usize, rank, "ties fall in the order of the classes");
            assert!((ranked.p * n as f32 - 1.0).abs() <= 1e-5, "{n}: {}", ranked.p);
        }
        let last = answer.probability(&file.model(), &query, n - 1).expect("a class");
        assert!((last * n as f32 - 1.0).abs() <= 1e-5);
        assert!(answer.probability(&file.model(), &query, n).is_err());
    }
}

#[test]
fn one_score_80_nats_above_the_rest_has_probability_one() {
    let mut biases = vec![0.0; 5000];
    biases[1234] = 80.0;
    let file = flat_model(&Matrix::new(wave(5000 * 4, 0.01), 4).expect("rows"), &biases).expect("valid");
    let query = QueryBuffer::<4>::new(&file.model(), &[0.0; 4]).expect("valid");
    let answer = exact::<2>(&file.model(), &query).expect("valid");
    assert_eq!((answer.top[0].class, answer.top[0].p), (1234, 1.0));
    // Biases of 80 nats are rounded to 0.0014 nats.
    assert!((answer.log_z() - 80.0).abs() < 1.5e-3);
    assert!(answer.top[1].p > 0.0 && answer.top[1].p < 1e-30);
}

#[test]
fn a_zero_query_leaves_the_biases() {
    let biases = wave(777, 4.0);
    let file = flat_model(&Matrix::new(wave(777 * 5, 1.0), 5).expect("rows"), &biases).expect("valid");
    let query = QueryBuffer::<8>::new(&file.model(), &[0.0; 5]).expect("valid");
    let truth = log_sum(&biases.iter().map(|&b| f64::from(b)).collect::<Vec<_>>());
    assert!((f64::from(exact::<1>(&file.model(), &query).expect("valid").log_z()) - truth).abs() < 1e-5);
}

#[test]
fn a_masked_class_never_occurs() {
    let file = flat_model(&Matrix::new(vec![1.0; 6], 2).expect("rows"), &[0.0, f32::NEG_INFINITY, 0.0]).expect("valid");
    let query = QueryBuffer::<4>::new(&file.model(), &[1.0, 1.0]).expect("valid");
    let answer = exact::<3>(&file.model(), &query).expect("valid");
    assert_eq!(answer.top[2].class, 1);
    assert_eq!(answer.top[2].p, 0.0);
}

#[test]
fn a_giant_row_leaves_the_others_their_precision() {
    let mut weights = wave(100 * D, 0.1);
    weights[..D].iter_mut().for_each(|w| *w *= 1000.0);
    let file = flat_model(&Matrix::new(weights.clone(), D).expect("rows"), &[0.0; 100]).expect("valid");
    let model = file.model();
    for row in 1..100 {
        let step = f64::from(model.rows().scale(row)) * f64::from(model.scale_exponent()).exp2();
        for (value, &weight) in model.rows().weights(row).zip(&weights[row * D..]) {
            assert!((f64::from(value) * step - f64::from(weight)).abs() < 0.1 / 127.0);
        }
    }
}

proptest! {
    #[test]
    fn the_sum_and_the_order_are_those_of_f64(
        n in 1usize..400, d in 1usize..70, spread in 0.01f32..8.0, seed in 0u32..1000,
    ) {
        let weights: Vec<f32> = wave(n * d + seed as usize, 1.0)[seed as usize..].to_vec();
        let biases = wave(n, spread);
        let file = flat_model(&Matrix::new(weights, d).expect("rows"), &biases).expect("valid");
        let values: Vec<f32> = wave(d, spread);
        let query = QueryBuffer::<72>::new(&file.model(), &values).expect("valid");
        let quantised: Vec<f32> = (0..d).map(|column| query.value(column)).collect();
        let scores = scores(&file.model(), &quantised);
        let answer = exact::<5>(&file.model(), &query).expect("valid");
        let truth = log_sum(&scores);
        prop_assert!((f64::from(answer.log_z()) - truth).abs() < 2e-5 * truth.abs().max(1.0), "{} {}", answer.log_z(), truth);
        let best = scores.iter().fold(f64::NEG_INFINITY, |m, &s| m.max(s));
        prop_assert!((scores[answer.top[0].class as usize] - best).abs() < 1e-4);
        prop_assert!(answer.top.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let p = answer.top[0].p;
        prop_assert!((f64::from(p) - (best - truth).exp()).abs() < 5e-5, "{}", p);
    }
}
