//! Runs every table on a small layer, stores it, and writes the page from the results.

use std::fs;

use clap::{CommandFactory, Parser};
use serde_json::Value;
use zhat::host::input::{write_atomically_with, write_npy};
use zhat::host::{Kind, Layer};

use crate::command::{Failure, Folder, Outcome, printed};
use crate::{PROGRAM, Paper};

const VECTORS: &str = "--vectors @weights.npy --rows 400 --queries 100 --seeds 2 --out @results";
const FMBE: &str = "--features 60,80 --feature-queries 20";

/// Makes a folder with vectors.
fn files() -> Folder {
    let files = Folder::new();
    write_npy(files.path("weights.npy"), &Layer::generate(400, 8, 5).weights).unwrap();
    files
}

fn paper(files: &Folder, line: &str) -> Outcome<String> {
    let arguments = Paper::try_parse_from(files.arguments(line));
    let arguments = arguments.map_err(|error| Failure::Usage(error.to_string()))?;
    printed(|progress| arguments.run(progress))
}

fn run(files: &Folder, line: &str) -> String {
    paper(files, line).unwrap_or_else(|failure| panic!("{line}: {failure:?}"))
}

fn fail(files: &Folder, status: i32, line: &str) -> String {
    let (found, message) = files.failure(paper(files, line));
    assert_eq!(found, status, "{line}: {message}");
    message
}

fn stored(files: &Folder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(files.path(&format!("results/{name}.json"))).unwrap()).unwrap()
}

/// Returns the row of an estimator.
fn row<'t>(table: &'t Value, estimator: &str, k: usize) -> &'t Value {
    let rows = table["rows"].as_array().unwrap();
    rows.iter().find(|row| row["estimator"] == estimator && (k == 0 || row["k"] == k)).unwrap()
}

/// Returns the mean error of an estimator under a condition.
fn mean(table: &Value, estimator: &str, k: usize, condition: usize) -> f64 {
    row(table, estimator, k)["cells"][condition]["mean"].as_f64().unwrap()
}

fn every_cell_is_finite(table: &Value) {
    for row in table["rows"].as_array().unwrap() {
        assert!(row["work"].as_f64().unwrap() > 0.0, "{row}");
        for cell in row["cells"].as_array().unwrap() {
            assert!(cell["mean"].as_f64().unwrap().is_finite() && cell["error"].as_f64().is_some(), "{row}");
        }
    }
}

#[test]
fn every_table_is_printed_and_stored() {
    let files = files();
    let text = run(&files, &format!("table1 {VECTORS} --scale 2 {FMBE} --variants 30"));
    for part in [
        "Uniform",
        "MIMPS",
        "power-law tail",
        "MINCE by Newton's method",
        "FMBE, D = 60 (20 queries)",
        "FMBE, centred",
        "FMBE, positive",
        "FMBE, TensorSketch, D = 80",
        "Moments, 2 % of N",
        "96285.4 ± 2124.1",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let first = stored(&files, "table1-2");
    every_cell_is_finite(&first);
    // Z is that of the int8 rows, near that of the floats.
    assert!(first["data"]["quantisation"].as_f64().unwrap() < 2.0, "{}", first["data"]);
    // With 400 rows, k or l of 1000 are all of them.
    assert!(mean(&first, "MIMPS", 1000, 0) < 1e-3);
    let few = first["rows"].as_array().unwrap().iter().find(|row| row["k"] == 1 && row["l"] == 10).unwrap();
    assert!(few["cells"][0]["mean"].as_f64().unwrap() > 1.0, "{few}");
    // Two ways to the same zero, of which Newton's takes more steps.
    let steps = |name: &str| row(&first, name, 100)["steps"].as_f64().unwrap();
    assert!(steps("MINCE") < steps("MINCE by Newton's method"));

    run(&files, &format!("table2 {VECTORS} --scale 2 {FMBE}"));
    let second = stored(&files, "table2-2");
    every_cell_is_finite(&second);
    assert_eq!(second["rows"][0]["cells"].as_array().unwrap().len(), 4);

    run(&files, &format!("table3 {VECTORS} --scale 2"));
    let third = stored(&files, "table3-2");
    every_cell_is_finite(&third);
    // With as many samples as rows, what is missed is missed only where it is gone for good.
    let jump = |name: &str, condition| mean(&third, name, 1000, condition);
    let gone = |condition| jump("MIMPS, missed rows gone", condition);
    assert!(gone(0) < 1e-3 && gone(1) > 1.0, "without rank 1: {} and {}", gone(0), gone(1));
    assert!(gone(3) > gone(1) && gone(1) > gone(2), "{} {} {}", gone(1), gone(2), gone(3));
    assert!(jump("MIMPS, missed rows sampled", 1) < 1e-3);

    run(&files, "figure1 --vectors @weights.npy --rows 400 --scale 2 --plot @figure.png --out @results");
    assert!(fs::read_to_string(files.path("results/figure1-2.svg")).unwrap().contains("frequent: row 12"));
    assert!(fs::read(files.path("figure.png")).unwrap().starts_with(b"\x89PNG"));
    let curve = stored(&files, "figure1-2")["curves"][0].clone();
    let shares: Vec<f64> = serde_json::from_value(curve["shares"].clone()).unwrap();
    assert!(shares.is_sorted() && shares.iter().all(|&share| share > 0.0 && share <= 1.0 + 1e-6), "{shares:?}");
    assert!((1..=400).contains(&curve["for_most"].as_u64().unwrap()));
}

#[test]
fn all_makes_every_table_and_the_page_and_goes_on_where_it_stopped() {
    let files = files();
    language_model(&files);
    let all = format!("all {VECTORS} {FMBE} --variants 0 --run @lm");
    run(&files, &all);
    let scale = |tried: &Value| (tried["factor"].as_f64().unwrap(), tried["scale"].as_f64().unwrap());
    let fit = stored(&files, "fit")["tried"].as_array().unwrap().iter().map(scale).collect::<Vec<_>>();
    let best = fit.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1;
    let files_of = |what: &str| [format!("{what}-0.5"), format!("{what}-{}", best as f32)];
    for what in ["table1", "table2", "table3"].iter().flat_map(|what| files_of(what)) {
        every_cell_is_finite(&stored(&files, &what));
    }
    let lines = stored(&files, "table4")["lines"].as_array().unwrap().clone();
    assert_eq!((&lines[0]["estimator"], &lines[0]["better"]), (&"Z = 1".into(), &0.0.into()));
    assert!(lines.iter().skip(1).all(|line| line["speed_up"].as_f64().unwrap() > 0.0));
    let heads = lines.iter().filter(|line| line["estimator"].as_str().unwrap().starts_with("MIMPS"));
    assert!(heads.clone().all(|line| line["head_recall"].as_f64().unwrap() > 0.3) && heads.count() == 12);

    let page = fs::read_to_string(files.path("results/paper.md")).unwrap();
    for part in [
        "## The scale",
        "## Table 1",
        "## Table 2",
        "## Table 3",
        "## Table 4",
        "## Figure 1",
        &format!("$ {PROGRAM} table1 --vectors"),
        "| 1063.5 | 352 |",
        "| 39.3 ± 0.2 |",
    ] {
        assert!(page.contains(part), "{part} is missing:\n{page}");
    }
    let folder = files.path(".").canonicalize().unwrap().display().to_string();
    assert!(!page.contains(&folder) && !page.contains("/tmp"), "the page names a folder of this machine");
    // The page is made of the stored results and of nothing else.
    run(&files, "document @results -o @again.md");
    assert_eq!(fs::read_to_string(files.path("again.md")).unwrap(), page);

    // What is stored stays as it is, what is gone or was made with other settings is made again.
    let path = |what: &str| files.path(&format!("results/{what}.json"));
    fs::write(path("table3-0.5"), fs::read_to_string(path("table3-0.5")).unwrap().replace("rank 1", "kept")).unwrap();
    fs::remove_file(path("table2-0.5")).unwrap();
    run(&files, &all);
    assert!(path("table2-0.5").exists());
    let kept = |files: &Folder| stored(files, "table3-0.5")["conditions"][1] == "kept";
    assert!(kept(&files), "a stored result was made again");
    run(&files, &all.replace("--seeds 2", "--seeds 1"));
    assert!(!kept(&files), "a result of other settings was kept");
}

#[test]
fn a_seed_gives_the_same_table_on_any_number_of_cores() {
    let files = files();
    let on = |cores: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().unwrap();
        pool.install(|| run(&files, &format!("table3 {VECTORS} --scale 2")))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn what_cannot_be_run_is_said() {
    let files = files();
    let message = fail(&files, 1, "table1 --vectors @weights.npy");
    assert_eq!(message, "weights.npy: 400 vectors, but --rows is 100000");
    let message = fail(&files, 1, "table3 --vectors @weights.npy --rows 400");
    assert_eq!(message, "10000 queries of 400 vectors: 1 to 200 are possible");
    let message = fail(&files, 1, "table3 --vectors @weights.npy --rows 400 --queries 9 --scale 0");
    assert_eq!(message, "the scale is 0, which is not above zero");
    assert_eq!(fail(&files, 1, "table4 --run @none"), "none/rows.npy: no such file");
    let message = fail(&files, 1, "document @none -o @paper.md");
    assert_eq!(message, "none: no results: table1 --out makes one");
    fs::create_dir(files.path("bad")).unwrap();
    fs::write(files.path("bad/table1-2.json"), "{}").unwrap();
    let message = fail(&files, 1, "document @bad -o @paper.md");
    assert!(message.starts_with("bad/table1-2.json: is no result: "), "{message}");
    assert!(!files.path("paper.md").exists());
    fail(&files, 2, "figure1 --vectors @weights.npy --plot @figure.pdf");
    fail(&files, 2, "table1 --vectors @weights.npy --seeds 0");
}

#[test]
fn no_output_overwrites_an_input() {
    let files = files();
    fs::copy(files.path("weights.npy"), files.path("weights.svg")).unwrap();
    fs::write(files.path("table1-0.5.json"), "{}").unwrap();
    for (line, message) in [
        (
            "table1 --vectors @table1-0.5.json --out @.",
            "--out ./table1-0.5.json would overwrite --vectors table1-0.5.json",
        ),
        (
            "figure1 --vectors @weights.svg --plot @weights.svg",
            "--plot weights.svg would overwrite --vectors weights.svg",
        ),
        ("document @. -o @table1-0.5.json", "--output table1-0.5.json would overwrite the result ./table1-0.5.json"),
    ] {
        assert_eq!(fail(&files, 2, line), message);
    }
    assert_eq!(fs::read_to_string(files.path("table1-0.5.json")).unwrap(), "{}");
}

#[test]
fn every_help_has_an_example() {
    let mut command = Paper::command();
    command.clone().debug_assert();
    for sub in command.get_subcommands_mut() {
        let (name, help) = (sub.get_name().to_owned(), sub.render_long_help().to_string());
        assert!(help.contains(&format!("paper {name}")), "{help}");
    }
}

/// Writes a layer in the place of a trained one, with the report that `train_lm` would write.
fn language_model(files: &Folder) {
    let layer = Layer::generate(62, 8, 7);
    fs::create_dir(files.path("lm")).unwrap();
    let at = |name: &str| files.path(&format!("lm/{name}"));
    write_npy(at("rows.npy"), &layer.weights).unwrap();
    write_npy(at("calibration.npy"), &layer.queries(Kind::LanguageModel, 200, 1)).unwrap();
    write_npy(at("queries.npy"), &layer.queries(Kind::LanguageModel, 50, 2)).unwrap();
    write_atomically_with(at("bias.npy"), |writer| {
        use npyz::WriterBuilder;
        let mut npy = npyz::WriteOptions::new().default_dtype().shape(&[62]).writer(writer).begin_nd()?;
        npy.extend(layer.biases.iter().copied())?;
        npy.finish()
    })
    .unwrap();
    let report = r#"{"command": "train_lm t.txt", "text": "t.txt", "tokens": 9, "words": 62, "dimension": 8, "context": 3,
        "objective": "maximum likelihood", "seed": 1, "test": null, "valid": {"tokens": 9, "perplexity": 9.5,
        "perplexity_without_z": 9.5, "mean_log_z": 0.0, "deviation_log_z": 0.1}}"#;
    fs::write(at("report.json"), report).unwrap();
}
