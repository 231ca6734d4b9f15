//! `zhat reproduce`: every table on a small layer, stored, and the page that is written from them.

use std::fs;

use serde_json::Value;

use super::support::{Files, json};
use super::train::language;

const SMALL: &str = "--vectors weights.npy --rows 400 --queries 100 --scale 2 --seeds 2 --out results";
const FMBE: &str = "--features 60 --feature-queries 20";

fn stored(files: &Files, name: &str) -> Value {
    json(&fs::read_to_string(files.path(&format!("results/{name}.json"))).unwrap())
}

/// The mean error of an estimator under a condition.
fn mean(table: &Value, estimator: &str, k: usize, condition: usize) -> f64 {
    let rows = table["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["estimator"] == estimator && (k == 0 || row["k"] == k)).unwrap();
    row["cells"][condition]["mean"].as_f64().unwrap()
}

fn every_cell_is_finite(table: &Value) {
    for row in table["rows"].as_array().unwrap() {
        assert!(row["work"].as_f64().unwrap() > 0.0, "{row}");
        for cell in row["cells"].as_array().unwrap().iter().filter(|cell| !cell.is_null()) {
            assert!(cell["mean"].as_f64().unwrap().is_finite() && cell["deviation"].as_f64().is_some(), "{row}");
        }
    }
}

#[test]
fn every_table_is_printed_stored_and_written_about() {
    let files = Files::new();
    let text = files.run(&format!("reproduce table1 {SMALL} {FMBE} --variants 30"));
    for part in ["Uniform", "MIMPS", "MINCE", "FMBE, D = 60 (20 queries)", "FMBE, centred", "FMBE, positive", "Moments"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let first = stored(&files, "table1");
    every_cell_is_finite(&first);
    // Z is that of the int8 rows, near that of the floats.
    assert!(first["data"]["quantisation"].as_f64().unwrap() < 2.0, "{}", first["data"]);
    // With 400 rows, k or l of 1000 are all of them.
    assert!(mean(&first, "MIMPS", 1000, 0) < 1e-3);
    assert!(mean(&first, "MIMPS", 1, 0) > 1.0);

    files.run(&format!("reproduce table2 {SMALL} {FMBE}"));
    let second = stored(&files, "table2");
    every_cell_is_finite(&second);
    assert_eq!(second["rows"][0]["cells"].as_array().unwrap().len(), 4);

    files.run(&format!("reproduce table3 {SMALL}"));
    let third = stored(&files, "table3");
    every_cell_is_finite(&third);
    let jump = |condition| mean(&third, "MIMPS", 100, condition);
    assert!(jump(1) > 2.0 * jump(0), "without rank 1: {} and {}", jump(0), jump(1));
    assert!(jump(3) > jump(0) && jump(1) > jump(2), "{} {} {}", jump(1), jump(2), jump(3));

    files.run("reproduce figure1 --vectors weights.npy --rows 400 --scale 2 --plot figure.png --out results");
    assert!(fs::read_to_string(files.path("results/figure1.svg")).unwrap().contains("frequent: row 12"));
    assert!(fs::read(files.path("figure.png")).unwrap().starts_with(b"\x89PNG"));
    let shares: Vec<f64> = serde_json::from_value(stored(&files, "figure1")["curves"][0]["shares"].clone()).unwrap();
    assert!(shares.is_sorted() && shares.iter().all(|&share| share > 0.0 && share <= 1.0 + 1e-6), "{shares:?}");

    for (name, salt) in [("train", 0), ("valid", 3)] {
        fs::write(files.path(&format!("{name}.txt")), language(300, salt)).unwrap();
    }
    files.run(
        "train train.txt --valid valid.txt --test valid.txt --method nce --noise 40 --dimension 8 --context 3 \
         --calibration 200 --queries 50 -o lm",
    );
    files.run("reproduce table4 --run lm --seeds 2 --out results");
    let lines = stored(&files, "table4")["lines"].as_array().unwrap().clone();
    assert_eq!(lines[0]["estimator"], "Z = 1");
    assert_eq!(lines[0]["better"], 0.0);
    assert!(lines.iter().skip(1).all(|line| line["speed_up"].as_f64().unwrap() > 0.0));

    files.run("reproduce document results -o paper.md");
    let page = fs::read_to_string(files.path("paper.md")).unwrap();
    for part in
        ["## Table 1", "## Table 2", "## Table 3", "## Table 4", "## Figure 1", "zhat reproduce table1 --vectors"]
    {
        assert!(page.contains(part), "{part} is missing:\n{page}");
    }
    let folder = files.path(".").canonicalize().unwrap().display().to_string();
    assert!(!page.contains(&folder) && !page.contains("/tmp"), "the page names a folder of this machine");
    // The page is made of the stored results and of nothing else.
    files.run("reproduce document results -o again.md");
    assert_eq!(fs::read_to_string(files.path("again.md")).unwrap(), page);
}

#[test]
fn a_seed_gives_the_same_table_on_any_number_of_cores() {
    let files = Files::new();
    let line = format!("reproduce table3 {SMALL}");
    let one = files.zhat(&line).env("RAYON_NUM_THREADS", "1").output().unwrap();
    let three = files.zhat(&line).env("RAYON_NUM_THREADS", "3").output().unwrap();
    assert!(one.status.success() && one.stdout == three.stdout);
}

#[test]
fn what_cannot_be_run_is_said() {
    let files = Files::new();
    let message = files.fail(1, "reproduce table1 --vectors weights.npy");
    assert_eq!(message, "zhat: weights.npy: 400 vectors, but --rows is 100000\n");
    let message = files.fail(1, "reproduce table3 --vectors weights.npy --rows 400");
    assert_eq!(message, "zhat: 10000 queries of 400 vectors: 1 to 200 are possible\n");
    let message = files.fail(1, "reproduce table3 --vectors weights.npy --rows 400 --queries 9 --scale 0");
    assert_eq!(message, "zhat: the scale is 0, which is not above zero\n");
    assert_eq!(files.fail(1, "reproduce table4 --run none"), "zhat: none/rows.npy: no such file\n");
    let message = files.fail(1, "reproduce document none -o paper.md");
    assert_eq!(message, "zhat: none: no results: zhat reproduce table1 --out makes one\n");
    fs::create_dir(files.path("bad")).unwrap();
    fs::write(files.path("bad/table1.json"), "{}").unwrap();
    let message = files.fail(1, "reproduce document bad -o paper.md");
    assert!(message.starts_with("zhat: bad/table1.json: is no result: "), "{message}");
    assert!(!files.path("paper.md").exists());
    files.fail(2, "reproduce figure1 --vectors weights.npy --plot figure.pdf");
    files.fail(2, "reproduce table1 --vectors weights.npy --seeds 0");
}
