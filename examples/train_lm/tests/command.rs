//! Tests of the program: a small language, bad input, an interrupt.

use std::fs;
use std::sync::atomic::AtomicBool;

use clap::{CommandFactory, Parser};
use zhat::host::build::{Targets, build};
use zhat::host::input::{ReadOptions, read_matrix, read_names, read_vector};

use crate::Train;
use crate::command::{Failure, Folder, Outcome, printed};

/// Writes sentences of eight words, each of which follows from the one before by a simple rule with some chance in it.
fn language(sentences: usize, salt: usize) -> String {
    let mut text = String::new();
    for sentence in 0..sentences {
        let mut word = (sentence * 31 + salt) % 60;
        for place in 0..8 {
            text += &format!("w{word} ");
            word = (word * 7 + 1 + (sentence * 13 + place * 5 + salt) % 3) % 60;
        }
        text.push('\n');
    }
    text
}

const SMALL: &str = "--dimension 8 --context 3 --batch 64 --learning-rate 0.02";

/// Makes a folder with train.txt, valid.txt and test.txt.
fn texts(sentences: usize) -> Folder {
    let files = Folder::new();
    for (name, count, salt) in [("train", sentences, 0), ("valid", 100, 7), ("test", 100, 11)] {
        fs::write(files.path(&format!("{name}.txt")), language(count, salt)).unwrap();
    }
    files
}

fn train(files: &Folder, line: &str, stop: bool) -> Outcome<String> {
    let arguments = Train::try_parse_from(files.arguments(line));
    let arguments = arguments.map_err(|error| Failure::Usage(error.to_string()))?;
    printed(|progress| arguments.run(&AtomicBool::new(stop), progress))
}

fn run(files: &Folder, line: &str) -> String {
    train(files, line, false).unwrap_or_else(|failure| panic!("{line}: {failure:?}"))
}

fn fail(files: &Folder, status: i32, line: &str) -> String {
    let (found, message) = files.failure(train(files, line, false));
    assert_eq!(found, status, "{line}: {message}");
    message
}

#[test]
fn a_model_is_trained_by_every_method_and_the_same_for_a_seed() {
    let files = texts(400);
    for method in ["mle", "nce", "penalty"] {
        let line = format!("@train.txt --valid @valid.txt --test @test.txt --method {method} --noise 40 {SMALL}");
        let text = run(&files, &format!("{line} --calibration 200 --queries 100 -o @{method}"));
        assert!(text.contains("62 words, 8 dimensions"), "{text}");
        let report = fs::read_to_string(files.path(&format!("{method}/report.json"))).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        // Any of 60 words would be 60.
        let perplexity = report["test"]["perplexity"].as_f64().unwrap();
        assert!(perplexity > 1.0 && perplexity < 15.0, "{method}: {report}");
        for name in ["rows", "bias", "context", "input", "calibration", "queries_labels"] {
            assert!(files.path(&format!("{method}/{name}.npy")).exists(), "{name}");
        }
        run(&files, &format!("{line} -o @again"));
        let rows = |folder: &str| fs::read(files.path(&format!("{folder}/rows.npy"))).unwrap();
        assert!(rows(method) == rows("again"), "{method}: the same seed gave another model");
    }
}

#[test]
fn the_arrays_are_what_build_takes() {
    let files = texts(200);
    run(&files, &format!("@train.txt --valid @valid.txt {SMALL} --calibration 300 -o @lm"));
    let matrix = |name: &str| read_matrix(files.path(name), ReadOptions::default()).unwrap();
    let biases = read_vector(files.path("lm/bias.npy"), ReadOptions::default()).unwrap();
    let targets = Targets { work: 0.3, cap: 0.3, ..Targets::default() };
    let calibration = matrix("lm/calibration.npy");
    assert_eq!(calibration.rows(), 300);
    let built = build(&matrix("lm/rows.npy"), &biases, Some(&calibration), &targets, &mut |_| {}).unwrap();
    assert_eq!(read_names(files.path("lm/words.txt")).unwrap().len(), built.model.model().classes());
}

#[test]
fn bad_texts_are_refused_by_name() {
    let files = texts(50);
    fs::write(files.path("empty.txt"), " \n\n").unwrap();
    fs::write(files.path("one.txt"), "a a a\na\n").unwrap();
    fs::write(files.path("latin.txt"), b"caf\xe9 au lait\n").unwrap();
    for (text, more, message) in [
        ("none.txt", "", "can't read none.txt"),
        ("empty.txt", "", "empty.txt has no words"),
        ("one.txt", "", "a vocabulary of one word leaves nothing to predict"),
        ("latin.txt", "", "latin.txt is not UTF-8 text: bad byte at offset 3"),
        ("train.txt", "--size 9999", "a vocabulary of 9999 was asked for, but the text has 62 entries"),
        ("train.txt", "--dimension 0", "the dimension must be 1 to 65536"),
        ("train.txt", "--method nce --noise 0", "at least one noise word"),
    ] {
        let found = fail(&files, 1, &format!("@{text} --valid @valid.txt {more} -o @lm"));
        assert!(found.contains(message), "{text} {more}: {found}");
        assert!(!files.path("lm").exists(), "{text} {more}: something was written");
    }
    let found = fail(&files, 1, "@train.txt --valid @empty.txt -o @lm");
    assert!(found.contains("empty.txt has no words"), "{found}");
    let found = fail(&files, 1, "@train.txt --valid @valid.txt --resume @one.txt -o @lm");
    assert!(found.contains("one.txt is no usable checkpoint"), "{found}");
    fs::write(files.path("taken"), "").unwrap();
    let found = fail(&files, 1, "@train.txt --valid @valid.txt -o @taken");
    assert!(found.contains("taken: cannot be made a directory"), "{found}");
    fail(&files, 2, "@train.txt --valid @valid.txt --resume @run.safetensors --dimension 9 -o @lm");
    fail(&files, 2, "@train.txt --valid @valid.txt --tying half -o @lm");
}

#[test]
fn an_interrupted_run_goes_on_as_if_nothing_had_happened() {
    let files = texts(400);
    let line = format!("@train.txt --valid @valid.txt {SMALL} --epochs 2");
    let (status, message) = files.failure(train(&files, &format!("{line} -o @lm"), true));
    assert_eq!(status, 1);
    assert_eq!(message, "interrupted: the run is in lm/run.safetensors, --resume lm/run.safetensors goes on");
    assert!(!files.path("lm/rows.npy").exists());
    run(&files, "@train.txt --valid @valid.txt --resume @lm/run.safetensors -o @lm");
    run(&files, &format!("{line} -o @whole"));
    let rows = |folder: &str| fs::read(files.path(&format!("{folder}/rows.npy"))).unwrap();
    assert!(rows("lm") == rows("whole"), "the resumed run came to another model");
}

#[test]
fn no_text_is_overwritten() {
    let files = texts(10);
    fs::copy(files.path("valid.txt"), files.path("words.txt")).unwrap();
    let message = fail(&files, 2, "@train.txt --valid @words.txt -o @.");
    assert_eq!(message, "--output ./words.txt would overwrite --valid words.txt");
}

#[test]
fn the_help_has_an_example() {
    Train::command().debug_assert();
    assert!(Train::command().render_long_help().to_string().contains("Example:\n  train_lm train.txt"));
}
