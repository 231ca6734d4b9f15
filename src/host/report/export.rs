//! A Rust module for firmware: the model, its sizes and its budget as constants.

use crate::{Budget, Model};

/// Returns the text of a `model.rs` that includes the file `model.zhat` beside it.
///
/// ```
/// let text = zhat::host::report::export::rust_module(&zhat::doc_example().model(), "model.zhat");
/// assert!(text.contains("pub const CLASSES: usize = 4;"));
/// ```
pub fn rust_module(model: &Model<'_>, file: &str) -> String {
    let (classes, dim, stride) = (model.classes(), model.dim(), model.rows().stride());
    let all = Budget::new(classes as u32);
    let Budget { cap, epsilon, expand } = model.index().map_or(all, |(_, settings)| settings.budget);
    let words = model.scratch_words();
    let share = f64::from(cap) / classes as f64 * 100.0;
    format!(
        r#"//! A zhat model of {classes} classes in {dim} dimensions. Made by `zhat export-rust`; do not edit.
//!
//! ```ignore
//! mod model;
//!
//! let classifier = zhat::Classifier::new(zhat::Model::from_bytes(model::BYTES)?)?;
//! let mut scratch = model::Scratch::new(); // put it in a static: it is the RAM that a query needs
//! let query = model::Query::new(classifier.model(), &activations)?;
//! let answer: zhat::Prediction<5> = classifier.classify(&query, &mut scratch)?;
//! for (place, ranked) in answer.top.iter().enumerate() {{
//!     let interval = answer.interval(place); // of ranked.p; none where the query is not familiar
//! }}
//! ```

/// The model file, aligned, in flash.
pub static BYTES: &[u8] = zhat::include_model!("{file}");

/// N.
pub const CLASSES: usize = {classes};

/// d: the length of a query.
pub const DIM: usize = {dim};

/// The stored budget: at most {cap} dot products of length d, {share:.1} % of all rows. `Classifier::new` uses it; pass
/// another one to `Classifier::with_budget`.
pub const BUDGET: zhat::Budget = zhat::Budget::new({cap}).with_epsilon({epsilon:?}).with_expand({expand});

/// The words of memory that are enough for any query within the budget.
pub const SCRATCH_WORDS: usize = {words};

/// A query: d, rounded up to whole words.
pub type Query = zhat::QueryBuffer<{stride}>;

/// The memory of a search.
pub type Scratch = zhat::Scratch<SCRATCH_WORDS>;
"#
    )
}
