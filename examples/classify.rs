//! The smallest useful firmware: a model in flash, one query, the best classes with their probabilities.
//!
//! Copy it for your own board: only `say!` and `entry!` depend on QEMU.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::{entry, say};
use zhat::{Classifier, Error, Model, QueryBuffer, Scratch, include_model};

static MODEL: &[u8] = include_model!("../tests/data/indexed.zhat");
/// The numbers that `zhat inspect` prints: classes, dimension, and the words of memory that are enough for any query.
const CLASSES: usize = 500;
const DIM: usize = 16;
const SCRATCH_WORDS: usize = 74;

/// The activations in front of the layer.
const ACTIVATIONS: [f32; DIM] = [
    0.5, -1.25, 0.75, 2.0, -0.5, 1.0, -0.25, 0.0, 1.5, -0.75, 1.0, 0.25, -2.0, 0.5, 0.0, 1.25, //
];

entry!(run);

fn run() -> Result<(), Error> {
    // Checked once and not copied: the model stays where it is.
    let model = Model::from_bytes(MODEL)?;
    let classifier = Classifier::new(model)?;
    // All the memory that a query needs. A firmware would put it in a static.
    let mut scratch = Scratch::<SCRATCH_WORDS>::new();
    let query = QueryBuffer::<DIM>::new(&model, &ACTIVATIONS)?;
    let answer = classifier.classify::<5>(&query, &mut scratch)?;
    for (place, best) in answer.top.iter().enumerate() {
        match answer.interval(place) {
            Some((low, high)) => say!("class {:3}: p {:.4}, within {low:.4} to {high:.4}", best.class, best.p),
            None => say!("class {:3}: p {:.4}, no interval: the query is not like the calibration", best.class, best.p),
        }
    }
    say!("{} of {CLASSES} rows' work", answer.work.row_equivalents());
    Ok(())
}
