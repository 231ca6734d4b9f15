//! Runs `exact` on a device: 100 queries to a model in flash, every answer compared with the host's, bit for bit.
//!
//! Prints the cost: instructions, flash and RAM. The example `make_models` makes the files in `models/`.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use core::hint::black_box;
use support::cases::{self, Answer, Case};
use support::{Sizes, entry, figure, say};
use zhat::internal;
use zhat::{Error, LogSum, Model, Prediction, QueryBuffer};

// A part without compare-and-swap is a Cortex-M0, and QEMU's has 256 KiB of flash.
#[cfg(any(not(target_os = "none"), target_has_atomic = "32"))]
mod flash {
    pub static MODEL: &[u8] = zhat::include_model!("../models/exact.zhat");
    pub static QUERIES: &[u8] = include_bytes!("../models/exact-queries.bin");
}
#[cfg(not(any(not(target_os = "none"), target_has_atomic = "32")))]
mod flash {
    pub static MODEL: &[u8] = zhat::include_model!("../models/exact-small.zhat");
    pub static QUERIES: &[u8] = include_bytes!("../models/exact-small-queries.bin");
}

const DIM: usize = 64;

entry!(run);

fn run() -> Result<(), &'static str> {
    let (model, counted) = support::instructions_of(|| Model::from_bytes(flash::MODEL));
    let model = model.map_err(|_| "the model is refused")?;
    figure!("N = {}, d = {}", model.classes(), model.dim());
    if let Some(counted) = counted {
        figure!("opening and checking the model: {counted} instructions");
    }
    answers_are_those_of_the_host(&model)?;
    stack_and_flash(&model)?;
    kernel();
    exponential();
    Ok(())
}

/// Answers a query: the part that a firmware would contain.
#[inline(never)]
fn answer<const K: usize>(model: &Model<'_>, case: &Case<'_>) -> Result<Prediction<K>, Error> {
    let query = QueryBuffer::<DIM>::from_i8(model, case.query, case.scale, 0)?;
    zhat::exact(model, &query)
}

fn answers_are_those_of_the_host(model: &Model<'_>) -> Result<(), &'static str> {
    let (mut queries, mut total, mut least, mut most) = (0, 0, u64::MAX, 0);
    for case in cases::read(flash::QUERIES, model.dim())? {
        let (prediction, counted) = support::instructions_of(|| answer::<{ cases::TOP }>(model, &case));
        let prediction = prediction.map_err(|_| "a query is refused")?;
        if Answer::of(&prediction) != case.answer {
            return Err("an answer is not that of the host");
        }
        let counted = counted.unwrap_or(0);
        (total, least, most) = (total + counted, least.min(counted), most.max(counted));
        queries += 1;
    }
    say!("{queries} queries: ln Z and the top {} are those of the host, bit for bit", cases::TOP);
    if total > 0 {
        let mean = total / queries;
        figure!("instructions per query: {mean} on average, {least} at least, {most} at most");
    }
    Ok(())
}

fn stack_and_flash(model: &Model<'_>) -> Result<(), &'static str> {
    support::paint();
    for case in cases::read(flash::QUERIES, model.dim())?.take(10) {
        black_box(answer::<8>(model, &case).map_err(|_| "a query is refused")?);
    }
    let deepest = support::deepest();
    if let Some((stack, Sizes { flash, static_ram, .. })) = deepest.zip(support::sizes()) {
        let program = flash - flash::MODEL.len() - flash::QUERIES.len();
        figure!("RAM with K = 8: {stack} bytes of stack at the deepest, {static_ram} of statics");
        figure!("flash: {flash} bytes, {program} of them without model and queries (printing and measuring included)");
    }
    Ok(())
}

/// Measures the instructions of one multiply-accumulate, the call and the loop over rows included.
fn kernel() {
    const ROWS: usize = 32;
    const REPEATS: usize = 100;
    static WEIGHTS: zhat::model::Aligned<[i16; ROWS * DIM / 2]> = zhat::model::Aligned([3; ROWS * DIM / 2]);
    let query = zhat::model::Aligned([5_i16; DIM]);
    let mut dots = [0; ROWS];
    let ((), counted) = support::instructions_of(|| {
        for _ in 0..REPEATS {
            internal::dot_rows(black_box(&WEIGHTS.0), black_box(&query.0), black_box(&mut dots));
        }
    });
    if let Some(counted) = counted {
        let hundredths = counted * 100 / (ROWS * DIM * REPEATS) as u64;
        figure!("kernel: {}.{:02} instructions per multiply-accumulate", hundredths / 100, hundredths % 100);
    }
}

/// Measures the instructions of one exponential and its addition, the loop included.
fn exponential() {
    const TERMS: usize = 64;
    const REPEATS: usize = 100;
    let terms: [i32; TERMS] = core::array::from_fn(|i| (i as i32 * 48_271 % 64 - 60) * 50_001);
    let mut sum = LogSum::new();
    let ((), counted) = support::instructions_of(|| {
        for _ in 0..REPEATS {
            sum.add_all(black_box(&terms));
        }
    });
    black_box(sum);
    if let Some(counted) = counted {
        let tenths = counted * 10 / (TERMS * REPEATS) as u64;
        figure!("exponential and sum: {}.{} instructions per term", tenths / 10, tenths % 10);
    }
}
