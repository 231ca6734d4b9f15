//! `zhat build`: the same file for the same input, goals that are met, an old file that stays.

use std::fs;

use zhat::Model;
use zhat::model::{Bits, ModelBuf};

use super::support::{BUILD, Files, N, bytemuck_of, read};

fn open(files: &Files, name: &str) -> ModelBuf {
    ModelBuf::from_bytes(&fs::read(files.path(name)).unwrap()).unwrap()
}

#[test]
fn the_same_input_and_seed_give_the_same_file() {
    let files = Files::new();
    let report = files.run(BUILD);
    for part in ["rows", "links", "error of Z", "recall", "coverage", "work", "Cortex-M4", "30 queries"] {
        assert!(report.contains(part), "{part} is missing: {report}");
    }
    let first = fs::read(files.path("model.zhat")).unwrap();
    files.zhat(BUILD).env("RAYON_NUM_THREADS", "1").assert().success();
    assert!(first == fs::read(files.path("model.zhat")).unwrap(), "the second build gave another file");
    files.run(&format!("{BUILD} --seed 2"));
    assert!(first != fs::read(files.path("model.zhat")).unwrap(), "the seed changed nothing");
}

#[test]
fn four_bits_make_a_smaller_file() {
    let files = Files::with_model();
    let eight = open(&files, "model.zhat");
    let report = files.run(&BUILD.replace("model.zhat", "four.zhat --bits 4"));
    assert!(report.contains("4 bits a weight"), "{report}");
    let four = open(&files, "four.zhat");
    assert_eq!((eight.model().bits(), four.model().bits()), (Bits::Eight, Bits::Four));
    assert!(four.len() < eight.len());
    assert!(files.run("inspect four.zhat").contains("4 bits a weight"));
    assert!(files.run("inspect model.zhat").contains("8 bits a weight"));
    assert!(files.run("inspect four.zhat --json").contains("\"bits\": 4"));
    files.zhat(&format!("{BUILD} --bits 3")).assert().failure().code(2);
}

#[test]
fn names_and_figures_are_in_the_file() {
    let files = Files::with_model();
    let file = open(&files, "model.zhat");
    let model: Model<'_> = file.model();
    assert_eq!(model.names().unwrap().get(17), Some("name17"));
    let measured = model.measured().unwrap();
    assert_eq!(measured.queries, 30);
    assert!(measured.work > 0.0 && measured.max_work <= 0.41 && measured.recall > 0.5);
    assert!(files.list().iter().all(|name| !name.starts_with('.')), "a temporary file was left");
}

#[test]
fn a_cap_is_kept_and_queries_are_not_needed() {
    let files = Files::new();
    let report = files.run("build --weights weights.npy --work 15% --cap 15% -o model.zhat");
    assert!(report.contains("give --queries"));
    assert_eq!(open(&files, "model.zhat").model().settings().unwrap().budget.cap, (N * 15 / 100) as u32);
    assert!(open(&files, "model.zhat").model().measured().is_none());
}

#[test]
fn transposed_text_and_word_vectors_make_the_same_model() {
    let files = Files::new();
    let weights = read(&files.path("weights.npy"));
    zhat::host::input::write_npy(files.path("t.npy"), &weights.transposed()).unwrap();
    let line = |row: &[f32]| row.iter().map(f32::to_string).collect::<Vec<_>>();
    let csv: String = weights.iter().map(|row| line(row).join(",") + "\n").collect();
    fs::write(files.path("w.csv"), csv).unwrap();
    let text: String =
        weights.iter().enumerate().map(|(i, row)| format!("name{i} {}\n", line(row).join(" "))).collect();
    fs::write(files.path("w.txt"), text).unwrap();
    let rest = "--blend 0 --branching 8 --leaf 8 --links 0 --names names.txt -o";
    files.run(&format!("build --weights weights.npy {rest} a.zhat"));
    files.run(&format!("build --weights t.npy --transpose {rest} b.zhat"));
    files.run(&format!("build --weights w.csv {rest} c.zhat"));
    files.run("build --weights w.txt --blend 0 --branching 8 --leaf 8 --links 0 -o d.zhat");
    let first = fs::read(files.path("a.zhat")).unwrap();
    for other in ["b.zhat", "c.zhat", "d.zhat"] {
        assert!(first == fs::read(files.path(other)).unwrap(), "{other}");
    }
}

#[test]
fn the_least_work_for_an_error_is_found_or_refused() {
    let files = Files::new();
    let line = BUILD.replace("--work 10%", "");
    files.run(&format!("{line} --max-error 40%"));
    let loose = open(&files, "model.zhat").model().settings().unwrap().budget.cap;
    files.run(&format!("{line} --max-error 0.5%"));
    let tight = open(&files, "model.zhat").model().settings().unwrap().budget.cap;
    assert!(loose < tight, "{loose} {tight}");
    assert!(files.fail(2, &format!("{BUILD} --max-error 2%")).contains("cannot be used with"));
}

#[test]
fn flash_is_kept_or_the_least_is_named() {
    let files = Files::new();
    files.run(BUILD);
    let whole = fs::metadata(files.path("model.zhat")).unwrap().len();
    files.run(&format!("{BUILD} --flash {}", whole - 2000));
    assert!(fs::metadata(files.path("model.zhat")).unwrap().len() <= whole - 2000);
    let before = fs::read(files.path("model.zhat")).unwrap();
    let message = files.fail(1, &format!("{BUILD} --flash 1K"));
    assert!(message.contains("does not fit into 1024 bytes: the least is"), "{message}");
    assert!(before == fs::read(files.path("model.zhat")).unwrap(), "the old file was touched");
}

#[test]
fn a_temperature_is_fitted_stored_and_compared_with() {
    let files = Files::new();
    let weights = read(&files.path("weights.npy"));
    // Scores that are three times too large for these labels.
    let data = weights.data().iter().map(|w| w * 3.0).collect();
    let large = zhat::host::Matrix::new(data, weights.cols()).unwrap();
    zhat::host::input::write_npy(files.path("large.npy"), &large).unwrap();
    let line = "--weights large.npy --queries queries.npy --labels labels.npy";
    let report =
        files.run(&format!("build {line} --fit-temperature --work 10% --blend 0.25 --branching 8 --leaf 8 -o m.zhat"));
    assert!(report.contains("temperature") && report.contains("log-loss"), "{report}");
    let temperature = open(&files, "m.zhat").model().settings().unwrap().temperature;
    assert!(temperature > 1.2, "{temperature}");
    let found = super::support::json(&files.run(&format!("eval m.zhat {line} --json")));
    let exact = &found["estimators"][0];
    assert_eq!(exact["name"], "exact");
    assert!(exact["err_float_mean"].as_f64().unwrap() < 0.05, "compared at another temperature: {exact}");
    assert!(files.fail(2, "build --weights large.npy --fit-temperature -o m.zhat").contains("--labels"));
}

#[test]
#[cfg(unix)]
fn an_interrupt_leaves_the_old_file() {
    use std::process::{Command, Stdio};
    let files = Files::new();
    let layer = zhat::host::Layer::generate(20_000, 32, 1);
    zhat::host::input::write_npy(files.path("big.npy"), &layer.weights).unwrap();
    zhat::host::input::write_npy(files.path("q.npy"), &layer.queries(zhat::host::Kind::LanguageModel, 500, 1)).unwrap();
    fs::write(files.path("model.zhat"), "old").unwrap();
    let build = Command::new(assert_cmd::cargo::cargo_bin!("zhat"))
        .current_dir(files.path("."))
        .args(["build", "--weights", "big.npy", "--queries", "q.npy", "-o", "model.zhat"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(Command::new("kill").args(["-INT", &build.id().to_string()]).status().unwrap().success());
    let output = build.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("interrupted: model.zhat is as it was"), "{message}");
    assert_eq!(fs::read(files.path("model.zhat")).unwrap(), b"old");
    assert!(files.list().iter().all(|name| !name.starts_with('.')), "a temporary file was left");
}

#[test]
fn a_bias_that_masks_a_class_is_taken() {
    let files = Files::new();
    let mut biases = vec![0.0f32; N];
    biases[3] = f32::NEG_INFINITY;
    files.npy("masked.npy", "<f4", &[N], bytemuck_of(&biases));
    files.run("build --weights weights.npy --bias masked.npy --work 10% -o model.zhat");
    let report = files.run("eval model.zhat --weights weights.npy --bias masked.npy --queries queries.npy");
    assert!(report.contains("moments"));
}

#[test]
fn instructions_and_deadlines_are_targets() {
    let files = Files::new();
    let rest = "--weights weights.npy --queries queries.npy -o model.zhat";
    let budget = |options: &str| {
        files.run(&format!("build {rest} {options}"));
        let model = open(&files, "model.zhat");
        let settings = *model.model().settings().unwrap();
        settings.budget.cap as usize
    };
    assert!(budget("--instructions 12k") < budget("--instructions 15k"));
    // There is time for all rows, and then not even for that.
    assert_eq!(budget("--deadline 10ms --clock 64MHz"), N);
    let message = files.fail(1, &format!("build {rest} --deadline 470us --clock 64MHz"));
    assert!(message.contains("a deadline of 30 080 cycles is too short"), "{message}");
    for wrong in ["--instructions 100", "--deadline 1us --clock 1MHz", "--deadline 1ms", "--clock 64MHz"] {
        files.fail(2, &format!("build {rest} {wrong}"));
    }
    files.fail(2, &format!("build {rest} --instructions 20k --work 4%"));
}

/// A quantised network's last layer that comes as a matrix needs its scale as much as one that comes as a network.
#[test]
fn the_scale_of_int8_activations_is_stored_with_weights_too() {
    let files = Files::new();
    let build = "build --weights weights.npy --bias bias.npy --queries calibration.npy --work 10% --blend 0.25 --branching 8 \
        --leaf 8 -o model.zhat --input-scale 0.0235 --input-zero-point -7";
    let text = files.run(build);
    assert!(text.contains("int8 activations of scale 0.0235, zero point -7: stored in the model file"), "{text}");
    let file = open(&files, "model.zhat");
    let input = file.model().input_scale().unwrap();
    assert_eq!((input.scale, input.zero_point, input.zero_point_u8()), (0.0235, -7, 121));
    assert!(files.run("inspect model.zhat").contains("inputs    int8, scale 0.0235, zero point -7"));
    // Without a zero point it is zero.
    files.run(&build.replace(" --input-zero-point -7", ""));
    let file = open(&files, "model.zhat");
    assert_eq!(file.model().input_scale().unwrap().zero_point, 0);
    for wrong in ["--input-scale 0", "--input-scale -1", "--input-scale inf", "--input-scale x", "--input-zero-point 3"]
    {
        files.fail(2, &format!("build --weights weights.npy -o m.zhat {wrong}"));
    }
    files.fail(2, "build --weights weights.npy -o m.zhat --input-scale 1 --input-zero-point 128");
}

/// What queries showed and what no query exceeds are two numbers.
#[test]
fn the_largest_seen_and_the_bound_are_told_apart() {
    let files = Files::new();
    let text = files.run(BUILD);
    let work = text.lines().find(|line| line.starts_with("work ")).unwrap();
    let (_, bound) = work.split_once(" the largest seen, ").unwrap_or_else(|| panic!("{work}"));
    let bound = bound.strip_suffix(" the bound").unwrap_or_else(|| panic!("{work}"));
    let text = files.run("inspect model.zhat");
    let cap = open(&files, "model.zhat").model().settings().unwrap().budget.cap;
    assert!(text.contains(&format!("a cap of {cap} rows ({bound})")), "{text}");
    assert!(text.contains("(largest seen ") && text.contains(" at most for any query, "), "{text}");
}
