//! Promises about labels: sets of classes that hold the true one, and inputs that are none of the classes.
#![cfg(feature = "std")]

use std::sync::OnceLock;

use proptest::prelude::*;
use zhat::host::evaluate::{FloatLayer, predictions, scores, stored_budget};
use zhat::host::label::{Labelled, set_figures};
use zhat::host::make::{Made, Request, make};
use zhat::host::{Kind, Layer, Matrix};
use zhat::model::{FileWriter, ModelBuf, Section};
use zhat::{Classifier, QueryBuffer, exact};

const N: usize = 3000;
const D: usize = 16;
const LEVELS: [f32; 3] = [0.8, 0.9, 0.95];
/// Places of the list of a set that no test makes longer.
const LIST: usize = 64;

/// Labels drawn from the layer's p at a temperature of two, which the layer does not know of.
fn drawn(layer: &Layer, queries: &Matrix, seed: u64) -> Vec<usize> {
    let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 2.0 };
    let mut state = seed;
    let mut draw = |query: &[f32]| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let scores = scores(&float, query);
        let most = scores.iter().fold(f32::MIN, |a, &b| a.max(b));
        let all: Vec<f64> = scores.iter().map(|score| f64::from(score - most).exp()).collect();
        let mut left = (state >> 11) as f64 / (1_u64 << 53) as f64 * all.iter().sum::<f64>();
        let is_it = |p: &f64| {
            left -= p;
            left <= 0.0
        };
        all.iter().position(is_it).unwrap_or(0)
    };
    queries.iter().map(&mut draw).collect()
}

struct Case {
    layer: Layer,
    made: Made,
    test: Matrix,
    labels: Vec<usize>,
}

/// A model with an index, sets and what tells unknown inputs, and queries that it has not seen.
fn case() -> &'static Case {
    static CASE: OnceLock<Case> = OnceLock::new();
    CASE.get_or_init(|| {
        let layer = Layer::generate(N, D, 1);
        let queries = |count, seed| layer.queries(Kind::LanguageModel, count, seed);
        let (tuned, labelled, test) = (queries(400, 2), queries(2000, 3), queries(2000, 4));
        let labels = drawn(&layer, &labelled, 5);
        let unknown = Matrix::new(queries(400, 6).data().iter().map(|x| 1.5 - x).collect(), D).expect("whole rows");
        let request = Request {
            queries: Some(&tuned),
            labels: Some(&labels),
            labelled: Some(&labelled),
            sets: &LEVELS,
            unknown: Some(&unknown),
            ..Request::new(&layer.weights, &layer.biases)
        };
        let made = make(&request, &mut |_| {}).expect("a model");
        assert!(made.index.is_ok(), "the test is about searches");
        let labels = drawn(&layer, &test, 7);
        Case { layer, made, test, labels }
    })
}

fn model() -> zhat::Model<'static> {
    case().made.model.model()
}

#[test]
fn sets_of_a_search_cover_what_they_promise() {
    let Case { made, test, labels, .. } = case();
    let found = set_figures(&made.model.model(), Labelled { queries: test, labels }, None).expect("valid");
    assert_eq!(found.iter().map(|found| found.level).collect::<Vec<_>>(), LEVELS);
    for found in &found {
        // Of 1 600 labels that the thresholds are from, and 2 000 here: within three standard errors, and never one part in
        // twenty off.
        let spread = (found.level * (1.0 - found.level) * (1.0 / 1600.0 + 1.0 / 2000.0)).sqrt();
        for coverage in [found.coverage, found.exact_coverage] {
            let off = coverage - found.level;
            assert!(off.abs() < 3.5 * spread && off.abs() < 0.05, "{found:?}");
        }
        assert!(found.answered > 0.9, "{found:?}");
        assert!(found.short_mean <= 1.1 * found.exact_short_mean, "{found:?}");
    }
    // The report of the build is about other labels, and says the same.
    for (found, made) in found.iter().zip(&made.sets) {
        // Of 400 labels: within three and a half standard errors.
        assert!((found.coverage - made.coverage).abs() < 0.08 && made.queries == 400, "{made:?}");
        assert!(made.coverage_low <= made.coverage && made.coverage <= made.coverage_high);
    }
}

/// A promise that is off by one part in twenty is noticed: the test above would fail.
#[test]
fn another_threshold_breaks_the_promise() {
    let Case { made, test, labels, .. } = case();
    let words: Vec<u32> = section(&made.model, Section::Sets);
    for factor in [0.9, 1.06] {
        let mut changed = words.clone();
        for level in changed[4..].chunks_exact_mut(3) {
            level[1..].iter_mut().for_each(|word| *word = (f32::from_bits(*word) * factor).to_bits());
        }
        let file = with(&made.model, Section::Sets, &changed);
        let found = set_figures(&file.model(), Labelled { queries: test, labels }, None).expect("valid");
        assert!(found.iter().any(|found| (found.coverage - found.level).abs() > 0.03), "{factor}: {found:?}");
    }
}

#[test]
fn a_shorter_list_has_the_same_classes_or_says_that_there_are_more() {
    let model = model();
    let budget = stored_budget(&model);
    let long = predictions::<LIST>(&model, &case().test, &budget).expect("valid");
    let short = predictions::<3>(&model, &case().test, &budget).expect("valid");
    for (long, short) in long.iter().zip(&short) {
        for level in LEVELS {
            let (Some(long), Some(short)) = (long.set(&model, level), short.set(&model, level)) else {
                assert_eq!(long.is_familiar(), Some(false));
                continue;
            };
            assert_eq!(short.classes, &long.classes[..long.classes.len().min(3)]);
            assert_eq!(short.more, long.more || long.classes.len() > 3);
            assert!(!short.classes.is_empty());
        }
        // Larger levels have more classes, and one between two is the larger one.
        let len = |level| long.set(&model, level).map(|set| (set.classes.len(), set.more));
        assert!(len(0.8) <= len(0.9) && len(0.9) <= len(0.95));
        assert_eq!(len(0.85), len(0.9));
        assert_eq!(len(0.96), None);
    }
}

#[test]
fn there_is_no_set_where_nothing_was_measured() {
    let model = model();
    let classifier = Classifier::new(model).expect("a budget");
    let mut memory = vec![0; model.scratch_words()];
    let query = QueryBuffer::<D>::new(&model, case().test.row(0)).expect("valid");
    let answer = classifier.classify::<5>(&query, &mut memory).expect("valid");
    assert!(answer.set(&model, 0.9).is_some() && answer.is_known(&model, &query).is_some());
    let less = classifier.budget().with_cap(classifier.budget().cap - 1);
    let answer = classifier.with_budget(less).expect("enough").classify::<5>(&query, &mut memory).expect("valid");
    assert!(answer.set(&model, 0.9).is_none() && answer.is_known(&model, &query).is_none());
    // All rows scored have thresholds of their own, but none for what is known.
    let answer = exact::<5>(&model, &query).expect("valid");
    assert!(answer.set(&model, 0.9).is_some() && answer.is_known(&model, &query).is_none());
    let strange = QueryBuffer::<D>::new(&model, &[40.0; D]).expect("valid");
    let answer = classifier.classify::<5>(&strange, &mut memory).expect("valid");
    assert_eq!((answer.is_familiar(), answer.set(&model, 0.9).is_some()), (Some(false), false));
}

#[test]
fn what_is_none_of_the_classes_is_told_as_the_report_says() {
    let Case { layer, made, test, .. } = case();
    let found = made.known.as_ref().expect("examples");
    let model = model();
    let rejected = |queries: &Matrix| {
        let mut memory = vec![0; model.scratch_words()];
        let classifier = Classifier::new(model).expect("a budget");
        let is_rejected = |values: &&[f32]| {
            let query = QueryBuffer::<D>::new(&model, values).expect("valid");
            let answer = classifier.classify::<1>(&query, &mut memory).expect("valid");
            answer.is_known(&model, &query) == Some(false)
        };
        queries.iter().filter(is_rejected).count() as f32 / queries.rows() as f32
    };
    let others = layer.queries(Kind::LanguageModel, 1000, 8);
    let others = Matrix::new(others.data().iter().map(|x| 1.5 - x).collect(), D).expect("whole rows");
    assert!(found.auroc > 0.9, "{found:?}");
    // 1 % was asked for, of 40 queries that the threshold is from.
    assert!(rejected(test) < 0.1, "{found:?}");
    assert!((rejected(&others) - (1.0 - found.accepted)).abs() < 0.15, "{found:?}");
}

#[test]
fn other_shares_of_the_classes_are_other_probabilities() {
    let layer = Layer::generate(50, 4, 3);
    let (before, mut after) = ([0.02; 50], [0.01; 50]);
    after[7] = 0.51;
    let request = Request { priors: Some((&before, &after)), ..Request::new(&layer.weights, &layer.biases) };
    let plain = make(&Request::new(&layer.weights, &layer.biases), &mut |_| {}).expect("a model").model;
    let made = make(&request, &mut |_| {}).expect("a model");
    for query in layer.queries(Kind::Classifier, 20, 1).iter() {
        // Queries of a classifier are long: shorter ones leave some p to every class.
        let query: Vec<f32> = query.iter().map(|x| 0.1 * x).collect();
        let p = |file: &ModelBuf, class: usize| {
            let model = file.model();
            let query = QueryBuffer::<4>::new(&model, &query).expect("valid");
            exact::<1>(&model, &query).and_then(|answer| answer.probability(&model, &query, class)).expect("valid")
        };
        let odds = |file: &ModelBuf| p(file, 7) / p(file, 8);
        let (after, before) = (odds(&made.model), odds(&plain));
        assert!((after / before / 51.0 - 1.0).abs() < 0.1, "{after} {before}: {} {}", p(&plain, 7), p(&plain, 8));
    }
}

#[cfg(feature = "capi")]
#[allow(unsafe_code)]
#[test]
fn the_functions_for_c_say_what_rust_says() {
    use std::mem::MaybeUninit;
    use zhat::capi::*;

    const TOP: usize = 4;
    let (bytes, rust) = (case().made.model.as_bytes(), model());
    let mut opened = MaybeUninit::<ZhatModel>::zeroed();
    let words = zhat::query_words(D) + rust.scratch_words();
    let mut memory = vec![0; words];
    let mut top = [ZhatClass { id: 0, p: 0.0, lower: 0.0, upper: 1.0 }; TOP];
    let mut result = MaybeUninit::<ZhatResult>::zeroed();
    // SAFETY: every pointer is to as much as the length beside it says, and the file stays where it is.
    unsafe {
        assert_eq!(zhat_open(opened.as_mut_ptr(), bytes.as_ptr(), bytes.len()), ZhatError::None);
    }
    let mut scratch = vec![0; rust.scratch_words()];
    for values in case().test.iter().take(50).chain([&[40.0; D][..]]) {
        let query = QueryBuffer::<D>::new(&rust, values).expect("valid");
        let answer = Classifier::new(rust).and_then(|it| it.classify::<TOP>(&query, &mut scratch)).expect("valid");
        // SAFETY: as above; the memory is not written to between the calls.
        unsafe {
            let (model, words) = (opened.as_ptr(), memory.len());
            let (memory, top, result) = (memory.as_mut_ptr(), top.as_mut_ptr(), result.as_mut_ptr());
            let error = zhat_classify(model, values.as_ptr(), D, 0, memory, words, top, TOP, result);
            assert_eq!(error, ZhatError::None);
            for level in [0.8, 0.9, 0.95, 0.99] {
                let (mut len, mut more) = (99, 99);
                let found = match zhat_set(model, top, result, level, &raw mut len, &raw mut more) {
                    ZhatError::None => Some((len as usize, more == 1)),
                    error => {
                        assert_eq!((error, len, more), (ZhatError::Absent, 99, 99));
                        None
                    }
                };
                assert_eq!(found, answer.set(&rust, level).map(|set| (set.classes.len(), set.more)));
            }
            let mut known = ZhatAnswer::Unknown;
            assert_eq!(zhat_is_known(model, memory, words, top, result, &raw mut known), ZhatError::None);
            assert_eq!(known, answer.is_known(&rust, &query).into());
        }
    }
}

/// The words of a section.
fn section(file: &ModelBuf, section: Section) -> Vec<u32> {
    let (mut at, bytes) = (48, file.as_bytes());
    loop {
        let word = |offset: usize| u32::from_le_bytes(bytes[at + offset..][..4].try_into().expect("a word"));
        if word(0) as u16 == section.kind() {
            assert_eq!(word(0) >> 16, 0, "a reader may skip it");
            let (offset, len) = (word(4) as usize, word(8) as usize);
            return bytemuck::pod_collect_to_vec(&bytes[offset..offset + len]);
        }
        at += 16;
    }
}

fn with(file: &ModelBuf, section: Section, words: &[u32]) -> ModelBuf {
    let mut writer = FileWriter::reopen(file).expect("a file");
    writer.optional(section, words);
    writer.into_model().expect("a reader may skip it")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the sections hold, answers are the same, and no set is longer than its list.
    #[test]
    fn damaged_sections_change_no_answer(
        sets in proptest::collection::vec(any::<u32>(), 0..32),
        at in 0_usize..12,
        word in prop_oneof![any::<u32>(), Just(f32::NAN.to_bits()), Just(f32::INFINITY.to_bits()), Just(1.0_f32.to_bits())],
        is_replaced in any::<bool>(),
    ) {
        let own = &case().made.model;
        for kind in [Section::Sets, Section::Known] {
            let mut words = section(own, kind);
            if is_replaced { words = sets.clone() } else if at < words.len() { words[at] = word }
            let file = with(own, kind, &words);
            let answer = |model: zhat::Model<'_>| {
                let query = QueryBuffer::<D>::new(&model, case().test.row(at)).expect("valid");
                let mut memory = vec![0; model.scratch_words()];
                let answer =
                    Classifier::new(model).and_then(|it| it.classify::<5>(&query, &mut memory)).expect("valid");
                for level in [0.0, 0.5, 0.9, f32::NAN] {
                    let set = answer.set(&model, level);
                    assert!(set.is_none_or(|set| !set.classes.is_empty() && set.classes.len() <= 5));
                }
                let _ = answer.is_known(&model, &query);
                answer.top
            };
            prop_assert_eq!(answer(file.model()), answer(own.model()));
        }
    }
}
