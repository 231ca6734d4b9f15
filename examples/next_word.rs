//! The whole job on the device: words in, the query computed from them, the next words with their probabilities out.
//!
//! The model ships with the repository; `zhat demo` shows the same predictions on a host.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::{entry, next_words};
use zhat::{Error, include_model};

static MODEL: &[u8] = include_model!("../models/next_word.zhat");

const DIM: usize = 64;
/// What `zhat inspect` says that is enough for any query.
const SCRATCH_WORDS: usize = 591;

entry!(run);

fn run() -> Result<(), Error> {
    next_words::run::<DIM, SCRATCH_WORDS>(MODEL)
}
