//! A zhat model of 500 classes in 16 dimensions. Made by `zhat export-rust`; do not edit.
//!
//! ```ignore
//! mod model;
//!
//! let classifier = zhat::Classifier::new(zhat::Model::from_bytes(model::BYTES)?)?;
//! let mut scratch = model::Scratch::new(); // put it in a static: it is the RAM that a query needs
//! let query = model::Query::new(classifier.model(), &activations)?;
//! let answer: zhat::Prediction<5> = classifier.classify(&query, &mut scratch)?;
//! for (place, ranked) in answer.top.iter().enumerate() {
//!     let interval = answer.interval(place); // of ranked.p; none where the query is not familiar
//! }
//! ```

/// The model file, aligned, in flash.
pub static BYTES: &[u8] = zhat::include_model!("../indexed.zhat");

/// N.
pub const CLASSES: usize = 500;

/// d: the length of a query.
pub const DIM: usize = 16;

/// The stored budget: at most 50 dot products of length d, 10.0 % of all rows. `Classifier::new` uses it; pass
/// another one to `Classifier::with_budget`.
pub const BUDGET: zhat::Budget = zhat::Budget::new(50).with_epsilon(0.0).with_expand(2);

/// The words of memory that are enough for any query within the budget.
pub const SCRATCH_WORDS: usize = 74;

/// A query: d, rounded up to whole words.
pub type Query = zhat::QueryBuffer<16>;

/// The memory of a search.
pub type Scratch = zhat::Scratch<SCRATCH_WORDS>;
