//! Layers at the edges of what can be built: biases without measure, wide layers, few classes, queries that say nothing.
#![cfg(feature = "std")]

use zhat::host::build::{Targets, build};
use zhat::host::{BuildError, Kind, Layer, Matrix};
use zhat::{Classifier, QueryBuffer, exact};

/// A generated layer with queries to calibrate on and others to ask, so short that scores are a few nats.
fn layer(classes: usize, dim: usize, queries: usize) -> (Layer, Matrix, Matrix) {
    let layer = Layer::generate(classes, dim, 3);
    let short =
        |queries: Matrix| Matrix::new(queries.data().iter().map(|x| 0.1 * x).collect(), dim).expect("whole rows");
    let calibration = short(layer.queries(Kind::Classifier, queries, 4));
    let other = short(layer.queries(Kind::Classifier, 20, 5));
    (layer, calibration, other)
}

fn targets() -> Targets {
    Targets { work: 0.2, cap: 0.5, ..Targets::default() }
}

/// ln Z of a float layer in float64.
fn log_z(weights: &Matrix, biases: &[f32], query: &[f32]) -> f64 {
    let score = |(row, &bias): (&[f32], &f32)| {
        row.iter().zip(query).map(|(w, q)| f64::from(*w) * f64::from(*q)).sum::<f64>() + f64::from(bias)
    };
    let scores: Vec<f64> = weights.iter().zip(biases).map(score).collect();
    let most = scores.iter().fold(f64::NEG_INFINITY, |most, &score| most.max(score));
    most + scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln()
}

/// Builds with queries and without, and holds the answers against float64: all of Exact's within `most` nats, those of a search within
/// `mean` in the mean.
fn is_right(weights: &Matrix, biases: &[f32], calibration: &Matrix, queries: &Matrix, most: f64, mean: f64) {
    for calibration in [Some(calibration), None] {
        let built = build(weights, biases, calibration, &targets(), &mut |_| ()).expect("a valid layer");
        let model = built.model.model();
        let classifier = Classifier::new(model).expect("a model");
        let mut memory = vec![0; model.scratch_words()];
        let (mut off, mut held) = (0.0, Vec::new());
        for values in queries.iter() {
            let query = Box::new(QueryBuffer::<16_384>::new(&model, values).expect("a query"));
            let truth = log_z(weights, biases, values);
            let all = exact::<1>(&model, &query).expect("a query");
            assert!((f64::from(all.log_z()) - truth).abs() < most, "{} {truth}", all.log_z());
            let answer = classifier.classify::<3>(&query, &mut memory).expect("memory");
            assert!(answer.top.iter().all(|best| best.p == 0.0 || biases[best.class as usize] != f32::NEG_INFINITY));
            let error = (f64::from(answer.log_z()) - truth).abs();
            if let Some((low, high)) = answer.interval(0) {
                let class = answer.top[0].class as usize;
                let score: f64 = weights.row(class).iter().zip(values).map(|(w, q)| f64::from(w * q)).sum();
                let p = (score + f64::from(biases[class]) - truth).exp();
                let is_held = (f64::from(low) - 0.02..=f64::from(high) + 0.02).contains(&p);
                held.push(is_held);
                assert!(error < 1.0 || is_held, "off by {error}, {p} in {low} to {high}, far {}", answer.far_share);
            }
            off += error / queries.rows() as f64;
        }
        assert!(held.iter().filter(|held| **held).count() * 10 >= held.len() * 8, "{held:?}");
        assert!(off < mean + most, "{} × {}: {off}", weights.rows(), weights.cols());
    }
}

#[test]
fn all_but_one_class_may_be_masked() {
    for classes in [2, 5, 100, 3000] {
        for masked in [f32::NEG_INFINITY, f32::MIN, -1e4] {
            let (layer, calibration, queries) = layer(classes, 8, 300);
            let biases: Vec<f32> = (0..classes).map(|class| if class == classes / 2 { 0.5 } else { masked }).collect();
            is_right(&layer.weights, &biases, &calibration, &queries, 0.1, 0.3);
        }
    }
}

#[test]
fn some_classes_may_be_masked() {
    for every in [2, 10, 50] {
        let (layer, calibration, queries) = layer(1000, 8, 300);
        let bias = |(class, &bias): (usize, &f32)| if class % every == 0 { bias } else { f32::NEG_INFINITY };
        let biases: Vec<f32> = layer.biases.iter().enumerate().map(bias).collect();
        is_right(&layer.weights, &biases, &calibration, &queries, 0.1, 0.3);
    }
}

#[test]
fn biases_that_a_file_cannot_hold_are_named() {
    let (layer, calibration, _) = layer(300, 8, 300);
    let refused = |biases: &[f32]| {
        let errors = [Some(&calibration), None]
            .map(|queries| build(&layer.weights, biases, queries, &targets(), &mut |_| ()).expect_err("no model"));
        assert_eq!(errors[0], errors[1]);
        errors[0]
    };
    assert_eq!(refused(&[f32::NEG_INFINITY; 300]), BuildError::Masked);
    for shift in [1500.0, 1e30, f32::MAX, -1500.0, -1e30] {
        let biases: Vec<f32> = layer.biases.iter().map(|bias| bias + shift).collect();
        let error = refused(&biases);
        assert!(matches!(error, BuildError::BiasRange { .. }), "{error:?}");
        assert!(error.to_string().contains("subtract the same number from all biases"), "{error}");
    }
    let mut biases = layer.biases.clone();
    biases[7] = f32::MAX;
    assert_eq!(refused(&biases), BuildError::BiasRange { row: 7, value: f32::MAX });
}

#[test]
fn a_shift_of_all_biases_changes_ln_z_by_as_much_and_no_probability() {
    let (layer, calibration, queries) = layer(300, 8, 300);
    let shifted: Vec<f32> = layer.biases.iter().map(|bias| bias + 1200.0).collect();
    is_right(&layer.weights, &shifted, &calibration, &queries, 0.1, 0.3);
}

#[test]
fn queries_beyond_all_scores_are_named() {
    let (layer, calibration, _) = layer(300, 8, 300);
    for factor in [1e20, 1e30] {
        let data = calibration.data().iter().map(|x| x * factor).collect();
        let queries = Matrix::new(data, 8).expect("whole rows");
        let error =
            build(&layer.weights, &layer.biases, Some(&queries), &targets(), &mut |_| ()).expect_err("too large");
        assert!(matches!(error, BuildError::QueryTooLarge { query: 0, .. }), "{error:?}");
    }
}

/// Zeros and noise are queries too, and few are fewer than there are columns. Estimates for others may be far off, and are numbers.
#[test]
fn any_queries_make_a_model_of_any_layer() {
    for (classes, dim) in [(1, 1), (5, 64), (100, 3), (100, 700), (2000, 16)] {
        let (layer, _, queries) = layer(classes, dim, 1);
        for count in [1, 60, 250] {
            let zeros = vec![0.0; count * dim];
            let noise: Vec<f32> = layer.queries(Kind::LanguageModel, count, 9).data().iter().map(|x| 0.1 * x).collect();
            let same = noise[..dim].repeat(count);
            let mixed = noise.iter().enumerate().map(|(i, x)| if i / dim % 3 == 0 { 0.0 } else { *x }).collect();
            for data in [zeros, noise, same, mixed] {
                let calibration = Matrix::new(data, dim).expect("whole rows");
                is_right(&layer.weights, &layer.biases, &calibration, &queries, 0.1, f64::INFINITY);
            }
        }
    }
}

/// The widest layer that there is, with more queries than are learned from and fewer than there are columns.
#[test]
fn the_widest_layer_builds_with_queries_and_without() {
    for (classes, dim, count) in [(80, 16_384, 240), (300, 2048, 300)] {
        let (layer, calibration, queries) = layer(classes, dim, count);
        let queries = queries.reordered(&[0, 1, 2]);
        is_right(&layer.weights, &layer.biases, &calibration, &queries, 0.2, f64::INFINITY);
    }
}
