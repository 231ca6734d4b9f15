//! Predicts next words with 4-bit rows: the layer of the example `next_word`, its words and the whole firmware fit a
//! small part.
//!
//! `./ci.sh qemu` links it with the memory layout of that part (`SMALL_PART`).
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::{entry, next_words};
use zhat::{Error, include_model};

static MODEL: &[u8] = include_model!("../models/next_word4.zhat");

const DIM: usize = 64;
/// The words of scratch memory that `zhat inspect` prints as enough for any query.
const SCRATCH_WORDS: usize = 751;

entry!(run);

fn run() -> Result<(), Error> {
    next_words::run::<DIM, SCRATCH_WORDS>(MODEL)
}
