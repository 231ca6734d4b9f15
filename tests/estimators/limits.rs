//! Where an estimator has seen everything, it is Exact.

use rand_pcg::Pcg32;
use zhat::estimators::{
    Head, HeadBuffer, Oracle, OracleHead, RetrievalError, mimps, mince, moments, moments_with_samples, nmimps,
    retrieve, self_normalised, uniform,
};
use zhat::host::flat_model;
use zhat::{Budget, Log2, exact};

use super::support::{D, Memory, N, WORDS, clustered, log_z, query, tree_model};

#[test]
fn uniform_of_all_rows_is_exact() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let query = query::<D>(&file.model(), 2.0, 0);
    for samples in [N, N + 1, usize::MAX] {
        let all = uniform(&file.model(), &query, samples, &mut Pcg32::new(1, 1), &mut [0; WORDS]).expect("memory");
        assert_eq!(all.log_z(), exact::<1>(&file.model(), &query).expect("valid").log_z());
        assert_eq!((all.standard_error, all.work.rows as usize), (Some(0.0), N));
    }
}

#[test]
fn mimps_is_exact_when_head_and_samples_are_all_rows() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    let query = query::<D>(&model, 2.0, 0);
    let truth = log_z(&model, &query);
    for (k, samples) in [(N, 0), (N, 5), (N + 50, 0), (N - 1, 1), (17, N - 17), (17, N), (17, usize::MAX), (0, N)] {
        let oracle = OracleHead::new(&model, &query, k, RetrievalError::None).expect("valid");
        let head = oracle.head();
        let all = mimps(&model, &query, samples, &head, &mut Pcg32::new(5, 1), &mut [0; WORDS]).expect("memory");
        assert!((f64::from(all.log_z()) - truth).abs() < 2e-6 * truth.abs(), "{k} {samples}: {} {truth}", all.log_z());
        assert_eq!((all.standard_error, all.work.rows as usize), (Some(0.0), N), "{k} {samples}");
    }
}

#[test]
fn mimps_without_samples_is_nmimps_and_without_a_head_uniform() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    let query = query::<D>(&model, 2.0, 0);
    let oracle = OracleHead::new(&model, &query, 20, RetrievalError::None).expect("valid");
    let mut marks = [0; WORDS];
    let none = mimps(&model, &query, 0, &oracle.head(), &mut Pcg32::new(5, 1), &mut marks).expect("memory");
    assert_eq!(none, nmimps(&model, &oracle.head()));
    let bare = mimps(&model, &query, 30, &Head::empty(), &mut Pcg32::new(5, 1), &mut marks).expect("memory");
    let samples = uniform(&model, &query, 30, &mut Pcg32::new(5, 1), &mut marks).expect("memory");
    assert_eq!(bare.log_z(), samples.log_z());
    assert!((bare.standard_error.expect("thirty") - samples.standard_error.expect("thirty")).abs() < 1e-6);
}

#[test]
fn retrieval_errors_take_the_rows_they_name() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let query = query::<D>(&file.model(), 2.0, 0);
    let top = exact::<12>(&file.model(), &query).expect("valid").top;
    let classes = |error| {
        let oracle = OracleHead::new(&file.model(), &query, 10, error).expect("valid");
        oracle.head().candidates().iter().map(|candidate| candidate.class).collect::<Vec<_>>()
    };
    let ranks = |ranks: &[usize]| ranks.iter().map(|&rank| top[rank].class).collect::<Vec<_>>();
    assert_eq!(classes(RetrievalError::None), ranks(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(classes(RetrievalError::First), ranks(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    assert_eq!(classes(RetrievalError::Second), ranks(&[0, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    assert_eq!(classes(RetrievalError::FirstAndSecond), ranks(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
}

#[test]
fn a_search_with_enough_budget_retrieves_the_true_head_and_the_exact_sum() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    let enough = Budget::new(2 * N as u32).with_expand(2);
    for salt in 0..10 {
        let query = query::<D>(&model, 1.5, salt);
        let mut buffer = HeadBuffer::<20>::new();
        let head = retrieve(&model, &query, &enough, &mut Memory::new(), &mut buffer).expect("a budget");
        let truth = OracleHead::new(&model, &query, 20, RetrievalError::None).expect("valid");
        assert_eq!(head.candidates(), truth.head().candidates());
        // The head is left out of the samples by its rows, which the shuffled classes are not.
        let all = mimps(&model, &query, N, &head, &mut Pcg32::new(1, 1), &mut [0; WORDS]).expect("memory");
        assert!((f64::from(all.log_z()) - log_z(&model, &query)).abs() < 1e-5);
        let opened = moments(&model, &query, &enough, &mut Memory::new()).expect("a budget");
        assert_eq!(
            (opened.log_z(), opened.standard_error),
            (exact::<1>(&model, &query).expect("valid").log_z(), Some(0.0))
        );
    }
}

#[test]
fn moments_with_enough_samples_for_the_rest_is_exact_and_with_none_is_moments() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    let query = query::<D>(&model, 1.5, 0);
    let mut memory = Memory::new();
    let budget = Budget::new(400).with_expand(2);
    let all = moments_with_samples(&model, &query, &budget, 200, &mut memory, &mut Pcg32::new(1, 1)).expect("a budget");
    assert!((f64::from(all.log_z()) - log_z(&model, &query)).abs() < 1e-5);
    assert_eq!((all.standard_error, all.work.rows as usize), (Some(0.0), N));
    let small = budget.with_cap(60);
    let none = moments_with_samples(&model, &query, &small, 0, &mut memory, &mut Pcg32::new(1, 1)).expect("a budget");
    assert_eq!(none, moments(&model, &query, &small, &mut memory).expect("a budget"));
}

#[test]
fn mince_with_a_perfect_sample_finds_the_rows_that_noise_is_drawn_from() {
    // Data drawn from the softmax itself is what the head stands for: with equal rows, any head is.
    let file = flat_model(&zhat::host::Matrix::new(vec![0.5; N * D], D).expect("rows"), &[0.0; N]).expect("valid");
    let model = file.model();
    let query = query::<D>(&model, 1.0, 0);
    for (k, samples) in [(1, 1), (10, 10), (100, 10), (10, 100), (100, N)] {
        let oracle = OracleHead::new(&model, &query, k, RetrievalError::None).expect("valid");
        let mut noise = [Log2::MIN; N];
        let rng = &mut Pcg32::new(1, 1);
        let answer = mince(&model, &query, samples, &oracle.head(), rng, &mut [0; WORDS], &mut noise).expect("memory");
        let expected = log_z(&model, &query) + ((N - k) as f64 / N as f64).ln();
        assert!((f64::from(answer.log_z()) - expected).abs() < 1e-4, "{k} {samples}: {}", answer.log_z());
        assert!((1..=8).contains(&answer.iterations), "{}", answer.iterations);
        assert_eq!(answer.work.rows as usize, k + samples.min(N - k));
    }
}

#[test]
fn self_normalised_is_one() {
    assert_eq!((self_normalised().log_z(), self_normalised().work.row_equivalents()), (0.0, 0));
}

#[test]
fn one_pass_serves_heads_of_any_size_and_error() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    let query = query::<D>(&model, 2.0, 5);
    let oracle = Oracle::new(&model, &query, 40).expect("valid");
    assert_eq!(oracle.log_z(), exact::<1>(&model, &query).expect("valid").log_z());
    for k in [0, 1, 2, 7, 40] {
        for error in RetrievalError::ALL {
            let (once, alone) = (oracle.head(k, error), OracleHead::new(&model, &query, k, error).expect("valid"));
            assert_eq!(once.head().candidates().len(), k);
            assert_eq!(once.head().candidates(), alone.head().candidates(), "{k} {error:?}");
        }
    }
    let all = oracle.head(3, RetrievalError::None);
    let without = oracle.head(2, RetrievalError::First);
    assert_eq!(all.head().candidates()[1..], *without.head().candidates());
}
