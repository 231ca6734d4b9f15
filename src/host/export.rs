//! A Rust module for firmware: the model, its sizes and its budget as constants.

use crate::Model;

/// The text of a `model.rs` that includes the file `model.zhat` beside it.
pub fn rust_module(model: &Model<'_>, file: &str) -> String {
    let settings = model.settings();
    let (cap, epsilon, expand) = settings.map_or((model.classes() as u32, 0.0, 0), |settings| {
        (settings.budget.cap, settings.budget.epsilon, settings.budget.expand)
    });
    let nodes = settings.map_or(1, |settings| settings.frontier_words.max(1));
    let (classes, dim, stride) = (model.classes(), model.dim(), model.rows().stride());
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
pub const BUDGET: zhat::Budget = zhat::Budget {{ cap: {cap}, epsilon: {epsilon:?}, expand: {expand} }};

/// Words for the nodes of a search: a quarter more than any calibration query needed.
pub const ROOM: usize = {nodes};

/// A query: d, rounded up to whole words.
pub type Query = zhat::QueryBuffer<{stride}>;

/// The memory of a search.
pub type Scratch = zhat::Scratch<{{ zhat::seen_words(CLASSES) }}, ROOM>;
"#
    )
}
