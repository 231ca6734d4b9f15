//! Measures the cost of each estimator on a device, and its accuracy: instructions and error of Z over 1 000 queries,
//! and RAM.
//!
//! `ZHAT_MODEL` and `ZHAT_QUERIES` name the model and its queries when this is compiled (`.cargo/config.toml` has
//! defaults). `./ci.sh device` makes models of several sizes and prints the table of `guide::measured`. All answers are
//! mixed into one number that is the same on every target.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use core::fmt;
use core::hint::black_box;

use rand_pcg::Pcg32;
use support::cases;
use support::{entry, figure, say};
use zhat::estimators::{Estimate, HeadBuffer, mimps, mince, moments_with_samples, nmimps, retrieve, uniform};
use zhat::internal;
use zhat::model::Aligned;
use zhat::{
    Budget, Classifier, Error, Log2, Model, QueryBuffer, Scratch, exact, include_model, scratch_words, seen_words,
};

static MODEL: &[u8] = include_model!(env!("ZHAT_MODEL"));
static QUERIES: &[u8] = include_bytes!(env!("ZHAT_QUERIES"));

/// Room for the largest model that is measured.
const DIM: usize = 128;
const WORDS: usize = seen_words(30_000);
const ROOM: usize = 2048;
/// The most queries.
const QUERY_COUNT: usize = 1000;
/// The number of best classes in an answer, and the head of the paper's estimators.
const K: usize = 8;
const HEAD: usize = 40;
const SAMPLES: usize = 40;

entry!(run);

/// The data and memory of all estimators.
struct Bench<'m> {
    model: Model<'m>,
    classifier: Classifier<'m>,
    budget: Budget,
    query: QueryBuffer<DIM>,
    scratch: Scratch<{ scratch_words(30_000, ROOM) }>,
    marks: [u32; WORDS],
    head: HeadBuffer<HEAD>,
    random: Pcg32,
}

/// Computes ln Z of the current query; also returns the work.
type Method = fn(&mut Bench<'_>) -> Result<(f32, u32), Error>;

const METHODS: [(&str, Method); 7] = [
    ("exact", |Bench { model, query, .. }| {
        let answer = exact::<K>(model, query)?;
        Ok((answer.log_z(), answer.work.row_equivalents()))
    }),
    ("moments", |Bench { classifier, query, scratch, .. }| {
        let answer = classifier.classify::<K>(query, scratch)?;
        Ok((answer.log_z(), answer.work.row_equivalents()))
    }),
    ("moments + samples", |Bench { model, budget, query, scratch, random, .. }| {
        moments_with_samples(model, query, budget, SAMPLES, scratch, random).map(figures)
    }),
    ("uniform", |Bench { model, budget, query, marks, random, .. }| {
        uniform(model, query, budget.cap as usize, random, marks).map(figures)
    }),
    ("nmimps", |Bench { model, budget, query, scratch, head, .. }| {
        Ok(figures(nmimps(model, &retrieve(model, query, budget, scratch, head)?)))
    }),
    ("mimps", |Bench { model, budget, query, scratch, head, marks, random, .. }| {
        let search = budget.with_cap(budget.cap - SAMPLES as u32);
        let head = retrieve(model, query, &search, scratch, head)?;
        mimps(model, query, SAMPLES, &head, random, marks).map(figures)
    }),
    ("mince", |Bench { model, budget, query, scratch, head, marks, random, .. }| {
        let search = budget.with_cap(budget.cap - SAMPLES as u32);
        let head = retrieve(model, query, &search, scratch, head)?;
        mince(model, query, SAMPLES, &head, random, marks, &mut [Log2::MIN; SAMPLES]).map(figures)
    }),
];

/// Quantises a query, given in int8 as a network outputs it (scale and values), and runs the method on it.
fn answer(bench: &mut Bench<'_>, (scale, values): (f32, &[i8]), method: Method) -> Result<(f32, u32), Error> {
    bench.query.set_i8(&bench.model, values, scale, 0)?;
    method(bench)
}

fn figures(estimate: Estimate) -> (f32, u32) {
    (estimate.log_z(), estimate.work.row_equivalents())
}

fn run() -> Result<(), &'static str> {
    let (model, opening) = support::instructions_of(|| Model::from_bytes(black_box(MODEL)));
    let model = model.map_err(|_| "the model is refused")?;
    let classifier = Classifier::new(model).map_err(|_| "the model has no index")?;
    let (budget, scratch) = (classifier.budget(), Scratch::new());
    let (marks, head, random) = ([0; WORDS], HeadBuffer::new(), Pcg32::new(1, 1));
    let mut bench = Bench { model, classifier, budget, query: QueryBuffer::empty(), scratch, marks, head, random };
    let (classes, dim) = (model.classes(), model.dim());
    say!("N = {classes}, d = {dim}, at most {} row-equivalents", budget.cap);
    if let Some(opening) = opening {
        figure!("{classes} x {dim}: {} bytes are opened and checked in {opening} instructions", MODEL.len());
    }
    // The answers of `exact`, which is the first method.
    let mut truths = heapless::Vec::<f32, QUERY_COUNT>::new();
    for (name, method) in METHODS {
        // In a small layer a search may not be sure to find a class within less than the whole budget.
        if let Some(first) = cases::queries(QUERIES, dim)?.next()
            && matches!(answer(&mut bench, first, method), Err(Error::Budget(_)))
        {
            say!("{name}: the budget is too small");
            continue;
        }
        bench.random = Pcg32::new(1, 1);
        let (mut queries, mut total, mut least, mut most) = (0, 0, u64::MAX, 0);
        let (mut dots, mut error, mut mixed) = (0, 0.0, 0u32);
        for (i, case) in cases::queries(QUERIES, dim)?.take(QUERY_COUNT).enumerate() {
            let (answered, counted) = support::instructions_of(|| answer(&mut bench, black_box(case), method));
            let (log_z, rows) = answered.map_err(|_| "a query is refused")?;
            let counted = counted.unwrap_or(0);
            (total, least, most) = (total + counted, least.min(counted), most.max(counted));
            (queries, dots) = (queries + 1, dots + u64::from(rows));
            if name == "exact" {
                let _ = truths.push(log_z);
            }
            error += truths.get(i).map_or(0.0, |truth| (libm::expf(log_z - truth) - 1.0).abs());
            mixed = mixed.rotate_left(1) ^ log_z.to_bits();
        }
        let share = dots * 10_000 / (queries * classes as u64);
        let error = (10_000.0 * error / queries as f32) as u64;
        // In whole numbers: printing a float takes 10 KiB of flash.
        let (work, error) = (Hundredths(share), Hundredths(error));
        say!("{name}: {queries} queries, work {work} %, error of Z {error} %, mixed {mixed:#010x}");
        if total > 0 {
            let mean = total / queries;
            if name == "moments" {
                share_of_dots(dots / queries, &model, mean);
                let promised = budget.most_instructions(&model);
                figure!("at most {promised} instructions for any query, {} cycles", budget.most_cycles(&model));
                // Targets with a hard-float ABI have the DSP instructions for which the promise is made.
                if cfg!(target_abi = "eabihf") && most.max(odd_queries(&mut bench, method)?) > promised {
                    return Err("a query took more than Budget::most_instructions promises");
                }
            }
            figure!("| {classes} | {dim} | {name} | {work} % | {error} % | {least} | {mean} | {most} |");
        }
    }
    stack(&mut bench)
}

/// The most instructions of queries that are no queries: zeros, as silence and dead units are, and others damped or made louder.
fn odd_queries(bench: &mut Bench<'_>, method: Method) -> Result<u64, &'static str> {
    let mut most = 0;
    for (scale, values) in cases::queries(QUERIES, bench.model.dim())?.take(QUERY_COUNT / 20) {
        for factor in [0.0, 1e-3, 0.1, 0.3, 3.0] {
            let odd = black_box((factor * scale, values));
            let (answered, counted) = support::instructions_of(|| answer(bench, odd, method));
            answered.map_err(|_| "an odd query is refused")?;
            most = most.max(counted.unwrap_or(0));
        }
    }
    Ok(most)
}

/// Displays hundredths with two decimals.
struct Hundredths(u64);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// A kernel for consecutive rows.
type DotRows = fn(&[i16], &[i16], &mut [i32]);

/// Prints the share of dot products in a query's instructions: the instructions that the kernel takes for the same
/// number of rows.
fn share_of_dots(rows: u64, model: &Model<'_>, all: u64) {
    const ROWS: usize = 32;
    static WEIGHTS: Aligned<[i16; ROWS * DIM / 2]> = Aligned([3; ROWS * DIM / 2]);
    let query = Aligned([5_i16; DIM]);
    let stride = model.rows().stride();
    #[cfg(not(feature = "rows4"))]
    let (dot_rows, len): (DotRows, usize) = (internal::dot_rows, stride / 2);
    #[cfg(feature = "rows4")]
    let (dot_rows, len): (DotRows, usize) = match model.bits().count() {
        4 => {
            (|rows, query, dots| internal::four_bit::dots(rows, None, query, dots), internal::four_bit::row_len(stride))
        }
        _ => (internal::dot_rows, stride / 2),
    };
    let (weights, query) = (WEIGHTS.0.get(..ROWS * len).unwrap_or(&[]), query.0.get(..stride).unwrap_or(&[]));
    let mut dots = [0; ROWS];
    let ((), counted) = support::instructions_of(|| {
        for _ in 0..ROWS {
            dot_rows(black_box(weights), black_box(query), black_box(&mut dots));
        }
    });
    if let Some(counted) = counted {
        let dots = rows * counted / (ROWS * ROWS) as u64;
        figure!("{dots} of {all} instructions of moments are dot products, {} %", 100 * dots / all);
    }
}

/// Measures the deepest stack of the default classifier and its answer. Adds query and scratch memory: once as much as
/// these queries used, once as much as is enough for any.
fn stack(bench: &mut Bench<'_>) -> Result<(), &'static str> {
    let before = support::depth();
    support::paint();
    let mut used = 0;
    for (scale, values) in cases::queries(QUERIES, bench.model.dim())?.take(QUERY_COUNT) {
        let Bench { model, classifier, query, scratch, .. } = bench;
        query.set_i8(model, black_box(values), scale, 0).map_err(|_| "a query is refused")?;
        let answer = classifier.classify::<K>(query, scratch).map_err(|_| "a query is refused")?;
        used = used.max(black_box(&answer).frontier_words());
    }
    if let Some((deepest, before)) = support::deepest().zip(before) {
        let stack = deepest - before;
        let ram = |scratch: usize| stack + 4 * (scratch + bench.model.query_words());
        let (used, enough) = (scratch_words(bench.model.classes(), used as usize), bench.model.scratch_words());
        figure!(
            "RAM of the classifier, K = {K}: {stack} bytes of stack, {} in all with query and the scratch memory used",
            ram(used)
        );
        figure!("{} in all with the scratch memory that is enough for any query within the cap", ram(enough));
        if bench.model.classes() <= 10_000 && ram(enough) > 5 * 1024 {
            return Err("the classifier takes more than 5 KiB of RAM");
        }
    }
    Ok(())
}
