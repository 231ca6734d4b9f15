//! Predicts next words on the device: takes words, computes the query from them, and prints the next words with their
//! probabilities.
//!
//! The model ships with the repository; `zhat demo` shows the same predictions on a host.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::{entry, next_words};
use zhat::{Error, include_model};

static MODEL: &[u8] = include_model!("../models/next_word.zhat");

const DIM: usize = 64;
/// The words of scratch memory that `zhat inspect` prints as enough for any query.
const SCRATCH_WORDS: usize = 591;

entry!(run);

fn run() -> Result<(), Error> {
    next_words::run::<DIM, SCRATCH_WORDS>(MODEL)
}
