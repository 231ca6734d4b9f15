//! Functions for C: open a model, classify, read the answer. `zhat.h` beside this file declares them.
//!
//! Nothing is allocated and nothing panics; a call that cannot be answered returns a [`ZhatError`]. The static library:
//!
//! ```text
//! cargo rustc --release --lib --crate-type staticlib --features capi --target thumbv7em-none-eabihf -- --cfg zhat_staticlib
//! ```
//!
//! The last words add a panic handler, without which no static library is made for a target without an operating
//! system. They are no feature, because a Rust program that happens to switch all features on has a handler of its own.
//! Link with `-Wl,--gc-sections`: the handler is then gone, since nothing calls it. (For a host, add the feature `std`.)
//!
//! # Memory
//! The caller has all of it: the model file's bytes (in flash, on a word boundary), a `zhat_model` (a few hundred
//! bytes that point into the file), and scratch memory for a call, an array of
//! `ZHAT_SCRATCH_WORDS(classes, dim, node_words)` words. `zhat inspect` prints the three numbers.
//!
//! # Threads and interrupts
//! No function keeps state of its own. An open model is only read: any number of tasks and interrupt handlers may use
//! it at the same time. Scratch memory and results belong to one call at a time.

#![allow(unsafe_code)]

mod answer;
mod error;
mod model;
#[cfg(all(zhat_staticlib, target_os = "none"))]
mod panic_handler;
mod pointers;
mod scratch;

pub use answer::{
    ZHAT_MAX_TOP, ZhatClass, ZhatResult, zhat_classify, zhat_classify_i8, zhat_classify_i16, zhat_exact, zhat_exact_i8,
    zhat_exact_i16,
};
pub use error::{ZhatError, zhat_error_text};
pub use model::{
    ZHAT_MODEL_WORDS, ZhatModel, zhat_classes, zhat_dim, zhat_least_cap, zhat_open, zhat_open_trusted,
    zhat_scratch_words,
};
pub use scratch::scratch_words;
