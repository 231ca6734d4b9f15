//! The whole job on the device: words in, the query computed from them, the next words with their probabilities out.
//!
//! The model ships with the repository; `zhat demo` shows the same predictions on a host.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::{entry, figure, say};
use zhat::language::Context;
use zhat::{Classifier, Error, Model, QueryBuffer, Scratch, include_model};

static MODEL: &[u8] = include_model!("../models/next_word.zhat");
static CONTEXT: &[u8] = include_model!("../models/next_word.context");
static PROMPTS: &str = include_str!("../models/prompts.txt");

/// Words of a context, dimension, and length of the context's sums, as they were trained.
const POSITIONS: usize = 9;
const DIM: usize = 64;
const WIDTH: usize = 128;
/// What `zhat inspect` says that is enough for any query.
const SCRATCH_WORDS: usize = 666;

entry!(run);

fn run() -> Result<(), Error> {
    let model = Model::from_bytes(MODEL)?;
    let names = model.names().ok_or(Error::NoSuchClass)?;
    let context = Context::from_bytes(CONTEXT, DIM)?;
    let classifier = Classifier::new(model)?;
    let mut scratch = Scratch::<SCRATCH_WORDS>::new();
    for prompt in PROMPTS.lines() {
        let words = Context::words::<POSITIONS>(names, prompt)?;
        let (values, for_query) = support::instructions_of(|| context.query::<DIM, WIDTH>(&model, &words));
        let (answer, for_answer) = support::instructions_of(|| {
            let query = QueryBuffer::<DIM>::new(&model, &values?)?;
            classifier.classify::<5>(&query, &mut scratch)
        });
        let answer = answer?;
        say!("{prompt} …");
        for (place, best) in answer.top.iter().enumerate() {
            let name = names.get(best.class as usize).unwrap_or("?");
            match answer.interval(place) {
                Some((low, high)) => say!("  {:.4} ({low:.4} to {high:.4})  {name}", best.p),
                None => say!("  {:.4} (not like the calibration)  {name}", best.p),
            }
        }
        if let Some((query, answer)) = for_query.zip(for_answer) {
            figure!("{query} instructions for the query, {answer} for the answer");
        }
    }
    Ok(())
}
