//! Pages to read: how zhat works, how to use it, and what was measured.
//!
//! | page | content |
//! |---|---|
//! | [`how_it_works`] | the formulas: tree, search, intervals, bounds, arithmetic |
//! | [`calibrated`] | what a probability, a set and an interval promise, what that rests on, and what breaks it |
//! | [`from_your_network`] | ONNX, PyTorch, TensorFlow Lite and Keras, to a checked model file |
//! | [`walk_through`] | the commands on a weight matrix, and their output |
//! | [`json`] | the output of `--json`, field by field |
//! | [`keyword_spotting`] | from a microphone to words: the cost of each part, and other words or languages |
//! | [`own_board`] | a complete firmware: Rust, RTIC, Embassy, C; replacing a model in the field |
//! | [`measured`] | error, recall, coverage, instructions, flash and RAM |
//! | [`glossary`] | the terms, one meaning each |
//! | [`paper`] | the tables of "Sublinear Partition Estimation", with our estimators in them |

/// Derives the method, from the problem to the arithmetic.
///
#[doc = include_str!("search.svg")]
///
#[doc = include_str!("how_it_works.md")]
pub mod how_it_works {}

#[doc = include_str!("calibrated.md")]
pub mod calibrated {}

#[doc = include_str!("from_your_network.md")]
pub mod from_your_network {}

#[doc = include_str!("python.md")]
pub mod python {}

#[doc = include_str!("c_projects.md")]
pub mod c_projects {}

#[doc = include_str!("walk_through.md")]
pub mod walk_through {}

#[doc = include_str!("keyword_spotting.md")]
pub mod keyword_spotting {}

#[doc = include_str!("own_board.md")]
///
/// ```rust,ignore
#[doc = include_str!("partitions.rs")]
/// ```
pub mod own_board {}

#[doc = include_str!("measured.md")]
pub mod measured {}

#[doc = include_str!("paper.md")]
#[doc = include_str!("figure1-0.5.svg")]
#[doc = include_str!("figure1-0.81.svg")]
pub mod paper {}

#[doc = include_str!("json.md")]
pub mod json {}

#[doc = include_str!("glossary.md")]
pub mod glossary {}
