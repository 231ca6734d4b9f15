//! The module that `zhat export-rust` writes compiles as it is, and holds all that a firmware needs.
#![cfg(feature = "std")]

use zhat::host::report::export::rust_module;
use zhat::{Classifier, Model, Prediction};

#[path = "data/exported/model.rs"]
mod model;

const FILE: &str = "../indexed.zhat";

fn text() -> String {
    rust_module(&Model::from_bytes(model::BYTES).expect("valid"), FILE)
}

#[test]
fn the_module_is_what_export_rust_writes_and_answers() {
    assert_eq!(text(), include_str!("data/exported/model.rs"));
    let classifier = Classifier::new(Model::from_bytes(model::BYTES).expect("valid")).expect("an index");
    assert_eq!(classifier.budget(), model::BUDGET);
    let mut scratch = model::Scratch::new();
    let query = model::Query::new(classifier.model(), &[0.5; model::DIM]).expect("a query");
    let answer: Prediction<5> = classifier.classify(&query, &mut scratch).expect("an answer");
    assert_eq!(answer.top.len(), 5);
    assert!(answer.work.row_equivalents() <= model::BUDGET.cap && !answer.overflowed());
    assert_eq!(classifier.model().classes(), model::CLASSES);
}

#[test]
#[ignore = "writes the module anew"]
fn write_the_module() {
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/exported/model.rs"), text()).expect("writable");
}
