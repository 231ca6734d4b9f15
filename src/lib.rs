//! Calibrated probabilities for large-vocabulary classifiers on microcontrollers, without scoring every class.
//!
//! A keyword spotter, an OCR head or a next-word keyboard ends in N rows of weights and a query vector, the activations in
//! front of the last layer. A softmax over them takes N·d multiplications and N exponentials. zhat searches a static tree of
//! the rows, scores the few rows that matter, predicts the mass of all others, and answers with the top classes, their
//! probabilities, an interval for each, and a hard bound on work and memory. No allocator, no floats in row work, no panics.
//!
//! # In two minutes
//! The `zhat` command makes the model file, once, on a host: `zhat build --model net.onnx --inputs x.npy -o model.zhat`.
//! The model of this example ships with the crate: a language model of 8 192 words.
//!
//! ```standalone_crate
//! use zhat::{Classifier, Model, QueryBuffer, Scratch, include_model};
//!
//! // In flash. It is checked once and never copied.
//! static MODEL: &[u8] = include_model!("../models/next_word.zhat");
//!
//! fn main() -> Result<(), zhat::Error> {
//!     let classifier = Classifier::new(Model::from_bytes(MODEL)?)?;
//!
//!     // The activations in front of the layer: f32, int8 or int16.
//! #   let context = include_model!("../models/next_word.context");
//! #   let context = zhat::language::Context::from_bytes(context, 64)?;
//! #   let names = classifier.model().names().expect("words");
//! #   let words = zhat::language::Context::words::<9>(names, "the president of the united")?;
//! #   let activations = context.query::<64, 128>(classifier.model(), &words)?;
//!     let query = QueryBuffer::<64>::new(classifier.model(), &activations)?;
//!
//!     // All the memory that a query needs: `zhat inspect` prints its size.
//!     let mut scratch = Scratch::<591>::new();
//!     let answer = classifier.classify::<5>(&query, &mut scratch)?;
//!     for (place, best) in answer.top.iter().enumerate() {
//!         match answer.interval(place) {
//!             Some((low, high)) => println!("{}: {:.3}, {low:.3} to {high:.3}", best.class, best.p),
//!             None => println!("{}: {:.3}, unlike the calibration", best.class, best.p),
//!         }
//!     }
//! #   assert_eq!(names.get(answer.top[0].class as usize), Some("states"));
//!     assert!(answer.work.row_equivalents() <= 294); // of 8 192 rows: the stored cap
//!     Ok(())
//! }
//! ```
//!
//! Most programs need only the type [`Classifier`]. [`exact`] scores every row, and [`estimators`] has the other methods.
//! [`guide::own_board`] builds a complete firmware, [`guide::from_your_network`] makes a model file of a trained network,
//! [`guide::walk_through`] runs the commands, and `zhat::capi` has the functions for C.
//!
//! # Layers
//! The table lists the modules from the bottom up, along the path of a query. Each uses only those before it, which
//! `tests/layers.rs` checks. So the source can be read in this order.
//!
//! | module | content |
//! |---|---|
//! | `error`, `log`, `hint` | [`Error`], log points and hints to the compiler, for all modules |
//! | `math` | [`Log2`], a logarithm in fixed point, and [`LogSum`], a sum of exponentials that cannot overflow |
//! | `kernels` | dot products of int8 or 4-bit rows with an int16 query, which take most of the time |
//! | `rows` | the [`Query`], quantised, and the [`RowTable`] that scores it |
//! | `tree` | nodes over the rows: the predicted mass of each, and certain bounds on it |
//! | [`model`] | the model file: [`Model`] checks it once, and gives access to its rows and its tree |
//! | `search` | best-first search within a [`Budget`]: it scores the rows that matter; the rest remains a prediction |
//! | [`estimators`] | Z from both, by several methods, and the [`Prediction`] |
//! | `classifier`, [`language`] | [`Classifier`]; queries of a language model, made of the previous words |
//! | `keywords` | keyword spotting, from a microphone's samples to words (feature `keywords`) |
//! | `host`, `capi` | the part for hosts (feature `std`); functions for C |
//! | `guide` | pages to read |
//!
//! # The formulas
//! A class's score is its logit, u = v·q + b, and its probability exp(u)/Z with Z = Σ exp(u) over all N classes. The answer is
//! a split of Z: rows that the search scored (the near field), and nodes of the tree that it left unopened (the far field), each
//! by the first two moments of its rows' scores:
//!
//! ```text
//! Ẑ = Σ exp(u) + α·Σ exp(L)        L = ln n + m + σ²/2         where σ² ≤ 2 ln n
//!     scored     unopened              m + σ·sqrt(2 ln n)      where σ² > 2 ln n
//! ```
//!
#![cfg_attr(doc, doc = include_str!("guide/search.svg"))]
//!
//! [`guide::how_it_works`] derives it: the tree, the search, the intervals, the arithmetic.
//!
//! # Cost
//! - *Time:* the cap of the [`Budget`], which no query exceeds. [`Budget::most_cycles`] and [`Budget::most_instructions`]
//!   return the bound that follows on a Cortex-M4; scoring all rows takes about `N·(d + 40)`. [`guide::measured`] has the
//!   tables.
//! - *RAM:* one bit for each class and about a word for each node of a search: [`Model::scratch_words`] returns what is enough
//!   for any query. A query takes up to 2 KiB of stack beside that.
//! - *Flash:* the model file, and 10 to 25 KiB of code.
//!
//! # Limits
//! - The interval holds the *float layer's* p for 95 % of the familiar queries, those that are like the calibration queries.
//!   An unfamiliar query has no interval ([`Prediction::is_familiar`]). If the layer is wrong, its p is wrong, with an interval.
//! - A promise about the *true* class takes labels: [`Prediction::set`]. [`guide::calibrated`] has what each number promises.
//! - The search misses a class, even the best one, if no opened node holds it and no link leads to it. `zhat build` prints the
//!   recall. [`Classifier::certain_top`] and [`exact`] never miss a class.
//! - p differs from the float layer's by 0.0011 to 0.0065 on average for the best class of the layers in [`guide::measured`],
//!   int8 rows and estimate together. Errors of Z are relative to the exact Z of the same int8 rows.
//! - Big-endian targets are not supported, since the file is read in place.
//!
//! # Features
//! None is on by default, and all are additive. A device needs none for a model of int8 rows.
//!
//! | feature | adds |
//! |---|---|
//! | `alloc` | `ModelBuf`, a model that owns its bytes |
//! | `rows4` | models of 4-bit rows (`zhat build --bits 4`), which are refused without it; 1.8 KB of code |
//! | `std` | `zhat::host`: readers, builder, evaluation |
//! | `cli` | the `zhat` command, the plots, and the examples `paper` and `train_lm` |
//! | `import` | an engine that runs ONNX networks, for `zhat build --model … --inputs …` and `zhat check` |
//! | `defmt` | `defmt::Format` for the public types, and log points |
//! | `capi` | functions for C |
//! | `keywords` | `zhat::keywords`: features, detector and encoder of a keyword spotter |
//! | `micromath` | faster, coarser float functions at the edges of a query, never in row work |
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(target_endian = "big")]
compile_error!("zhat reads its little-endian model file in place: big-endian targets are not supported");

#[cfg(feature = "alloc")]
extern crate alloc;

mod error;
mod hint;
mod log;

mod kernels;
mod math;
mod rows;
mod tree;

pub mod model;

mod search;

pub mod estimators;

mod classifier;
pub mod language;
mod stepwise;

#[cfg(feature = "keywords")]
pub mod keywords;

#[cfg(feature = "capi")]
pub mod capi;
#[cfg(feature = "std")]
pub mod host;

#[cfg(doc)]
pub mod guide;

/// Compiles and runs the code of the README like all other examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use classifier::Classifier;
pub use error::Error;
#[doc(inline)]
pub use estimators::{Familiarity, LabelSet, Prediction, Ranked, exact};
#[cfg(feature = "std")]
#[doc(hidden)]
pub use host::{doc_example, doc_file};
#[cfg(all(feature = "std", feature = "keywords"))]
#[doc(hidden)]
pub use host::{doc_sound, doc_spotter};
pub use math::{Log2, LogSum};
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use model::ModelBuf;
#[doc(inline)]
pub use model::{Budget, Model, Names, Settings};
pub use rows::{Query, QueryBuffer, RowTable, query_words};
pub use search::{Candidate, Scratch, Work, scratch_words, seen_words};
pub use stepwise::{Progress, Search, TopBuffer};

// Their types are in public signatures, so users need the same versions.
pub use heapless;
pub use rand_core;

/// Opens internals to the tests, examples and benches of this package. It is outside of semantic versioning: any
/// release may change it.
#[doc(hidden)]
pub mod internal {
    pub use crate::estimators::mince_by_newton;
    #[cfg(feature = "std")]
    pub use crate::host::{Hierarchy, counts_of, cycles_of, product};
    #[cfg(feature = "rows4")]
    pub use crate::kernels::four_bit;
    pub use crate::kernels::{dot, dot_picked, dot_rows, pair, query_slot, squares, weights};
    pub use crate::math::{SmallFloat, exp2_fraction, sqrt};
    pub use crate::rows::Indices;
    pub use crate::search::Count;
    pub use crate::tree::{Span, Tree};

    use crate::estimators::Head;
    use crate::{Candidate, Log2, Query, RowTable, Work};

    /// Scores consecutive rows, beginning with row `first`; scores are the bits of [`Log2`]s.
    pub fn scores(rows: &RowTable<'_>, first: usize, query: &Query, scores: &mut [i32]) {
        rows.scorer(query).scores(first, query, scores);
    }

    /// Scores the rows whose indices are in `picked`; scores are the bits of [`Log2`]s.
    pub fn scores_of(rows: &RowTable<'_>, picked: &[u32], query: &Query, scores: &mut [i32]) {
        rows.scores_of(picked, query, scores);
    }

    /// Makes a candidate of a score that [`scores`] returned.
    pub fn candidate(class: u32, score: i32) -> Candidate {
        Candidate { class, score: Log2::from_bits(score) }
    }

    /// Makes a head of the result of another retrieval: candidates with the best first, and their rows in ascending
    /// order.
    pub fn head<'a>(
        candidates: &'a [Candidate],
        rows: &'a [u32],
        (scored, nodes, stride): (usize, usize, usize),
    ) -> Head<'a> {
        Head::new(candidates, rows, Work::of(scored, nodes, stride))
    }
}
