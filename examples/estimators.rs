//! Compares every estimator with `exact` on the same queries, as a table: mean error of Z, work, and instructions on a
//! device.
//!
//! The last column mixes the bits of all answers: with fixed seeds they are the same on every target.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use rand_core::Rng;
use rand_pcg::Pcg32;
use support::{entry, figure, say};
use zhat::estimators::{
    Estimate, HeadBuffer, fmbe, mimps, mince, moments, moments_with_samples, nmimps, retrieve, self_normalised, uniform,
};
use zhat::internal::mince_by_newton;
use zhat::{
    Budget, Classifier, Error, Log2, Model, Query, QueryBuffer, Scratch, exact, include_model, scratch_words,
    seen_words,
};

/// 300 rows of twelve columns with a tree and links, and a table of random features of each kind.
static MODELS: [(&str, &[u8]); 3] = [
    ("fmbe", include_model!("../tests/data/maclaurin.zhat")),
    ("fmbe, centred", include_model!("../tests/data/centred.zhat")),
    ("fmbe, positive", include_model!("../tests/data/positive.zhat")),
];
const DIM: usize = 12;
const WORDS: usize = seen_words(300);
type Memory = Scratch<{ scratch_words(300, 256) }>;
const QUERIES: usize = 20;
/// The budget of the search for a head, the size of the head, and the number of samples. Moments may spend as much as
/// all of that.
const SEARCH: Budget = Budget::new(80).with_expand(4);
const HEAD: usize = 20;
const SAMPLES: usize = 40;
const ALL: Budget = SEARCH.with_cap(SEARCH.cap + SAMPLES as u32);

entry!(run);

/// The data and memory of the estimators.
struct Bench<'m> {
    model: Model<'m>,
    scratch: Memory,
    marks: [u32; WORDS],
    head: HeadBuffer<HEAD>,
    random: Pcg32,
}

type Method = fn(&mut Bench<'_>, &Query) -> Result<Estimate, Error>;

const METHODS: [(&str, Method); 8] = [
    ("self-normalised", |_, _| Ok(self_normalised())),
    ("uniform", |bench, query| uniform(&bench.model, query, ALL.cap as usize, &mut bench.random, &mut bench.marks)),
    ("nmimps", |Bench { model, scratch, head, .. }, query| {
        Ok(nmimps(model, &retrieve(model, query, &ALL, scratch, head)?))
    }),
    ("mimps", |Bench { model, scratch, marks, head, random }, query| {
        let head = retrieve(model, query, &SEARCH, scratch, head)?;
        mimps(model, query, SAMPLES, &head, random, marks)
    }),
    ("mince", |Bench { model, scratch, marks, head, random }, query| {
        let head = retrieve(model, query, &SEARCH, scratch, head)?;
        mince(model, query, SAMPLES, &head, random, marks, &mut [Log2::MIN; SAMPLES])
    }),
    ("mince, by Newton", |Bench { model, scratch, marks, head, random }, query| {
        let head = retrieve(model, query, &SEARCH, scratch, head)?;
        mince_by_newton(model, query, SAMPLES, &head, random, marks, &mut [Log2::MIN; SAMPLES])
    }),
    ("moments", |bench, query| moments(&bench.model, query, &ALL, &mut bench.scratch)),
    ("moments + samples", |Bench { model, scratch, random, .. }, query| {
        moments_with_samples(model, query, &ALL, SAMPLES, scratch, random)
    }),
];

fn run() -> Result<(), Error> {
    say!("estimator           mean error of Z   dot products of {DIM}   bits");
    for (name, method) in METHODS {
        compare(name, MODELS[0].1, 1.5, method)?;
    }
    // Random features need small norms.
    for (name, bytes) in MODELS {
        compare(name, bytes, 0.25, |bench, query| fmbe(&bench.model, query))?;
    }
    draw()
}

fn compare(name: &str, bytes: &[u8], size: f32, method: Method) -> Result<(), Error> {
    let model = Model::from_bytes(bytes)?;
    let (scratch, head, random) = (Scratch::new(), HeadBuffer::new(), Pcg32::new(42, 7));
    let mut bench = Bench { model, scratch, marks: [0; WORDS], head, random };
    let mut source = Pcg32::new(7, 42);
    let (mut error, mut work, mut bits, mut total) = (0.0, 0, 0u32, Some(0));
    for _ in 0..QUERIES {
        let query = random_query(&model, size, &mut source)?;
        let truth = exact::<1>(&model, &query)?.log_z();
        let (estimate, instructions) = support::instructions_of(|| method(&mut bench, &query));
        let estimate = estimate?;
        error += (libm::expf(estimate.log_z() - truth) - 1.0).abs();
        work += estimate.work.row_equivalents();
        bits = bits.rotate_left(1) ^ estimate.log_z().to_bits();
        total = total.zip(instructions).map(|(total, more)| total + more);
    }
    let (error, work) = (100.0 * error / QUERIES as f32, work as f32 / QUERIES as f32);
    say!("{name:<18}  {error:13.2} %   {work:18.1}   {bits:#010x}");
    if let Some(total) = total {
        figure!("{name}: {} instructions a query", total / QUERIES as u64);
    }
    Ok(())
}

/// Makes a query of values in steps that f32 holds exactly.
fn random_query(model: &Model<'_>, size: f32, random: &mut Pcg32) -> Result<QueryBuffer<DIM>, Error> {
    let values: [f32; DIM] = core::array::from_fn(|_| size * ((random.next_u32() >> 24) as f32 / 128.0 - 1.0));
    QueryBuffer::new(model, &values)
}

/// Draws classes from the estimated distribution.
fn draw() -> Result<(), Error> {
    let model = Model::from_bytes(MODELS[0].1)?;
    let (classifier, mut random) = (Classifier::new(model)?, Pcg32::new(42, 7));
    let query = random_query(&model, 1.5, &mut random)?;
    for _ in 0..8 {
        let drawn = classifier.sample(&query, &mut Memory::new(), &mut random)?;
        say!("drawn: class {}, p {:#010x}", drawn.class, drawn.p.to_bits());
    }
    Ok(())
}
