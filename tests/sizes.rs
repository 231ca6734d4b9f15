//! The sizes of buffers that people read, in the README, on the pages and in the examples, are those that the model asks for.
#![cfg(feature = "std")]

use std::fs;

use zhat::host::input::read_model;
use zhat::host::report::describe::Description;

/// Every number after `mark` in a text, up to the first character that is no digit.
fn numbers_after(text: &str, mark: &str) -> Vec<usize> {
    let digits =
        text.split(mark).skip(1).map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// Texts about a model, and where they say how many words of scratch memory a query needs, and how many columns it has.
const SCRATCH: [&str; 3] = ["Scratch::<", "Scratch<", "SCRATCH_WORDS: usize = "];
const COLUMNS: [&str; 2] = ["QueryBuffer::<", "DIM: usize = "];
const TEXTS: [(&str, &[&str]); 3] = [
    ("models/next_word.zhat", &["README.md", "src/lib.rs", "src/guide/own_board.md", "examples/next_word.rs"]),
    ("models/next_word4.zhat", &["examples/next_word4.rs"]),
    ("tests/data/indexed.zhat", &["examples/classify.rs"]),
];

#[test]
fn readme_pages_and_examples_say_what_the_model_and_inspect_say() {
    for (model, texts) in TEXTS {
        let file = read_model(model).expect(model);
        let model = file.model();
        assert_eq!(Description::of(&model).needs.scratch_words, model.scratch_words());
        for path in texts {
            let text = fs::read_to_string(path).expect(path);
            let said = |marks: &[&str]| marks.iter().flat_map(|mark| numbers_after(&text, mark)).collect::<Vec<_>>();
            let (scratch, columns) = (said(&SCRATCH), said(&COLUMNS));
            assert!(!scratch.is_empty() && !columns.is_empty(), "{path} names no sizes");
            assert!(scratch.iter().all(|&words| words == model.scratch_words()), "{path}: {scratch:?}");
            assert!(columns.iter().all(|&columns| columns == model.dim()), "{path}: {columns:?}");
        }
    }
}

#[test]
fn own_board_says_what_inspect_says_of_its_model() {
    let file = read_model("models/next_word.zhat").expect("the model that ships");
    let cap = file.model().settings().expect("an index").budget.cap as usize;
    let page = fs::read_to_string("src/guide/own_board.md").expect("the page");
    assert_eq!(numbers_after(&page, "a cap of "), [cap]);
    let needs = Description::of(&file.model()).needs;
    let said = format!("({} words of scratch memory, {} of them for nodes)", needs.scratch_words, needs.frontier);
    assert!(page.contains(&said), "the page does not say {said}");
}
