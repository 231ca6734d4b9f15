//! Over seeds, the mean of an unbiased estimator is Z, and its reported error is the deviation that it has.

use rand_pcg::Pcg32;
use zhat::Budget;
use zhat::estimators::{Estimate, OracleHead, RetrievalError, mimps, moments, moments_with_samples, nmimps, uniform};
use zhat::host::flat_model;

use super::support::{D, Memory, N, WORDS, assert_unbiased, clustered, log_z, query, tree_model};

const SEEDS: u64 = 4000;

/// The root of the mean of the reported variances, as a share of Z: what the deviation over seeds should be.
fn reported(log_z: f64, seeds: u64, estimate: impl Fn(u64) -> Estimate) -> f64 {
    let variance = |estimate: Estimate| {
        let error = f64::from(estimate.standard_error.expect("enough samples"));
        (error * (f64::from(estimate.log_z()) - log_z).exp()).powi(2)
    };
    ((1..=seeds).map(|seed| variance(estimate(seed))).sum::<f64>() / seeds as f64).sqrt()
}

#[test]
fn uniform_is_unbiased_over_seeds_and_knows_its_error() {
    let (rows, biases) = clustered(N, D, 0.5);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    let query = query::<D>(&model, 0.8, 0);
    for samples in [20, 100, 250] {
        let run = |seed| uniform(&model, &query, samples, &mut Pcg32::new(seed, 1), &mut [0; WORDS]).expect("memory");
        let truth = log_z(&model, &query);
        let real = assert_unbiased(&format!("uniform {samples}"), truth, 0.01, SEEDS, |seed| run(seed).log_z());
        let told = reported(truth, SEEDS, run);
        assert!((0.93..1.07).contains(&(told / real)), "{samples}: reported {told}, real {real}");
    }
}

#[test]
fn mimps_is_unbiased_over_seeds_with_any_head_and_knows_its_error() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    let query = query::<D>(&model, 1.0, 1);
    let truth = log_z(&model, &query);
    for (k, samples) in [(5, 30), (20, 60), (100, 150)] {
        for error in RetrievalError::ALL {
            let oracle = OracleHead::new(&model, &query, k, error).expect("valid");
            let run = |seed| {
                let mut rng = Pcg32::new(seed, 2);
                mimps(&model, &query, samples, &oracle.head(), &mut rng, &mut [0; WORDS]).expect("memory")
            };
            let name = format!("mimps {k} {samples} {error:?}");
            let real = assert_unbiased(&name, truth, 0.02, SEEDS, |seed| run(seed).log_z());
            if error == RetrievalError::None {
                let told = reported(truth, SEEDS, run);
                assert!((0.93..1.07).contains(&(told / real)), "{name}: reported {told}, real {real}");
            }
        }
    }
}

#[test]
fn moments_with_samples_is_unbiased_over_seeds_where_moments_is_not() {
    let (rows, biases) = clustered(N, D, 1.2);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    for (salt, cap, samples) in [(0, 60, 30), (1, 90, 40), (2, 42, 20), (3, 150, 12)] {
        let query = query::<D>(&model, 1.0, salt);
        let truth = log_z(&model, &query);
        let budget = Budget::new(cap).with_expand(4);
        let bare = moments(&model, &query, &budget, &mut Memory::new()).expect("a budget");
        let bias = (f64::from(bare.log_z()) - truth).exp() - 1.0;
        println!("moments alone, {salt}: {bias:+.4}");
        let run = |seed| {
            let mut rng = Pcg32::new(seed, 3);
            moments_with_samples(&model, &query, &budget, samples, &mut Memory::new(), &mut rng).expect("a budget")
        };
        let name = format!("moments + {samples} samples, {salt}");
        let real = assert_unbiased(&name, truth, 0.01, SEEDS, |seed| run(seed).log_z());
        let told = reported(truth, SEEDS, run);
        assert!((0.95..2.0).contains(&(told / real)), "{name}: reported {told}, real {real}: not on the safe side");
        assert!((1..100).all(|seed| run(seed).work.row_equivalents() <= cap), "{name}: beyond the cap");
    }
}

#[test]
fn nmimps_is_a_lower_bound_that_grows_with_the_head() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    for salt in 0..20 {
        let query = query::<D>(&model, 1.5, salt);
        let truth = log_z(&model, &query);
        let mut last = f32::NEG_INFINITY;
        for k in [0, 1, 2, 10, 100, N, N + 9] {
            let oracle = OracleHead::new(&model, &query, k, RetrievalError::None).expect("valid");
            let bound = nmimps(&model, &oracle.head()).log_z();
            assert!(bound >= last && f64::from(bound) <= truth + 1e-6, "{k}: {last} {bound} {truth}");
            last = bound;
        }
    }
}
