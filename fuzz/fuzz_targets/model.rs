//! Opens arbitrary bytes as a model file: nothing may panic, read outside or take long. Opens it with all checks, or
//! trusted if they fail, and then calls everything with one query, which its checksum selects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rand_pcg::Pcg32;
use zhat::estimators::{
    HeadBuffer, fmbe, mimps, mince, moments, moments_with_samples, nmimps, retrieve, self_normalised, uniform,
};
use zhat::language::Context;
use zhat::model::{FORMAT_VERSION, FileHeader};
use zhat::{Budget, Classifier, Error, Log2, Model, QueryBuffer, exact, scratch_words, seen_words};
use zhat_fuzz::Aligned;

/// The widest query and the most classes that are tried; larger files are only opened.
const D: usize = 64;
const N: usize = 512;
type Query = QueryBuffer<D>;
/// Memory that is enough for most searches, and memory that overflows.
const ROOMY: usize = scratch_words(N, 256);
const NARROW: usize = scratch_words(N, 24);

fuzz_target!(|bytes: &[u8]| {
    let file = Aligned::model(bytes);
    read_prefix(bytes);
    let trusted = Model::from_bytes_trusted(file.bytes());
    let checked = Model::from_bytes(file.bytes());
    assert!(trusted.is_ok() || checked.is_err(), "what passes all checks is trusted");
    if let Ok(model) = checked.or(trusted) {
        look_at(&model);
        ask(&model, file.checksum());
    }
    if let Ok(context) = Context::from_bytes(file.bytes(), 4) {
        assert!(context.positions() > 0 && context.width() > 0);
    }
});

/// Reads the first bytes as they are, as if flash held anything.
fn read_prefix(bytes: &[u8]) {
    let header = FileHeader::read(bytes);
    match Model::file_len(bytes) {
        Ok(len) => assert!(header.is_ok_and(|header| header.len as usize == len && header.version == FORMAT_VERSION)),
        Err(_) => assert!(header.map_or(true, |header| header.version != FORMAT_VERSION)),
    }
    // A repaired file in longer flash: the bytes after it change nothing.
    let file = Aligned::model(bytes);
    let flash = Aligned::in_flash(file.bytes());
    let [long, own] = [Model::from_prefix(flash.bytes()), Model::from_bytes(file.bytes())];
    assert_eq!(long.ok().map(|model| model.len()), own.ok().map(|model| model.len()));
}

/// Calls the methods of a model.
fn look_at(model: &Model<'_>) {
    let _ = (model.sections().count(), model.settings(), model.measured(), model.fmbe().map(|table| table.features()));
    for class in [0, 1, model.classes() - 1, model.classes(), usize::MAX] {
        if let Some(row) = model.row_of_class(class) {
            let rows = model.rows();
            let _ = (model.class_of_row(row), rows.weights(row).count(), rows.scale(row), rows.bias(row));
        }
        let _ = model.names().map(|names| (names.get(class), names.find("the")));
    }
    let _ = model.names().map(|names| Context::words::<3>(names, "a few words"));
}

/// Sets a query of floats or int8, ordinary or not, and runs all estimators.
fn ask(model: &Model<'_>, choice: u32) {
    if model.classes() > N || model.dim() > D {
        return;
    }
    let wave = |i: usize| ((i + choice as usize % 1000) as f32 * 0.7).sin();
    let floats = |scale: f32| (0..model.dim()).map(|i| scale * wave(i)).collect::<Vec<f32>>();
    let bytes = |largest: f32| (0..model.dim()).map(|i| (largest * wave(i)) as i8).collect::<Vec<i8>>();
    let mut query = Query::empty();
    let set = match choice % 8 {
        0 => query.set(model, &floats(0.0)),
        1 => query.set(model, &floats(1e3)),
        2 => query.set(model, &floats(1e-30)),
        3 => query.set(model, &floats(f32::NAN)),
        4 => query.set_i8(model, &bytes(127.0), 0.01, 3),
        5 => query.set_i8(model, &bytes(-128.0), 1e-3, -128),
        _ => query.set(model, &floats(1.0)),
    };
    if set.is_ok() {
        all_estimators(model, &query);
    }
}

fn all_estimators(model: &Model<'_>, query: &Query) {
    let Ok(answer) = exact::<4>(model, query) else {
        unreachable!("a query of the model");
    };
    assert!(answer.top.iter().all(|best| (0.0..=1.0).contains(&best.p)));
    let _ = (answer.log_z(), answer.interval(0), answer.probability(model, query, 1));
    let _ = classify(model, query, &mut [0; ROOMY]);
    let _ = classify(model, query, &mut [0; NARROW]);
    for cap in [1, 7, 64, N as u32, u32::MAX] {
        let budget = Budget::new(cap).with_epsilon(if cap == 64 { 0.1 } else { 0.0 }).with_expand(cap % 9);
        let _ = estimates(model, query, &budget);
    }
}

/// Runs the classifier with the stored budget and with others.
fn classify(model: &Model<'_>, query: &Query, scratch: &mut [u32]) -> Result<(), Error> {
    let stored = Classifier::new(*model)?;
    let mut rng = Pcg32::new(1, 1);
    for cap in [stored.budget().cap, 1, 20, 64, u32::MAX] {
        let Ok(classifier) = stored.with_budget(stored.budget().with_cap(cap)) else {
            continue;
        };
        if let Ok(found) = classifier.classify::<4>(query, scratch) {
            assert!(found.work.row_equivalents() <= cap, "{:?} of {cap}", found.work);
            assert!(found.top.iter().all(|best| (0.0..=1.0).contains(&best.p)));
            let _ = ([0, 3, 9].map(|place| found.interval(place)), found.is_familiar(), found.is_rejected());
        }
        if let Ok(drawn) = classifier.sample(query, scratch, &mut rng) {
            assert!(drawn.work.row_equivalents() <= cap, "{:?} of {cap}", drawn.work);
        }
        let _ = classifier.certain_log_z(query, scratch);
        let _ = classifier.certain_top::<4>(query, scratch);
    }
    Ok(())
}

fn estimates(model: &Model<'_>, query: &Query, budget: &Budget) -> Result<(), Error> {
    let mut rng = Pcg32::new(u64::from(budget.cap), 2);
    let mut marks = [0; seen_words(N)];
    let mut scratch = [0; ROOMY];
    let mut buffer = HeadBuffer::<20>::new();
    let _ = self_normalised();
    for samples in [0, 5, N] {
        uniform(model, query, samples, &mut rng, &mut marks)?;
    }
    let _ = fmbe(model, query);
    let _ = moments(model, query, budget, &mut scratch);
    for samples in [0, 5, 60] {
        let _ = moments_with_samples(model, query, budget, samples, &mut scratch, &mut rng);
    }
    let head = retrieve(model, query, budget, &mut scratch, &mut buffer)?;
    let _ = nmimps(model, &head);
    let _ = mimps(model, query, 10, &head, &mut rng, &mut marks)?;
    let _ = mince(model, query, 10, &head, &mut rng, &mut marks, &mut [Log2::MIN; 10])?;
    Ok(())
}
