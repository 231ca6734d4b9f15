//! The index: what must hold for every query, whatever the data.
#![cfg(feature = "std")]

use std::sync::LazyLock;

use rand_pcg::Pcg32;
use zhat::estimators::{moments, moments_with_samples};
use zhat::host::Matrix;
use zhat::host::build::{Plan, Targets, build};
use zhat::host::evaluate::{self, FloatLayer, Rows};
use zhat::model::ModelBuf;
use zhat::{Budget, Classifier, Error, QueryBuffer, Scratch, exact, scratch_words};

const D: usize = 12;
const N: usize = 700;
type Memory = Scratch<{ scratch_words(N, 2048) }>;

/// A small generator of its own, so that a failure names its seed and nothing else.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 * 2.0 - 1.0
    }

    /// Roughly Gaussian.
    fn bell(&mut self) -> f32 {
        (self.next() + self.next() + self.next()) * 1.0
    }
}

struct Layer {
    weights: Matrix,
    biases: Vec<f32>,
    calibration: Matrix,
    queries: Matrix,
}

/// Rows in clusters, and queries that lean towards a row each.
fn layer(seed: u64, strength: f32) -> Layer {
    let mut random = Random(seed);
    let centres: Vec<f32> = (0..30 * D).map(|_| random.bell()).collect();
    let rows: Vec<f32> = (0..N * D).map(|i| centres[i / D % 30 * D + i % D] + 0.5 * random.bell()).collect();
    let biases: Vec<f32> = (0..N).map(|i| -(1.0 + i as f32).ln() * 0.5).collect();
    let mut queries = |count: usize| {
        let data = (0..count).flat_map(|_| {
            let row = ((random.next() + 1.0) * 0.5 * (N - 1) as f32) as usize;
            (0..D).map(|j| strength * (rows[row * D + j] + 0.7 * random.bell())).collect::<Vec<_>>()
        });
        Matrix::new(data.collect(), D).expect("whole rows")
    };
    let (calibration, queries) = (queries(300), queries(200));
    Layer { weights: Matrix::new(rows, D).expect("whole rows"), biases, calibration, queries }
}

fn targets(work: f32, cap: f32) -> Targets {
    Targets { work, cap, ..Targets::default() }
}

/// Both ways to build, on a flat and on a confident layer.
fn models() -> &'static [Built] {
    static MODELS: LazyLock<Vec<Built>> = LazyLock::new(build_models);
    &MODELS
}

struct Built {
    layer: Layer,
    file: ModelBuf,
    calibrated: bool,
}

fn build_models() -> Vec<Built> {
    let mut models = Vec::new();
    for (seed, strength) in [(1, 0.3), (2, 1.5)] {
        for calibrated in [true, false] {
            let layer = layer(seed, strength);
            let calibration = calibrated.then_some(&layer.calibration);
            let built =
                build(&layer.weights, &layer.biases, calibration, &targets(0.2, 0.5), &mut |_| ()).expect("builds");
            models.push(Built { layer, file: built.model, calibrated });
        }
    }
    models
}

#[test]
fn the_certified_interval_holds_the_exact_z() {
    for Built { layer, file, .. } in models() {
        let mut memory = Memory::new();
        for cap in [60, 100, 300, 2000] {
            let budget = Budget::new(cap).with_expand(2);
            let classifier = Classifier::new(file.model()).and_then(|c| c.with_budget(budget)).expect("an index");
            for query in layer.queries.iter() {
                let query = QueryBuffer::<D>::new(&file.model(), query).expect("valid");
                let (low, high) = classifier.certain_log_z(&query, &mut memory).expect("bounds");
                let truth = exact::<1>(&file.model(), &query).expect("valid").log_z();
                assert!(low <= truth && truth <= high, "{cap}: {low} {truth} {high}");
                assert!(cap < 2000 || high - low < 1e-3, "all opened: {low} {high}");
            }
        }
    }
}

#[test]
fn branch_and_bound_finds_the_true_top() {
    for Built { layer, file, .. } in models() {
        let classifier = Classifier::new(file.model()).expect("an index");
        let mut memory = Memory::new();
        let mut cramped = Scratch::<5>::new();
        for query in layer.queries.iter() {
            let query = QueryBuffer::<D>::new(&file.model(), query).expect("valid");
            let truth = exact::<4>(&file.model(), &query).expect("valid");
            let truth: Vec<_> = truth.top.iter().map(|ranked| (ranked.class, ranked.score)).collect();
            let (found, work) = classifier.certain_top::<4>(&query, &mut memory).expect("bounds");
            assert_eq!(found.iter().map(|c| (c.class, c.score)).collect::<Vec<_>>(), truth);
            assert!(work.rows as usize <= N);
            let (found, _) = classifier.certain_top::<4>(&query, &mut cramped).expect("bounds");
            assert_eq!(found.iter().map(|c| (c.class, c.score)).collect::<Vec<_>>(), truth);
        }
    }
}

#[test]
fn the_cap_is_never_exceeded_and_everything_opened_is_exact() {
    for Built { layer, file, .. } in models() {
        let model = file.model();
        let nodes = model.tree().expect("a tree").len();
        let mut memory = Memory::new();
        let zero = [0.0; D];
        let huge = [100.0; D];
        for cap in [model.tree().expect("a tree").top() as u32, 50, 111, 400, (N + nodes) as u32] {
            for (epsilon, expand) in [(0.0, 0), (0.0, 8), (0.01, 3)] {
                let budget = Budget::new(cap).with_epsilon(epsilon).with_expand(expand);
                let Ok(classifier) = Classifier::new(model).and_then(|c| c.with_budget(budget)) else {
                    continue;
                };
                for query in layer.queries.iter().chain([&zero[..], &huge[..]]) {
                    let query = QueryBuffer::<D>::new(&model, query).expect("valid");
                    let answer = classifier.classify::<3>(&query, &mut memory).expect("fits");
                    assert!(answer.work.row_equivalents() <= cap);
                    assert!(!answer.log_z().is_nan() && answer.top.iter().all(|r| (0.0..=1.0).contains(&r.p)));
                    if cap as usize == N + nodes && epsilon == 0.0 {
                        let truth = exact::<3>(&model, &query).expect("valid");
                        assert_eq!(
                            answer.top.iter().map(|r| r.class).collect::<Vec<_>>(),
                            truth.top.iter().map(|r| r.class).collect::<Vec<_>>()
                        );
                        assert!((answer.log_z() - truth.log_z()).abs() < 1e-5 * truth.log_z().abs().max(1.0));
                    }
                }
            }
        }
    }
}

#[test]
fn a_query_of_zeros_gives_the_sum_of_the_biases() {
    for Built { file, .. } in models() {
        let (model, memory, rng) = (&file.model(), &mut Memory::new(), &mut Pcg32::new(1, 1));
        let classifier = Classifier::new(*model).expect("an index");
        let query = QueryBuffer::<D>::new(model, &[0.0; D]).expect("valid");
        let truth = exact::<1>(model, &query).expect("valid").log_z();
        let answer = classifier.classify::<1>(&query, memory).expect("fits");
        assert!((answer.log_z() - truth).abs() < 1e-5);
        // The bare estimates and the host's evaluation give the same bits.
        let budget = classifier.budget();
        let bare = moments(model, &query, &budget, memory).expect("fits");
        let sampled = moments_with_samples(model, &query, &budget, 5, memory, rng).expect("fits");
        let zeros = Matrix::new(vec![0.0; D], D).expect("a row");
        let evaluated = evaluate::predictions::<1>(model, &zeros, &budget).expect("valid");
        assert_eq!([bare.log_z(), sampled.log_z(), evaluated[0].log_z()], [answer.log_z(); 3]);
        assert_eq!([bare.standard_error, sampled.standard_error], [Some(0.0); 2]);
    }
}

#[test]
fn errors_and_intervals_are_what_the_builder_says() {
    for Built { layer, file, .. } in models().iter().filter(|built| built.calibrated) {
        let model = file.model();
        let truths = evaluate::exact_predictions::<1>(&model, &layer.queries).expect("valid");
        let classifier = Classifier::new(model).expect("an index");
        let mut memory = Memory::new();
        let (mut familiar, mut covered) = (0, 0);
        let mut errors = 0.0;
        let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
        for (values, truth) in layer.queries.iter().zip(&truths) {
            let query = QueryBuffer::<D>::new(&model, values).expect("valid");
            let answer = classifier.classify::<1>(&query, &mut memory).expect("fits");
            let off = answer.log_z() - truth.log_z();
            familiar += usize::from(answer.is_familiar() == Some(true));
            if let Some((low, high)) = answer.interval(0) {
                let log_z = evaluate::exact(&float, values, D, 1)[0].log_z;
                let p = (float.score(answer.top[0].class as usize, values) - log_z).exp();
                covered += usize::from(low <= p && p <= high);
            }
            errors += off.exp_m1().abs() / truths.len() as f32;
            assert!(!answer.overflowed());
        }
        assert!(familiar * 100 >= truths.len() * 94, "{familiar} of {}", truths.len());
        assert!(covered * 100 >= familiar * 88, "{covered} of {familiar}");
        assert!(errors < 0.05, "{errors}");
    }
}

/// How many of the queries have an interval, and how many of those hold the float layer's p: within the budget, and with all
/// rows scored.
fn covered(layer: &Layer, file: &ModelBuf, queries: &Matrix) -> [(usize, usize); 2] {
    let (model, mut memory) = (file.model(), Memory::new());
    let classifier = Classifier::new(model).expect("an index");
    let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
    let truths = evaluate::exact(&float, queries.data(), D, 1);
    let mut counts = [(0, 0); 2];
    for (values, truth) in queries.iter().zip(&truths) {
        let query = QueryBuffer::<D>::new(&model, values).expect("valid");
        let answers = [classifier.classify::<1>(&query, &mut memory), exact::<1>(&model, &query)];
        for (answer, (intervals, hold)) in answers.into_iter().zip(&mut counts) {
            let answer = answer.expect("fits");
            if let Some((low, high)) = answer.interval(0) {
                let p = (float.score(answer.top[0].class as usize, values) - truth.log_z).exp();
                (*intervals, *hold) = (*intervals + 1, *hold + usize::from(low <= p && p <= high));
            }
        }
    }
    counts
}

#[test]
fn queries_unlike_the_calibration_have_an_interval_that_holds_or_none() {
    let mut random = Random(21);
    let noise: Vec<Vec<f32>> = (0..200).map(|_| (0..D).map(|_| random.bell()).collect()).collect();
    for Built { layer, file, .. } in models().iter().filter(|built| built.calibrated) {
        let norm = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>().sqrt();
        let like = noise.iter().zip(layer.queries.iter()).flat_map(|(noise, query)| {
            let factor = norm(query) / norm(noise);
            noise.iter().map(move |x| x * factor)
        });
        let mut sets = vec![Matrix::new(like.collect(), D).expect("whole rows")];
        for factor in [0.5, 1.5, 2.0] {
            let scaled = layer.queries.data().iter().map(|x| x * factor).collect();
            sets.push(Matrix::new(scaled, D).expect("whole rows"));
        }
        for (set, queries) in sets.iter().enumerate() {
            for (intervals, hold) in covered(layer, file, queries) {
                // Of so few there may be five more that do not hold.
                assert!((hold + 5) * 100 >= intervals * 90, "set {set}: {hold} of {intervals}");
            }
        }
    }
}

#[test]
fn queries_so_long_that_twice_as_long_ones_are_refused_still_make_a_model() {
    let mut random = Random(41);
    let mut matrix = |rows: usize, length: f32| {
        let row = |random: &mut Random| {
            let values: Vec<f32> = (0..D).map(|_| random.bell()).collect();
            let norm = values.iter().map(|x| x * x).sum::<f32>().sqrt();
            values.into_iter().map(move |x| x / norm * length)
        };
        Matrix::new((0..rows).flat_map(|_| row(&mut random).collect::<Vec<_>>()).collect(), D).expect("whole rows")
    };
    let (weights, calibration) = (matrix(N, 50.0), matrix(300, 60.0));
    let built = build(&weights, &[0.0; N], Some(&calibration), &targets(0.2, 0.4), &mut |_| ()).expect("builds");
    let model = built.model.model();
    let longer: Vec<f32> = calibration.row(0).iter().map(|x| 2.0 * x).collect();
    assert_eq!(QueryBuffer::<D>::new(&model, &longer).err(), Some(Error::QueryTooLarge));
    assert!(model.trust().is_some());
}

#[test]
fn activations_with_a_mean_are_told_from_those_turned_round() {
    let Layer { weights, biases, calibration, queries } = layer(6, 0.4);
    let shifted = |queries: &Matrix, sign: f32| {
        let data = queries.data().iter().map(|x| sign * (x + 2.0)).collect();
        Matrix::new(data, D).expect("whole rows")
    };
    let layer = Layer { calibration: shifted(&calibration, 1.0), queries: shifted(&queries, 1.0), weights, biases };
    let built = build(&layer.weights, &layer.biases, Some(&layer.calibration), &targets(0.2, 0.4), &mut |_| ());
    let file = built.expect("builds").model;
    for (intervals, _) in covered(&layer, &file, &layer.queries) {
        assert!(intervals >= 185, "{intervals} of 200 are familiar");
    }
    for (intervals, _) in covered(&layer, &file, &shifted(&layer.queries, -1.0)) {
        assert_eq!(intervals, 0);
    }
}

#[test]
fn small_heads_keep_to_their_work_or_score_all_rows() {
    let mut random = Random(31);
    let mut matrix = |rows: usize, length: f32| {
        Matrix::new((0..rows * D).map(|_| length * random.bell()).collect(), D).expect("whole rows")
    };
    for classes in [1, 2, 5, 50, 100, 500, 1000] {
        let (weights, calibration, queries) = (matrix(classes, 1.0), matrix(200, 0.5), matrix(200, 0.5));
        let biases = vec![0.0; classes];
        for work in [0.01, 0.04, 0.1, 1.0] {
            for calibration in [None, Some(&calibration)] {
                let targets = targets(work, (4.0 * work).min(1.0));
                let built = build(&weights, &biases, calibration, &targets, &mut |_| ()).expect("builds");
                let classifier = Classifier::new(built.model.model()).expect("enough for a class");
                let mut memory = vec![0; classifier.model().scratch_words()];
                let mut rows = 0;
                for values in queries.iter() {
                    let query = QueryBuffer::<D>::new(classifier.model(), values).expect("valid");
                    let answer = classifier.classify::<1>(&query, &mut memory).expect("fits");
                    assert_eq!(answer.top.len(), 1, "{classes} classes, {work}: no class");
                    rows += answer.work.row_equivalents() as usize;
                }
                let mean = rows as f32 / (queries.rows() * classes) as f32;
                let kept = mean <= work || classifier.is_exact() && mean == 1.0;
                assert!(kept, "{classes} classes, {work} asked, {mean} given, calibrated: {}", calibration.is_some());
            }
        }
    }
}

#[test]
fn same_input_and_seed_give_the_same_file_on_any_number_of_threads() {
    let layer = layer(5, 0.5);
    let file = |threads: usize, seed: u64| {
        let pool = rayon_pool(threads);
        let targets = Targets { seed, ..targets(0.1, 0.4) };
        pool.install(|| build(&layer.weights, &layer.biases, Some(&layer.calibration), &targets, &mut |_| ()))
            .expect("builds")
            .model
            .to_vec()
    };
    let one = file(1, 7);
    assert_eq!(one, file(3, 7));
    assert_ne!(one, file(1, 8));
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

#[test]
fn odd_layers_build_and_answer() {
    let mut random = Random(9);
    let mut noise = |n: usize| (0..n).map(|_| random.bell()).collect::<Vec<f32>>();
    let mut giant = noise(50 * 3);
    giant[..3].iter_mut().for_each(|w| *w *= 1e4);
    let cases: Vec<(&str, Vec<f32>, usize)> = vec![
        ("one row", noise(3), 3),
        ("two rows", noise(6), 3),
        ("three columns of one value", vec![0.5; 300], 3),
        ("zero rows", vec![0.0; 300], 3),
        ("one giant row", giant, 3),
        ("one column", noise(200), 1),
        ("pairs of equal rows", noise(150).chunks(3).flat_map(|r| [r, r].concat()).collect(), 3),
    ];
    for (name, weights, cols) in cases {
        let weights = Matrix::new(weights, cols).expect("whole rows");
        let n = weights.rows();
        let biases: Vec<f32> =
            (0..n).map(|i| if i % 7 == 6 { f32::NEG_INFINITY } else { 0.1 * i as f32 % 1.0 }).collect();
        let calibration = Matrix::new((0..100 * cols).map(|i| (i as f32 * 0.7).sin() * 0.02).collect(), cols);
        for calibration in [None, calibration.as_ref()] {
            let built = build(&weights, &biases, calibration, &targets(0.3, 1.0), &mut |_| ())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let model = built.model.model();
            let classifier = Classifier::new(model).expect("an index");
            let query = QueryBuffer::<4>::new(&model, &vec![0.01; cols]).expect("valid");
            let answer = classifier.classify::<2>(&query, &mut Scratch::<512>::new()).expect("fits");
            let truth = exact::<1>(&model, &query).expect("valid").log_z();
            assert!((answer.log_z() - truth).abs() < 3.0, "{name}: {} {truth}", answer.log_z());
        }
    }
}

#[test]
fn bad_requests_are_named() {
    let layer = layer(3, 0.5);
    let plan = Plan { leaf: 8, branching: 8, ..Plan::default() };
    let built =
        build(&layer.weights, &layer.biases, None, &Targets { plans: vec![plan], ..targets(0.1, 0.2) }, &mut |_| ());
    let model = built.expect("builds").model;
    let classifier = Classifier::new(model.model()).expect("an index");
    let budget = Budget::new(0);
    assert!(matches!(classifier.with_budget(budget), Err(Error::Budget(_))));
    let query = QueryBuffer::<D>::new(&model.model(), layer.queries.row(0)).expect("valid");
    let Some(Error::ScratchWords(least)) = classifier.classify::<1>(&query, &mut Scratch::<1>::new()).err() else {
        panic!("too little memory is an error");
    };
    let mut memory = vec![0; least as usize];
    assert!(classifier.classify::<1>(&query, &mut memory[1..]).is_err());
    assert_eq!(classifier.classify::<1>(&query, &mut memory).expect("enough").top.len(), 1);
    let wrong = Matrix::new(vec![0.0; 10], 5).expect("two queries of five");
    assert!(build(&layer.weights, &layer.biases, Some(&wrong), &targets(0.1, 0.2), &mut |_| ()).is_err());
}

/// Where all nodes look alike, opening inner ones may be worth more than any leaf, down to the last of the budget.
#[test]
fn a_query_that_says_nothing_still_gets_a_class() {
    for Built { layer, file, .. } in models() {
        let model = file.model();
        let classifier = Classifier::new(model).expect("an index");
        let top = model.tree().expect("an index").top() as u32;
        for cap in [top + 60, top + 100, top + 200] {
            let classifier = classifier.with_budget(Budget::new(cap)).expect("the top fits");
            for query in layer.queries.iter().take(20) {
                let query: Vec<f32> = query.iter().map(|x| x * 0.01).collect();
                let query = QueryBuffer::<D>::new(&model, &query).expect("a valid query");
                let answer = classifier.classify::<3>(&query, &mut Memory::new()).expect("memory");
                assert!(!answer.top.is_empty(), "{cap}");
                assert!(answer.work.row_equivalents() <= cap);
            }
        }
    }
}
