//! The time of a search: bounds that hold for any query and any memory, and searches that stop or go on step by step.
#![cfg(feature = "std")]

use zhat::host::build::{Correction, Plan, Targets, build};
use zhat::host::{Kind, Layer, flat_model};
use zhat::internal::{counts_of, cycles_of};
use zhat::model::ModelBuf;
use zhat::{Budget, Classifier, Error, Model, Progress, QueryBuffer, TopBuffer};

const DIM: usize = 16;

/// A layer of this many rows, with a tree of this branching and these leaves.
fn model(classes: usize, branching: usize, leaf: usize, links: usize) -> (Layer, ModelBuf) {
    let layer = Layer::generate(classes, DIM, 3);
    let plan = Plan { branching, leaf, links, correction: Correction::None, ..Plan::default() };
    let targets = Targets { plans: vec![plan], always_index: true, work: 0.6, cap: 1.0, ..Targets::default() };
    let built = build(&layer.weights, &layer.biases, None, &targets, &mut |_| ()).expect("builds");
    (layer, built.model)
}

/// Queries as they come, and others: zeros, damped ones, loud ones, and single columns.
fn queries(layer: &Layer) -> Vec<Vec<f32>> {
    let like = layer.queries(Kind::LanguageModel, 6, 4);
    let mut queries = vec![vec![0.0; DIM]];
    for factor in [1e-3, 0.03, 0.3, 1.0, 4.0] {
        queries.extend(like.iter().map(|query| query.iter().map(|x| x * factor).collect()));
        queries.push((0..DIM).map(|column| if column == 3 { 10.0 * factor } else { 0.0 }).collect());
    }
    queries
}

/// The least memory with which a query of a model is answered.
fn least_words(classifier: &Classifier<'_>) -> usize {
    let query = QueryBuffer::<DIM>::new(classifier.model(), &[0.0; DIM]).expect("valid");
    match classifier.classify::<1>(&query, &mut []) {
        Err(Error::ScratchWords(words)) => words as usize,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_search_takes_longer_than_its_bound_with_any_memory() {
    for (classes, branching, leaf, links) in [(1500, 32, 16, 8), (800, 2, 2, 4), (900, 100, 4, 0)] {
        let (layer, file) = model(classes, branching, leaf, links);
        let model = file.model();
        for cap in [0.0, 0.1, 0.4].map(|share| model.least_cap() as u32 + (share * classes as f32) as u32) {
            let budget = Budget::new(cap).with_epsilon(0.003).with_expand(4);
            let bound = budget.most_cycles(&model);
            let classifier = Classifier::new(model).and_then(|all| all.with_budget(budget)).expect("enough");
            let (least, enough) = (least_words(&classifier), model.scratch_words_for(&budget));
            for words in [0, 1, 2, 3, 4].map(|part| least + part * enough.saturating_sub(least) / 4) {
                for values in queries(&layer) {
                    let query = QueryBuffer::<DIM>::new(&model, &values).expect("valid");
                    let counts = counts_of::<8>(&model, &budget, &query, &mut vec![0; words]).expect("enough");
                    let cycles = cycles_of(&model, &counts);
                    assert!(cycles <= bound, "{classes}, cap {cap}, {words} words: {cycles} of {bound} for {values:?}");
                }
            }
        }
    }
}

#[test]
fn a_budget_for_a_time_keeps_it_and_uses_it() {
    let (_, file) = model(1500, 32, 16, 8);
    let model = file.model();
    let mut last = 0;
    for limit in (60_000..600_000).step_by(20_000) {
        match Budget::for_cycles(&model, limit) {
            Ok(budget) => {
                assert!(budget.most_cycles(&model) <= limit, "{limit}");
                assert!(budget.cap >= last, "more time, and a smaller cap");
                let more = budget.with_cap(budget.cap + budget.cap / 8 + 8);
                assert!(
                    budget.cap as usize >= model.classes() || more.most_cycles(&model) > limit,
                    "{limit} is not used"
                );
                last = budget.cap;
            }
            Err(error) => assert_eq!((error, last), (Error::Budget(model.least_cap() as u32), 0)),
        }
    }
    assert!(last > 0);
    assert_eq!(Budget::for_instructions(&model, 1000), Err(Error::Budget(model.least_cap() as u32)));
}

/// Everything that an answer says.
fn shown<const K: usize>(answer: &zhat::Prediction<K>) -> (Vec<(u32, u32)>, u32, u32) {
    let top = answer.top.iter().map(|best| (best.class, best.p.to_bits())).collect();
    (top, answer.log_z().to_bits(), answer.work.row_equivalents())
}

fn for_each_step(model: &Model<'_>, layer: &Layer) {
    let classifier = Classifier::new(*model).expect("a budget");
    for values in queries(layer) {
        let query = QueryBuffer::<DIM>::new(model, &values).expect("valid");
        let mut scratch = vec![0; model.scratch_words()];
        let whole = shown(&classifier.classify::<3>(&query, &mut scratch).expect("enough"));
        for step in [1, 7, 100, u32::MAX] {
            let mut top = TopBuffer::<3>::new();
            let mut search = classifier.search(&query, &mut scratch, &mut top).expect("enough");
            while search.step(step) == Progress::More {}
            assert_eq!(shown(&search.finish().expect("whole")), whole);
        }
        let unstopped = classifier.classify_until::<3>(&query, &mut scratch, |_| false).expect("whole");
        assert_eq!(shown(&unstopped), whole);
    }
}

#[test]
fn a_search_in_steps_gives_the_same_bits() {
    let (layer, file) = model(1500, 32, 16, 8);
    for_each_step(&file.model(), &layer);
    let flat = flat_model(&layer.weights, &layer.biases).expect("a model");
    for_each_step(&flat.model(), &layer);
}

#[test]
fn a_search_that_is_stopped_has_a_class_and_no_interval() {
    let (layer, file) = model(1500, 32, 16, 8);
    let model = file.model();
    let classifier = Classifier::new(model).expect("an index");
    let mut scratch = vec![0; model.scratch_words()];
    for values in queries(&layer) {
        let query = QueryBuffer::<DIM>::new(&model, &values).expect("valid");
        for limit in [0, 50, 200] {
            let mut asked = 0;
            let stop = |spent| {
                asked += 1;
                spent >= limit
            };
            let answer = classifier.classify_until::<3>(&query, &mut scratch, stop).expect("a class");
            assert!(!answer.top.is_empty() && answer.log_z().is_finite() && asked > 0);
            assert!(answer.work.row_equivalents() <= classifier.budget().cap);
            if answer.work.row_equivalents()
                < classifier.classify::<3>(&query, &mut scratch).expect("whole").work.row_equivalents()
            {
                assert!(answer.interval(0).is_none() && answer.is_familiar().is_none());
            }
        }
    }
    let flat = flat_model(&layer.weights, &layer.biases).expect("a model");
    let query = QueryBuffer::<DIM>::new(&flat.model(), &[0.5; DIM]).expect("valid");
    let stopped = Classifier::new(flat.model()).expect("rows").classify_until::<3>(&query, &mut [], |_| true);
    assert_eq!(
        stopped.map(|answer| answer.work),
        Err(Error::Budget(1500)),
        "rows that were not scored are nowhere predicted"
    );
}
