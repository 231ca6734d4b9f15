//! `zhat train`: a small language, bad input, an interrupt.

use std::fs;

use super::support::{Files, json};

/// Sentences of eight words, each word following the one before by a simple rule with some chance in it.
pub fn language(sentences: usize, salt: usize) -> String {
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

/// A folder with train.txt, valid.txt and test.txt.
fn texts(sentences: usize) -> Files {
    let files = Files::new();
    for (name, count, salt) in [("train", sentences, 0), ("valid", 100, 7), ("test", 100, 11)] {
        fs::write(files.path(&format!("{name}.txt")), language(count, salt)).unwrap();
    }
    files
}

#[test]
fn a_model_is_trained_by_every_method_and_the_same_for_a_seed() {
    let files = texts(400);
    for method in ["mle", "nce", "penalty"] {
        let line = format!("train train.txt --valid valid.txt --test test.txt --method {method} --noise 40 {SMALL}");
        let text = files.run(&format!("{line} --calibration 200 --queries 100 -o {method}"));
        assert!(text.contains("62 words, 8 dimensions"), "{text}");
        let report = json(&fs::read_to_string(files.path(&format!("{method}/report.json"))).unwrap());
        // Any of 60 words would be 60.
        let perplexity = report["test"]["perplexity"].as_f64().unwrap();
        assert!(perplexity > 1.0 && perplexity < 15.0, "{method}: {report}");
        for name in ["rows", "bias", "context", "input", "calibration", "queries_labels"] {
            assert!(files.path(&format!("{method}/{name}.npy")).exists(), "{name}");
        }
        files.run(&format!("{line} -o again"));
        let rows = |folder: &str| fs::read(files.path(&format!("{folder}/rows.npy"))).unwrap();
        assert!(rows(method) == rows("again"), "{method}: the same seed gave another model");
    }
}

#[test]
fn the_arrays_are_what_build_takes() {
    let files = texts(200);
    files.run(&format!("train train.txt --valid valid.txt {SMALL} --calibration 300 -o lm"));
    let line = "--weights lm/rows.npy --bias lm/bias.npy --queries lm/calibration.npy --names lm/words.txt --work 30%";
    assert!(files.run(&format!("build {line} -o lm.zhat")).contains("62 classes"));
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
        let found = files.fail(1, &format!("train {text} --valid valid.txt {more} -o lm"));
        assert!(found.contains(message), "{text} {more}: {found}");
        assert!(!files.path("lm").exists(), "{text} {more}: something was written");
    }
    let found = files.fail(1, "train train.txt --valid empty.txt -o lm");
    assert!(found.contains("empty.txt has no words"), "{found}");
    let found = files.fail(1, "train train.txt --valid valid.txt --resume weights.npy -o lm");
    assert!(found.contains("weights.npy is no usable checkpoint"), "{found}");
    fs::write(files.path("taken"), "").unwrap();
    let found = files.fail(1, "train train.txt --valid valid.txt -o taken");
    assert!(found.contains("taken: cannot be made a directory"), "{found}");
    files.fail(2, "train train.txt --valid valid.txt --resume run.safetensors --dimension 9 -o lm");
    files.fail(2, "train train.txt --valid valid.txt --tying half -o lm");
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_goes_on_as_if_nothing_had_happened() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let files = texts(8000);
    let settings = format!("{SMALL} --epochs 3");
    let line = format!("train train.txt --valid valid.txt {settings} -o lm");
    let mut run = Command::new(assert_cmd::cargo::cargo_bin!("zhat"))
        .current_dir(files.path("."))
        .args(line.split_whitespace())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first of three validations: two thirds of the run are left.
    let mut errors = BufReader::new(run.stderr.take().unwrap()).lines();
    let first = errors.next().unwrap().unwrap();
    assert!(first.contains("validation perplexity"), "{first}");
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
    let rest: Vec<String> = errors.map(|line| line.unwrap()).collect();
    assert_eq!(run.wait().unwrap().code(), Some(1), "{rest:?}");
    let last = rest.last().unwrap();
    assert!(last.contains("interrupted: the run is in lm/run.safetensors"), "{rest:?}");
    assert!(!files.path("lm/rows.npy").exists());
    files.run("train train.txt --valid valid.txt --resume lm/run.safetensors -o lm");
    files.run(&format!("train train.txt --valid valid.txt {settings} -o whole"));
    let rows = |folder: &str| fs::read(files.path(&format!("{folder}/rows.npy"))).unwrap();
    assert!(rows("lm") == rows("whole"), "the resumed run came to another model");
}
