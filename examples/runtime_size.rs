//! Opens models whose sizes are unknown when the program is compiled, and sizes and queries them from one array of
//! words.
//!
//! A firmware does this if its model is in a flash partition of its own and is replaced without the program.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::{entry, say};
use zhat::{Classifier, Error, Model, Query, include_model};

/// With an index and without, of 500 rows of 16 columns, 300 of 12, and 20 of 6.
static MODELS: [&[u8]; 3] = [
    include_model!("../tests/data/indexed.zhat"),
    include_model!("../tests/data/centred.zhat"),
    include_model!("../fuzz/seeds/model/flat.zhat"),
];

/// All the memory for queries and searches. A firmware would put it in a static.
const WORDS: usize = 256;

entry!(run);

fn run() -> Result<(), Error> {
    let mut memory = [0; WORDS];
    for bytes in MODELS {
        ask(Model::from_bytes(bytes)?, &mut memory)?;
    }
    // If the memory is too small, the error says how much is enough.
    if let Err(error) = ask(Model::from_bytes(MODELS[0])?, &mut memory[..40]) {
        say!("  with 40 words in all: {error}");
    }
    Ok(())
}

fn ask(model: Model<'_>, memory: &mut [u32]) -> Result<(), Error> {
    let classifier = Classifier::new(model)?;
    let (for_query, for_search) = (model.query_words(), model.scratch_words());
    say!(
        "{} classes, {} columns: {for_query} words for a query, {for_search} for a search{}",
        model.classes(),
        model.dim(),
        if classifier.is_exact() { ", as every row is scored" } else { "" }
    );
    let (query, scratch) = memory.split_at_mut_checked(for_query).ok_or(Error::QueryWords(for_query as u32))?;
    let query = Query::in_words(query, &model)?;
    // As an int8 network outputs them: a value is the output less the zero point, times the scale.
    let activations: [i8; 16] = [40, -90, 61, 127, -33, 70, -12, 7, 101, -45, 70, 19, -128, 40, 7, 88];
    query.set_i8(&model, activations.get(..model.dim()).ok_or(Error::QueryLength)?, 0.0125, 7)?;
    let answer = classifier.classify::<3>(query, scratch)?;
    for best in &answer.top {
        say!("  class {:3}: p {:.4}", best.class, best.p);
    }
    if answer.overflowed() {
        say!("  with more memory the answer would be sharper");
    }
    Ok(())
}
