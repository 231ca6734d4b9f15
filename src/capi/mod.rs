//! Functions for C: open a model, classify, read the answer. `zhat.h` beside this file declares them.
//!
//! ```c
//! #include "zhat.h"
//!
//! static uint32_t scratch[ZHAT_SCRATCH_WORDS(10000, 64, 490)];     /* classes, dimension, words for nodes: `zhat inspect` */
//! zhat_model model;
//! zhat_class top[5];
//! zhat_result result;
//!
//! zhat_error error = zhat_open(&model, file, file_length);         /* checked once, nothing copied */
//! error = zhat_classify(&model, activations, 64, 0, scratch, sizeof scratch / sizeof scratch[0], top, 5, &result);
//! ```
//!
//! Queries in int8 and uint8, with scale and zero point, and in int16 have functions of their own. [`zhat_open_prefix`]
//! opens a model in a flash partition, and [`zhat_file_header`] reads the version and build of the file in one.
//! [`zhat_name`] and [`zhat_probability`] take any class. Nothing is allocated and nothing panics; a call that fails
//! returns a [`ZhatError`]. `examples/c` of the repository is a whole program, with startup and linker script; the page
//! `guide::c_projects` is the way with CMake, and has `zhat.hpp` for C++. This command builds the static library:
//!
//! ```text
//! cargo rustc --release --lib --crate-type staticlib --features capi --target thumbv7em-none-eabihf -- --cfg zhat_staticlib
//! ```
//!
//! The last part adds a panic handler, without which a static library cannot be built for a target without an operating
//! system. It is a flag and not a feature, because a Rust program with all features on has a handler of its own. Link
//! with `-Wl,--gc-sections`, which removes the handler, since nothing calls it. (For a host, add the feature `std`; for
//! models of 4-bit rows, `rows4`.)
//!
//! # Memory
//! The caller owns all memory: the model file's bytes (in flash, on a word boundary), a `zhat_model` (a few hundred
//! bytes that point into the file), and scratch memory for a call, an array of `ZHAT_SCRATCH_WORDS(classes, dim,
//! node_words)` words. `zhat inspect` prints the three numbers, and [`zhat_scratch_words`] returns at run time how many
//! words are enough.
//!
//! # Threads and interrupts
//! No function keeps state. An open model is only read: any number of tasks and interrupt handlers may use it at the
//! same time. Scratch memory and results belong to one call at a time.
//!
//! # The same calls from Rust
//! ```
//! use core::ffi::CStr;
//! use core::mem::MaybeUninit;
//! use zhat::capi::*;
//!
//! let file = zhat::doc_example();
//! let mut model = MaybeUninit::<ZhatModel>::zeroed();
//! let mut scratch = [0u32; scratch_words(4, 3, 0)];
//! let mut top = [ZhatClass { id: 0, p: 0.0, lower: 0.0, upper: 1.0 }; 2];
//! let mut result = MaybeUninit::<ZhatResult>::zeroed();
//! let query = [0.5_f32, -1.0, 2.0];
//!
//! // SAFETY: every pointer is to as much as the length beside it says, nothing overlaps, and the file stays where it is.
//! unsafe {
//!     let error = zhat_open(model.as_mut_ptr(), file.as_ptr(), file.len());
//!     assert_eq!(CStr::from_ptr(zhat_error_text(error as i32)), c"no error");
//!     let model = model.as_ptr();
//!     assert_eq!((zhat_classes(model), zhat_dim(model), zhat_least_cap(model)), (4, 3, 4));
//!     assert!(zhat_scratch_words(model) <= scratch.len());
//!
//!     let (memory, words) = (scratch.as_mut_ptr(), scratch.len());
//!     let error = zhat_classify(model, query.as_ptr(), 3, 0, memory, words, top.as_mut_ptr(), 2, result.as_mut_ptr());
//!     assert_eq!(error, ZhatError::None);
//!     let result = result.assume_init();
//!     assert_eq!((top[0].id, result.top_len, result.familiar), (2, 2, ZhatAnswer::Unknown));
//! }
//! ```

#![allow(unsafe_code)]

mod answer;
mod error;
mod model;
#[cfg(all(zhat_staticlib, target_os = "none"))]
mod panic_handler;
mod pointers;
mod scratch;

pub use answer::{
    ZHAT_MAX_TOP, ZhatAnswer, ZhatClass, ZhatResult, zhat_classify, zhat_classify_i8, zhat_classify_i16,
    zhat_classify_u8, zhat_exact, zhat_exact_i8, zhat_exact_i16, zhat_exact_u8, zhat_is_known, zhat_probability,
    zhat_set,
};
pub use error::{ZhatError, zhat_error_text};
pub use model::{
    ZHAT_FILE_HEADER_LEN, ZHAT_FORMAT_VERSION, ZHAT_MODEL_WORDS, ZHAT_VERSION, ZHAT_VERSION_MAJOR, ZHAT_VERSION_MINOR,
    ZHAT_VERSION_PATCH, ZhatHeader, ZhatInput, ZhatModel, zhat_build_id, zhat_cap_for_cycles,
    zhat_cap_for_instructions, zhat_classes, zhat_dim, zhat_file_header, zhat_file_len, zhat_input_scale,
    zhat_least_cap, zhat_name, zhat_open, zhat_open_prefix, zhat_open_prefix_trusted, zhat_open_trusted,
    zhat_scratch_words, zhat_scratch_words_for, zhat_version,
};
pub use scratch::scratch_words;
