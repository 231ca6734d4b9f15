//! Measures the cost of a query in cycles, stage by stage. `./ci.sh cycles` runs it under the QEMU plugin of
//! `ci/cycles`.
//!
//! The plugin prices the instructions between two marks, `DBG #n` and `DBG #0`, which do nothing on a part. Model and
//! queries are those of the example `costs`. Prints only the number of answers, and their bits mixed.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use core::hint::black_box;
use support::{cases, entry, mark, say};
use zhat::{Classifier, Error, Model, Prediction, QueryBuffer, Scratch, exact, include_model, scratch_words};

static MODEL: &[u8] = include_model!(env!("ZHAT_MODEL"));
static QUERIES: &[u8] = include_bytes!(env!("ZHAT_QUERIES"));

const DIM: usize = 128;
const K: usize = 8;
/// The distance of the queries that the default answers, and of those that `exact` answers.
const STEP: usize = 4;
const STEP_OF_EXACT: usize = 40;

entry!(run);

fn run() -> Result<(), Error> {
    let model = Model::from_bytes(MODEL)?;
    let classifier = Classifier::new(model)?;
    let mut scratch = Scratch::<{ scratch_words(30_000, 2048) }>::new();
    let mut query = QueryBuffer::<DIM>::empty();
    let (mut answers, mut mixed) = (0, 0u32);
    let mut mix = |answer: &Prediction<K>| {
        answers += 1;
        mixed = mixed.rotate_left(1) ^ answer.log_z().to_bits();
    };
    let queries = || cases::queries(QUERIES, model.dim()).map_err(|_| Error::QueryLength);
    for (scale, values) in queries()?.step_by(STEP) {
        mark!(1);
        query.set_i8(&model, black_box(values), scale, 0)?;
        let answer = black_box(classifier.classify::<K>(&query, &mut scratch)?);
        mark!(0);
        mix(&answer);
    }
    for (scale, values) in queries()?.step_by(STEP_OF_EXACT) {
        mark!(2);
        query.set_i8(&model, black_box(values), scale, 0)?;
        let answer = black_box(exact::<K>(&model, &query)?);
        mark!(0);
        mix(&answer);
    }
    say!("{answers} answers, mixed {mixed:#010x}");
    Ok(())
}
