//! What `--json` prints is what the page about it says, field by field.

use std::path::Path;

use zhat::host::input::write_npy;
use zhat::host::{Kind, Layer};

use super::json_page::Page;
use super::support::{BUILD, D, Files, N, json};

const LAYER: &str = "--weights weights.npy --bias bias.npy --queries queries.npy";

#[test]
fn every_field_is_documented_and_every_documented_field_is_printed() {
    let files = Files::with_model();
    // Enough to learn from, so that some classes are not taught.
    write_npy(files.path("many.npy"), &Layer::generate(N, D, 5).queries(Kind::LanguageModel, 600, 3)).unwrap();
    files.npy("many-labels.npy", "<i8", &[600], (0..600_i64).flat_map(|i| (i % 50).to_le_bytes()).collect());
    write_npy(files.path("three.npy"), &Layer::generate(N, D, 5).queries(Kind::LanguageModel, 3, 3)).unwrap();
    // One query is too few for figures: `eval` warns.
    write_npy(files.path("one.npy"), &Layer::generate(N, D, 5).queries(Kind::LanguageModel, 1, 3)).unwrap();
    let networks = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/import");
    for name in ["gemm.onnx", "int8.tflite"] {
        std::fs::copy(networks.join(name), files.path(name)).unwrap();
    }
    let many = BUILD.replace("calibration.npy", "many.npy").replace("model.zhat", "many.zhat");
    let few = "--branching 4 --leaf 4 -o few.zhat";
    let mut page = Page::read();
    for line in [
        many.as_str(),
        &format!(
            "build {LAYER} --labels labels.npy --fit-temperature --work 10% --blend 0 --branching 8 --leaf 8 -o labelled.zhat"
        ),
        &format!("build --model gemm.onnx {few}"),
        &format!("build --model int8.tflite {few}"),
        "build --weights weights.npy --work 10% --branching 8 --leaf 8 -o bare.zhat",
        &format!("build {LAYER} --labels labels.npy --fit-map --work 10% --branching 8 --leaf 8 -o few-labels.zhat"),
        "build --weights weights.npy --bias bias.npy --queries many.npy --labels many-labels.npy --ood-queries queries.npy --fit-map --work 10% --branching 8 --leaf 8 -o mapped.zhat",
        // Levels that so few labels are enough for.
        &format!("build {LAYER} --labels labels.npy --sets 50%,60% --work 10% --branching 8 --leaf 8 -o sets.zhat"),
        &format!("eval sets.zhat {LAYER} --labels labels.npy"),
        "query sets.zhat --query queries.npy",
        "inspect few.zhat",
        "inspect bare.zhat",
        "inspect many.zhat",
        &format!("eval model.zhat {LAYER}"),
        "eval model.zhat --weights weights.npy --bias bias.npy --queries one.npy",
        &format!(
            "eval model.zhat {LAYER} --labels labels.npy --calibration calibration.npy --estimators all --seeds 1"
        ),
        "tune model.zhat --queries queries.npy --budgets 10%,30%",
        "query model.zhat --query queries.npy --top 2",
        "query model.zhat --query queries.npy --exact",
        "demo keywords",
        "demo keywords --threshold 0",
    ] {
        let printed = files.run(&format!("{line} --json"));
        let output = json(&printed);
        assert!(printed.starts_with("{\n  \"schema\": 1,\n"), "{printed}");
        let command = if line.starts_with("demo") { "demo keywords" } else { line.split(' ').next().unwrap() };
        page.expect(&format!("zhat {command}"), &output);
    }
    page.expect_all_seen(&["zhat build", "zhat eval", "zhat tune", "zhat inspect", "zhat query", "zhat demo keywords"]);
}
