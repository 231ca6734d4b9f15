//! A firmware that cannot panic: it links only if none of its calls can reach a panic.
//!
//! The panic handler calls a function that does not exist. The linker removes code that is never reached. So the
//! program links only if the handler is removed: if the optimised library has no index that could be out of range, no
//! slice of a wrong length, no division by zero. The program calls every public function of the core but those that
//! format text, since `core::fmt` itself could panic.
#![cfg_attr(target_os = "none", no_std, no_main)]

use core::hint::black_box;
use rand_pcg::Pcg32;
use zhat::estimators::{
    Head, HeadBuffer, fmbe, mimps, mince, moments, moments_with_samples, nmimps, retrieve, self_normalised, uniform,
};
use zhat::internal::{self, Indices, SmallFloat, Tree, exp2_fraction};
use zhat::language::Context;
use zhat::model::{Bits, FileHeader, Section};
use zhat::{
    Budget, Classifier, Error, Log2, LogSum, Model, Names, Prediction, Query, QueryBuffer, RowTable, Scratch,
    include_model, query_words, scratch_words, seen_words,
};

static MODEL: &[u8] = include_model!("../tests/data/maclaurin.zhat");
static QUERY: [f32; DIM] = [0.5, -1.0, 0.75, 0.25, -0.5, 1.0, -0.25, 0.0, 0.5, -0.75, 1.0, 0.25];
const DIM: usize = 12;
const WORDS: usize = seen_words(300);
type Memory = Scratch<{ scratch_words(300, 88) }>;

/// Checks that `exact` and the classifier agree on the best class, for queries in floats and in int8.
fn answers_agree() -> Result<bool, Error> {
    // In a black box: an optimiser that sees the bytes could prove more than it can about a user's model.
    let (bytes, values) = black_box((MODEL, &QUERY[..]));
    if cfg!(zhat_panics_on_purpose) {
        return Ok(values[bytes.len()] > 0.0);
    }
    let model = Model::from_bytes(bytes)?;
    let classifier = Classifier::new(model)?;
    let query = QueryBuffer::<DIM>::new(&model, values)?;
    let mut scratch = Memory::new();
    let exact = zhat::exact::<5>(&model, &query)?;
    let estimated = classifier.classify::<5>(&query, &mut scratch)?;
    let drawn = classifier.sample(&query, &mut scratch, &mut Pcg32::new(42, 7))?;
    let probability = exact.probability(&model, &query, drawn.class as usize)?;
    let (Some(truth), Some(best)) = (exact.top.first(), estimated.top.first()) else {
        return Ok(false);
    };
    let (low, high) = estimated.interval(0).or(exact.interval(0)).unwrap_or((0.0, 1.0));
    black_box((estimated.is_familiar(), estimated.is_rejected()));
    black_box((
        estimated.log_z(),
        estimated.energy(),
        estimated.frontier_words(),
        estimated.overflowed(),
        estimated.work.row_equivalents(),
    ));
    promises(&estimated, &model, &query);
    estimators_answer(&model, &query)?;
    let _ = black_box(certainties(&classifier, &query));
    let _ = black_box(next_word(bytes, &model));
    look_at(&model);
    compute();
    #[cfg(feature = "keywords")]
    let _ = black_box(spot_keywords(bytes, &classifier));
    Ok(truth.class == best.class && low <= high && probability <= truth.p && int8_is_taken(&model)?)
}

fn int8_is_taken(model: &Model<'_>) -> Result<bool, Error> {
    let mut words = [0; query_words(DIM)];
    Query::in_words(black_box(&mut words), model)?.set(model, &QUERY)?;
    let _ = black_box(QueryBuffer::<DIM>::from_i16(model, &[0; DIM], 1.0));
    let values = black_box([50, -100, 75, 25, -50, 100, -25, 0, 50, -75, 100, 25]);
    let query = QueryBuffer::<DIM>::from_i8(model, &values, 0.01, 0)?;
    let mut same = QueryBuffer::<DIM>::empty();
    same.set(model, &QUERY)?;
    same.set_i8(model, &values, 0.01, 0)?;
    same.set_i16(model, &values.map(i16::from), 0.01)?;
    let _ = black_box(QueryBuffer::<DIM>::from_u8(model, &values.map(i8::cast_unsigned), 0.01, 3));
    Ok(query.norm() == same.norm() && query.value(3) == same.value(3))
}

/// Runs every estimator, with the head that the index retrieves.
fn estimators_answer(model: &Model<'_>, query: &QueryBuffer<DIM>) -> Result<(), Error> {
    let budget = black_box(Budget::new(60).with_expand(2));
    let mut rng = Pcg32::new(black_box(1), 1);
    let mut scratch = Memory::default();
    let mut buffer = HeadBuffer::<20>::default();
    let mut marks = [0; WORDS];
    let mut noise = [Log2::MIN; 20];
    let head = retrieve(model, query, &budget, &mut scratch, &mut buffer)?;
    let estimates = [
        self_normalised(),
        uniform(model, query, 20, &mut rng, &mut marks)?,
        nmimps(model, &head),
        mimps(model, query, 20, &head, &mut rng, &mut marks)?,
        mimps(model, query, 20, &Head::empty(), &mut rng, &mut marks)?,
        mince(model, query, 20, &head, &mut rng, &mut marks, &mut noise)?,
        fmbe(model, query)?,
        moments(model, query, &budget, &mut scratch)?,
        moments_with_samples(model, query, &budget, 20, &mut scratch, &mut rng)?,
    ];
    for estimate in black_box(estimates) {
        black_box((estimate.log_z(), estimate.probability(Log2::from_bits(0))));
    }
    black_box((head.candidates(), head.work()));
    Ok(())
}

/// Calls the functions that need bounds, and those with other budgets.
fn certainties(classifier: &Classifier<'_>, query: &QueryBuffer<DIM>) -> Result<(), Error> {
    let mut scratch = Memory::new();
    let other = classifier.with_budget(classifier.budget().with_cap(100))?;
    black_box((other.model().classes(), other.is_exact()));
    black_box(other.certain_log_z(query, &mut scratch)?);
    black_box(other.certain_top::<5>(query, &mut scratch)?);
    Ok(())
}

/// Asks an answer for its promises.
fn promises(answer: &Prediction<5>, model: &Model<'_>, query: &QueryBuffer<DIM>) {
    black_box(answer.set(model, black_box(0.9)).map(|set| (set.classes.len(), set.more)));
    black_box(answer.is_known(model, query));
    black_box(answer.reweighted(|class| black_box(class as f32), black_box(1.0)));
    if let Some(sets) = model.sets() {
        black_box((sets.labels(), sets.levels().count()));
    }
}

/// Makes a query of the previous words. The bytes are not a valid context: only linking matters.
fn next_word(bytes: &[u8], model: &Model<'_>) -> Result<(), Error> {
    let context = Context::from_bytes(bytes, DIM)?;
    black_box((context.positions(), context.width()));
    if let Some(names) = model.names() {
        black_box((names.get(3), names.find("word"), names.len(), names.is_empty()));
        let words = Context::words::<3>(names, black_box("a few words"))?;
        black_box(context.query::<DIM, 24>(model, &words)?);
    }
    Ok(())
}

/// Spots keywords in samples. The bytes are not a valid encoder: only linking matters.
#[cfg(feature = "keywords")]
fn spot_keywords(bytes: &[u8], classifier: &Classifier<'_>) -> Result<(), Error> {
    use zhat::keywords::{Detector, Encoder, EncoderState, Features, Spotter};

    let Ok(encoder) = Encoder::from_bytes(bytes) else { return Ok(()) };
    black_box((encoder.dim(), encoder.thresholds()));
    let mut spotter = Spotter::<{ scratch_words(300, 88) }>::new(encoder, *classifier)?.with_threshold(0.5);
    spotter.hear(black_box(&[0; 500]), |decision| {
        black_box(decision);
    })?;
    black_box(spotter.is_listening());
    let (mut features, mut state, mut detector) = (Features::new(), EncoderState::new(), Detector::new());
    if let (Some(frame), _) = features.push(black_box(&[0; 500])) {
        black_box((detector.push(frame.level), detector.noise(), detector.quiet_frames(), detector.is_word()));
        detector.finish();
        state.push(&encoder, &frame.bands);
    }
    black_box(state.query::<128>(&encoder)?);
    state.clear();
    Ok(())
}

/// Calls the methods of a model.
fn look_at(model: &Model<'_>) {
    let at = black_box(7);
    black_box((model.len(), model.dim(), model.scale_exponent(), model.row_scale(at), model.max_norm()));
    black_box((
        model.least_cap(),
        model.scratch_words(),
        model.scratch_words_for(&Budget::new(50)),
        model.query_words(),
    ));
    black_box((model.largest_row(), model.class_of_row(at), model.row_of_class(at), model.sections().count()));
    black_box((model.rows().bias_shift(), model.rows().is_masked(at)));
    black_box((
        model.input_scale().map(|input| input.zero_point_u8()),
        model.build_id(),
        model.settings(),
        model.measured(),
        model.names().map(Names::len),
        Section::Rows.kind(),
    ));
    if let Some(table) = model.fmbe() {
        black_box((table.kind(), table.features(), table.seed()));
    }
    let indices = Indices::Short(black_box(&[3, 1, 2]));
    black_box((indices.len(), indices.is_empty(), indices.get(at), Indices::are_short(at)));
    look_at_rows(model.rows(), at);
    if let Some(tree) = model.tree() {
        look_at_tree(tree, at);
    }
    let _ = black_box(Model::from_bytes_trusted(black_box(MODEL)));
    let _ = black_box((Model::from_prefix(black_box(MODEL)), Model::from_prefix_trusted(black_box(MODEL))));
    let _ = black_box((Model::file_len(black_box(MODEL)), FileHeader::read(black_box(MODEL))));
}

fn look_at_rows(rows: &RowTable<'_>, at: usize) {
    black_box((rows.len(), rows.is_empty(), rows.stride(), rows.scale(at), rows.bias(at)));
    black_box(rows.weights(at).fold(0, |sum, weight| sum + i32::from(weight)));
    black_box((rows.bits().count(), rows.bits().row_bytes(at)));
    black_box(RowTable::new(black_box(&[0; 8]), &[1; 4], &[0; 4], 7, at, Bits::Eight).is_some());
    #[cfg(feature = "rows4")]
    black_box(RowTable::new(black_box(&[0; 8]), &[], &[0; 4], 7, at, Bits::Four).is_some());
}

fn look_at_tree(tree: &Tree<'_>, at: usize) {
    black_box((tree.len(), tree.is_empty(), tree.top(), tree.nodes().len(), tree.has_bounds(), tree.bounds(at)));
    black_box((tree.span(at), tree.span(at).is_leaf()));
    black_box(tree.least_cap());
}

/// Calls the basic arithmetic and the kernels.
fn compute() {
    let number = black_box(12_345u32);
    let (a, b) = (Log2::of(u64::from(number)), Log2::from_nats(black_box(-1.5)));
    black_box((a.saturating_add(b), a.saturating_sub(b), b.to_nats(), b.to_bits(), exp2_fraction(number)));
    let mut sum = LogSum::new();
    sum.add(a);
    sum.add_all(black_box(&[1, 2, 3]));
    let part = sum.scaled(number, 7);
    sum.add_sum(&part);
    sum.subtract_sum(&part);
    black_box((sum.is_zero(), sum.ln(), sum.log2(), sum.share(a), sum.share_of_sum(&part)));
    black_box((SmallFloat::at_least(number).map(|x| x.to_bits()), SmallFloat::from_bits(number as u16).units()));
    let (row, query) = black_box(([internal::pair(1, -2); 8], [3i16; 8]));
    let mut dots = [0; 2];
    internal::dot_rows(&row, &query, &mut dots);
    internal::dot_picked(&row, black_box(&[1, 0]), &query, &mut dots);
    black_box((dots, internal::dot(&row, &query), internal::weights(row[0]), internal::query_slot(number as usize, 8)));
    #[cfg(feature = "rows4")]
    compute_four_bits(row, query, number as usize);
}

#[cfg(feature = "rows4")]
fn compute_four_bits(row: [i16; 8], query: [i16; 8], stride: usize) {
    use internal::four_bit;

    let mut dots = [0; 2];
    four_bit::dots(&row, black_box(None), &query, &mut dots);
    four_bit::dots(&row, Some(black_box(&[1, 0])), &query, &mut dots);
    black_box((dots, four_bit::weight(&row, 3, stride), four_bit::scales(&row), four_bit::squares(&row, stride)));
}

fn report() -> &'static str {
    match answers_agree() {
        Ok(true) => "every function of the core, with no way to panic\n",
        Ok(false) => "the answers contradict each other\n",
        Err(_) => "something was refused\n",
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    print!("{}", report());
}

#[cfg(target_os = "none")]
mod device {
    #![allow(unsafe_code)]

    use core::panic::PanicInfo;
    use cortex_m_semihosting::{debug, hio};

    unsafe extern "C" {
        // Defined nowhere: a linker error that names it means that something can panic.
        #[cfg(not(debug_assertions))]
        fn zhat_can_panic() -> !;
    }

    #[panic_handler]
    fn panic(_: &PanicInfo<'_>) -> ! {
        // SAFETY: there is no such function, and no program that calls it.
        #[cfg(not(debug_assertions))]
        unsafe {
            zhat_can_panic()
        }
        // With overflow checks there are panics, and they must link.
        #[cfg(debug_assertions)]
        stop(debug::EXIT_FAILURE)
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        if let Ok(mut out) = hio::hstdout() {
            let _ = out.write_all(super::report().as_bytes());
        }
        stop(debug::EXIT_SUCCESS)
    }

    fn stop(status: debug::ExitStatus) -> ! {
        debug::exit(status);
        loop {
            cortex_m::asm::nop();
        }
    }
}
