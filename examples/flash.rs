//! Measures the flash of each part of zhat: a firmware that does nothing else, built once for each part.
//!
//! `ZHAT_PART` selects the part at compile time. The size of the linked program, less that of the part `nothing`, is
//! the size of the part: code, tables, and whatever of the compiler's library it needs. `./ci.sh device` prints the
//! table.
#![cfg_attr(target_os = "none", no_std, no_main)]

use core::hint::black_box;
use rand_pcg::Pcg32;
use zhat::estimators::{
    HeadBuffer, fmbe, mimps, mince, moments, moments_with_samples, nmimps, retrieve, self_normalised, uniform,
};
use zhat::{Budget, Classifier, Error, Log2, Model, QueryBuffer, Scratch, exact, scratch_words, seen_words};

const PART: &str = match option_env!("ZHAT_PART") {
    Some(part) => part,
    None => "everything",
};
/// The number of steps of [`run`] for the part: a constant, so that the rest is not even compiled.
const DEPTH: u32 = match PART.as_bytes() {
    b"nothing" => 0,
    b"open" => 1,
    b"exact" => 2,
    b"classifier" => 3,
    _ => 4,
};
const CLASSES: usize = 10_000;
const DIM: usize = 64;
const K: usize = 8;
const WORDS: usize = seen_words(CLASSES);
const ROOM: usize = 400;

/// Hidden from the compiler, so that it computes nothing in advance. There is no model in it: the program is never run.
static FILE: [u32; 1] = [0];

fn run() -> Result<(), Error> {
    if DEPTH == 0 {
        return Ok(());
    }
    let model = Model::from_bytes(bytemuck::cast_slice(black_box(&FILE)))?;
    black_box(&model);
    if DEPTH == 1 {
        return Ok(());
    }
    let query = QueryBuffer::<DIM>::new(&model, black_box(&[0.0; DIM]))?;
    black_box(exact::<K>(&model, &query)?);
    if DEPTH == 2 {
        return Ok(());
    }
    let mut scratch = Scratch::<{ scratch_words(CLASSES, ROOM) }>::new();
    let classifier = Classifier::new(model)?;
    black_box(classifier.classify::<K>(&query, &mut scratch)?);
    if DEPTH == 3 {
        return Ok(());
    }
    let budget = Budget::new(400).with_expand(4);
    let mut rng = Pcg32::new(black_box(1), 1);
    let mut marks = [0; WORDS];
    let mut buffer = HeadBuffer::<100>::new();
    black_box(classifier.sample(&query, &mut scratch, &mut rng)?);
    black_box(classifier.certain_log_z(&query, &mut scratch)?);
    black_box(classifier.certain_top::<K>(&query, &mut scratch)?);
    let head = retrieve(&model, &query, &budget, &mut scratch, &mut buffer)?;
    black_box(self_normalised());
    black_box(uniform(&model, &query, 40, &mut rng, &mut marks)?);
    black_box(nmimps(&model, &head));
    black_box(mimps(&model, &query, 40, &head, &mut rng, &mut marks)?);
    black_box(mince(&model, &query, 40, &head, &mut rng, &mut marks, &mut [Log2::MIN; 40])?);
    black_box(fmbe(&model, &query)?);
    black_box(moments(&model, &query, &budget, &mut scratch)?);
    black_box(moments_with_samples(&model, &query, &budget, 25, &mut scratch, &mut rng)?);
    Ok(())
}

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    let _ = black_box(run());
    loop {
        cortex_m::asm::wfi();
    }
}

// Prints nothing: the formatting code would hide the size of zhat.
#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        cortex_m::asm::wfi();
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    let _ = black_box(run());
    println!("built for {PART}; its size on a device is the point of it");
}
