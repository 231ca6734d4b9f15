//! Defined answers for whatever comes in: never NaN, never a panic.

use rand_pcg::Pcg32;
use zhat::estimators::{
    Estimate, Head, HeadBuffer, OracleHead, RetrievalError, fmbe, mimps, mince, moments, moments_with_samples, nmimps,
    retrieve, uniform,
};
use zhat::host::{Matrix, flat_model, with_fmbe};
use zhat::model::FmbeKind;
use zhat::{Budget, Error, Log2, Query, QueryBuffer};

use super::support::{D, Memory, N, WORDS, clustered, log_z, noise, query, tree_model};

const KINDS: [FmbeKind; 3] = [FmbeKind::Maclaurin, FmbeKind::Centred, FmbeKind::Positive];

fn sound(name: &str, estimate: &Estimate) {
    assert!(!estimate.log_z().is_nan() && estimate.log_z() != f32::INFINITY, "{name}: {estimate:?}");
    assert!(estimate.standard_error.is_none_or(|error| error >= 0.0 && error.is_finite()), "{name}: {estimate:?}");
}

/// Every estimator on every query, with counts below, at and above what there is.
fn all_are_sound(weights: &Matrix, biases: &[f32], queries: &[Vec<f32>]) {
    let n = weights.rows();
    let file = tree_model(weights, biases, 8, 100);
    let model = file.model();
    let tables = KINDS.map(|kind| with_fmbe(&file, kind, 50, 1).expect("small"));
    for values in queries {
        let query = QueryBuffer::<D>::new(&model, values).expect("a valid query");
        for table in &tables {
            let query = QueryBuffer::<D>::new(&table.model(), values).expect("a valid query");
            sound("fmbe", &fmbe(&table.model(), &query).expect("a table"));
        }
        for count in [0, 1, 2, n / 2, n, n + 1, usize::MAX] {
            each_is_sound(&model, &query, count);
        }
    }
}

fn each_is_sound(model: &zhat::Model<'_>, query: &Query, count: usize) {
    let n = model.classes();
    let mut marks = [0; WORDS];
    let mut room = [Log2::MIN; N];
    let rng = &mut Pcg32::new(1, 1);
    let truth = log_z(model, query);
    let near = |name: &str, estimate: Estimate| {
        sound(name, &estimate);
        let error = (f64::from(estimate.log_z()) - truth).abs();
        assert!(error < 1e-3, "{name} {count}: {} {truth}", estimate.log_z());
    };
    let sampled = uniform(model, query, count, rng, &mut marks).expect("memory");
    sound("uniform", &sampled);
    if count >= n {
        near("uniform", sampled);
    }
    for k in [0, 1, n, n + 1] {
        let oracle = OracleHead::new(model, query, k, RetrievalError::None).expect("valid");
        let head = oracle.head();
        let mixed = mimps(model, query, count, &head, rng, &mut marks).expect("memory");
        sound("mimps", &mixed);
        if k >= n || count >= n {
            near("mimps", mixed);
        }
        sound("nmimps", &nmimps(model, &head));
        sound("mince", &mince(model, query, count, &head, rng, &mut marks, &mut room).expect("memory"));
    }
    let mut memory = Memory::new();
    let wide = Budget::new(3 * n as u32 + 9).with_expand(8);
    near("moments", moments(model, query, &wide, &mut memory).expect("a budget"));
    near("samples", moments_with_samples(model, query, &wide, count, &mut memory, rng).expect("a budget"));
    let narrow = Budget::new((model.least_cap() + count.min(n)) as u32).with_expand(8);
    sound("moments", &moments(model, query, &narrow, &mut memory).expect("a budget"));
    sound("samples", &moments_with_samples(model, query, &narrow, count, &mut memory, rng).expect("a budget"));
}

fn queries(size: f32) -> Vec<Vec<f32>> {
    let wave = |salt| (0..D).map(|i| size * noise(i, salt)).collect();
    vec![vec![0.0; D], wave(100), wave(101), vec![size; D], vec![-size; D]]
}

#[test]
fn ordinary_layers_of_any_size_are_sound() {
    for n in [1, 2, 5, 33, N] {
        let (rows, biases) = clustered(n, D, 1.0);
        all_are_sound(&rows, &biases, &queries(1.0));
    }
}

#[test]
fn equal_rows_and_zero_rows_are_sound() {
    for n in [1, 40] {
        all_are_sound(&Matrix::new(vec![0.3; n * D], D).expect("rows"), &vec![0.5; n], &queries(2.0));
        all_are_sound(&Matrix::new(vec![0.0; n * D], D).expect("rows"), &vec![0.0; n], &queries(2.0));
    }
}

#[test]
fn scores_of_thousands_of_nats_are_sound() {
    let (rows, biases) = clustered(60, D, 1.0);
    all_are_sound(&rows, &biases, &queries(300.0));
    let extreme: Vec<f32> = (0..60).map(|i| if i % 2 == 0 { -5000.0 } else { 1400.0 }).collect();
    all_are_sound(&rows, &extreme, &queries(200.0));
    let mut giant = rows.data().to_vec();
    giant[..D].iter_mut().for_each(|weight| *weight *= 100.0);
    all_are_sound(&Matrix::new(giant, D).expect("rows"), &biases, &queries(2.0));
}

#[test]
fn a_zero_query_has_the_sum_of_the_biases_in_the_centred_table() {
    let (rows, biases) = clustered(50, D, 1.0);
    let file = with_fmbe(&flat_model(&rows, &biases).expect("valid"), FmbeKind::Centred, 20, 1).expect("small");
    let query = QueryBuffer::<D>::new(&file.model(), &[0.0; D]).expect("valid");
    let answer = fmbe(&file.model(), &query).expect("a table");
    assert!((f64::from(answer.log_z()) - log_z(&file.model(), &query)).abs() < 1e-5);
}

#[test]
fn too_little_memory_or_budget_is_said() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    let query = query::<D>(&model, 1.0, 0);
    let rng = &mut Pcg32::new(1, 1);
    let oracle = OracleHead::new(&model, &query, 5, RetrievalError::None).expect("valid");
    let head = oracle.head();
    let short = Err(Error::MarkWords(WORDS as u32));
    assert_eq!(uniform(&model, &query, 5, rng, &mut [0; WORDS - 1]), short);
    assert_eq!(mimps(&model, &query, 5, &head, rng, &mut []), short);
    let mut marks = [0; WORDS];
    assert_eq!(mince(&model, &query, 5, &head, rng, &mut [], &mut [Log2::MIN; 5]), short);
    assert_eq!(mince(&model, &query, 5, &head, rng, &mut marks, &mut [Log2::MIN; 4]), Err(Error::NoiseScores(5)));
    assert_eq!(mince(&model, &query, 5, &Head::empty(), rng, &mut [], &mut []), short);
    assert_eq!(fmbe(&model, &query), Err(Error::MissingSection(15)));
    let least = model.least_cap() as u32;
    let tight = Budget::new(least - 1);
    assert_eq!(moments(&model, &query, &tight, &mut Memory::new()), Err(Error::Budget(least)));
    assert_eq!(
        moments_with_samples(&model, &query, &tight.with_cap(least + 4), 5, &mut Memory::new(), rng),
        Err(Error::Budget(least + 5))
    );
    let mut buffer = HeadBuffer::<4>::new();
    let retrieved = retrieve(&model, &query, &tight, &mut Memory::new(), &mut buffer);
    assert_eq!(retrieved.err(), Some(Error::Budget(least)));
    let flat = flat_model(&rows, &biases).expect("valid");
    let own = QueryBuffer::<D>::new(&flat.model(), &[0.5; D]).expect("valid");
    assert_eq!(moments(&flat.model(), &own, &tight, &mut Memory::new()), Err(Error::NoIndex));
}
