//! Networks on the command line: build --model, check and split, and what is said about inputs that do not fit.

#[path = "cli/json_page.rs"]
mod json_page;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A directory with the small networks and inputs for them.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/import");
        for entry in fs::read_dir(source).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, files.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        let wave = |count: usize| (0..count).map(|i| (i as f32 * 0.7).sin() + (i as f32 * 0.11).cos());
        let floats = |count: usize| wave(count).flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        files.npy("x.npy", "<f4", &[120, 4], floats(480));
        files.npy("one.npy", "<f4", &[4], floats(4));
        files.npy("wide.npy", "<f4", &[120, 5], floats(600));
        files.npy("steps.npy", "<f4", &[20, 7, 4], floats(560));
        files.npy("image.npy", "<f4", &[10, 4, 3, 5], floats(600));
        files.npy("ints.npy", "<i8", &[120, 4], (0..480i64).flat_map(|i| (i % 5).to_le_bytes()).collect());
        let ids = (0..120i64).flat_map(|i| (i * 7 % 40).to_le_bytes()).collect();
        files.npy("ids.npy", "<i8", &[20, 6], ids);
        // Of six steps the last two are padding.
        let mask = (0..120).flat_map(|i| i64::from(i % 6 < 4).to_le_bytes()).collect();
        files.npy("mask.npy", "<i8", &[20, 6], mask);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn npy(&self, name: &str, kind: &str, shape: &[usize], data: Vec<u8>) {
        let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
        while !(header.len() + 11).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        fs::write(self.path(name), bytes).unwrap();
    }

    fn zhat(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("zhat"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    fn run(&self, line: &str) -> String {
        let output = self.zhat(line).output().unwrap();
        assert!(output.status.success(), "zhat {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a build that has to fail with 1 and leave nothing after; its message.
    fn refused(&self, inputs: &str) -> String {
        let output = self.zhat(&format!("build {inputs} {PLAN} -o none.zhat")).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{inputs}: {message}");
        assert!(!self.path("none.zhat").exists());
        message
    }

    /// Builds a model of a network that scores every row, and compares it with the network.
    fn agreement(&self, network: &str, inputs: &str) -> Value {
        self.run(&format!("build --model {network} --inputs {inputs} {PLAN} --work 100% -o m.zhat"));
        serde_json::from_str(&self.run(&format!("check {network} m.zhat --inputs {inputs} --json"))).unwrap()
    }
}

/// One plan, for speed.
const PLAN: &str = "--blend 0 --branching 4 --leaf 4";

#[test]
fn a_model_answers_as_the_network_that_it_is_from() {
    let files = Files::new();
    for (network, inputs, queries) in [
        ("gemm.onnx", "x.npy", 120),
        ("gemm.onnx", "x.npy x.npy one.npy", 241),
        ("gemm_factor.onnx", "x.npy", 120),
        ("matmul_add.onnx", "steps.npy", 140),
        ("conv.onnx", "image.npy", 150),
        ("half.onnx", "x.npy", 120),
        ("qdq.onnx", "x.npy", 120),
        ("dynamic.onnx", "x.npy", 120),
        ("written_out.onnx", "x.npy", 120),
        ("external.onnx", "x.npy", 120),
        ("tied.onnx", "ids=ids.npy mask=mask.npy", 120),
        ("logistic.onnx", "x.npy", 120),
    ] {
        let found = files.agreement(network, inputs);
        assert_eq!(found["queries"], queries, "{network}");
        // Rounding may turn over a few that are all but even.
        assert!(found["same"].as_u64().unwrap() * 50 >= queries * 49, "{network}: {found}");
        assert!(found["dp_mean"].as_f64().unwrap() < 5e-3, "{network}: {found}");
    }
}

#[test]
fn one_line_says_what_was_taken_and_how_many_queries_there_are() {
    let files = Files::new();
    let text = files.run(&format!("build --model gemm.onnx --inputs x.npy {PLAN} -o m.zhat"));
    assert!(text.starts_with("layer fc (Gemm), 40×6, with its bias; behind it: y_node (Softmax)\n"), "{text}");
    assert!(text.contains("\nran the network on 1 files: 120 queries, 0 steps skipped as padding\n"), "{text}");
}

#[test]
fn padding_is_skipped_by_mask_and_by_constant_ends() {
    let files = Files::new();
    let build = |line: &str| files.run(&format!("build {line} --skip-padding {PLAN} -o m.zhat"));
    let text = build("--model tied.onnx --inputs ids=ids.npy mask=mask.npy");
    assert!(text.contains("80 queries, 40 steps skipped as padding"), "{text}");
    // Seven steps, of which the last three of every example are zero.
    let values = (0..560).map(|i| if i / 4 % 7 < 4 { (i as f32).sin() } else { 0.0 });
    files.npy("padded.npy", "<f4", &[20, 7, 4], values.flat_map(f32::to_le_bytes).collect());
    let text = build("--model matmul_add.onnx --inputs padded.npy");
    assert!(text.contains("80 queries, 60 steps skipped as padding"), "{text}");
}

#[test]
fn a_network_without_inputs_makes_a_model_of_its_weights() {
    let files = Files::new();
    for network in ["gemm.onnx", "unknown_operator.onnx", "float.tflite"] {
        let text = files.run(&format!("build --model {network} {PLAN} -o m.zhat"));
        assert!(text.contains("40 classes, 6 dimensions"), "{network}");
    }
    let text = files.run(&format!("build --model int8.tflite {PLAN} -o m.zhat"));
    assert!(text.contains("\nint8 activations of scale 0.02, zero point -100: stored in the model file\n"), "{text}");
    assert!(files.run("inspect m.zhat").contains("\ninputs    int8, scale 0.02, zero point -100\n"));
}

#[test]
fn labels_give_the_accuracy_of_both() {
    let files = Files::new();
    files.run(&format!("build --model gemm.onnx --inputs x.npy {PLAN} --work 100% -o m.zhat"));
    files.npy("y.npy", "<i8", &[120], (0..120i64).flat_map(|i| (i % 40).to_le_bytes()).collect());
    let text = files.run("check gemm.onnx m.zhat --inputs x.npy --labels y.npy");
    assert!(text.contains("\naccuracy "), "{text}");
    let output = files.zhat("check gemm.onnx m.zhat --inputs x.npy x.npy --labels y.npy").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "zhat: y.npy: 120 labels, but there are 240 queries\n");
}

#[test]
fn the_json_of_check_is_what_its_page_says() {
    let files = Files::new();
    let mut page = json_page::Page::read();
    files.npy("y.npy", "<i8", &[120], (0..120i64).flat_map(|i| (i % 40).to_le_bytes()).collect());
    files.run(&format!("build --model gemm.onnx --inputs x.npy {PLAN} --work 100% -o m.zhat"));
    // Of another layer, so that some answers differ.
    files.run(&format!("build --weights weights.npy {PLAN} -o other.zhat"));
    for line in [
        "m.zhat --inputs x.npy --labels y.npy",
        "m.zhat --inputs x.npy",
        "other.zhat --inputs x.npy --max-difference 1,100%",
    ] {
        let printed = files.run(&format!("check gemm.onnx {line} --json"));
        assert!(printed.starts_with("{\n  \"schema\": 1,\n"), "{printed}");
        page.expect("zhat check", &serde_json::from_str(&printed).unwrap());
    }
    files.run(&format!("build --model sigmoid.onnx --layer fc {PLAN} -o partial.zhat"));
    let line = "check sigmoid.onnx partial.zhat --layer fc --inputs x.npy --max-difference 1,100% --json";
    page.expect("zhat check", &serde_json::from_str(&files.run(line)).unwrap());
    page.expect_all_seen(&["zhat check"]);
}

#[test]
fn check_fails_where_the_network_answers_something_else() {
    let files = Files::new();
    let check = |line: &str| {
        let output = files.zhat(&format!("check {line}")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    // A layer whose sigmoid is left out: the model is marked, and no comparison calls it right.
    let text = files.run(&format!("build --model sigmoid.onnx --layer fc --inputs x.npy {PLAN} --work 100% -o m.zhat"));
    let left_out =
        "left out behind the layer: squash (Sigmoid); p is a softmax of the layer's scores, not the network's output";
    assert!(text.contains(left_out), "{text}");
    assert!(files.run("inspect m.zhat").contains("partial: squash (Sigmoid) is left out behind the layer"));
    let (status, text, message) = check("sigmoid.onnx m.zhat --layer fc --inputs x.npy");
    assert_eq!(status, Some(1), "{text}{message}");
    assert!(text.contains(left_out) && message.contains("differs from sigmoid.onnx"), "{text}{message}");
    files.run("split sigmoid.onnx --layer fc -o body.onnx");
    files.npy("q.npy", "<f4", &[2, 6], (0..12).flat_map(|i| (i as f32 * 0.3).to_le_bytes()).collect());
    let (status, _, message) = check("sigmoid.onnx m.zhat --layer fc --queries q.npy");
    assert!(status == Some(1) && message.contains("m.zhat: is partial"), "{message}");
    // A model of another bias.
    files.run(&format!("build --weights weights.npy {PLAN} --work 100% -o other.zhat"));
    let (status, text, message) = check("gemm.onnx other.zhat --inputs x.npy");
    assert_eq!(status, Some(1), "{text}{message}");
    assert!(text.starts_with("120 queries: the output of the whole network against body and model\n"), "{text}");
    assert!(
        message.contains("other.zhat: differs from gemm.onnx") && message.contains("--max-difference"),
        "{message}"
    );
    assert_eq!(check("gemm.onnx other.zhat --inputs x.npy --max-difference 1,100%").0, Some(0));
}

#[test]
fn check_compares_with_the_layer_where_the_network_is_not_run() {
    let files = Files::new();
    files.npy(
        "q.npy",
        "<f4",
        &[50, 6],
        (0..300).flat_map(|i| ((i as f32 * 0.37).sin().abs() * 2.0).to_le_bytes()).collect(),
    );
    for network in ["float.tflite", "int8.tflite", "gemm.onnx", "unknown_operator.onnx"] {
        files.run(&format!("build --model {network} --queries q.npy {PLAN} --work 100% -o m.zhat"));
        let text = files.run(&format!("check {network} m.zhat --queries q.npy"));
        assert!(
            text.starts_with("50 queries: the network's layer in floats against the model: the network was not run"),
            "{text}"
        );
        let json: Value =
            serde_json::from_str(&files.run(&format!("check {network} m.zhat --queries q.npy --json"))).unwrap();
        assert_eq!(json["against"], "layer");
        // Of a layer without the bias it is another one.
        files.run(&format!("build --weights weights.npy {PLAN} --work 100% -o other.zhat"));
        let output = files.zhat(&format!("check {network} other.zhat --queries q.npy")).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn a_bias_settles_which_way_round_the_weights_are_stored() {
    let files = Files::new();
    let values = |count: usize| (0..count).flat_map(|i| (i as f32 * 0.7).sin().to_le_bytes()).collect::<Vec<u8>>();
    files.npy("wide_weights.npy", "<f4", &[8, 20], values(160));
    files.npy("eight.npy", "<f4", &[8], values(8));
    let warning = "8 classes of 20 dimensions";
    assert!(files.run(&format!("build --weights wide_weights.npy {PLAN} -o m.zhat")).contains(warning));
    assert!(
        !files.run(&format!("build --weights wide_weights.npy --bias eight.npy {PLAN} -o m.zhat")).contains(warning)
    );
}

#[test]
fn the_body_is_run_to_the_same_queries() {
    let files = Files::new();
    let text = files.run("split gemm.onnx -o body.onnx");
    assert!(text.contains("output \"q\", which is the query\ncut off: fc (Gemm), 40×6, with its bias"), "{text}");
    assert!(files.path("body.onnx").exists());
    // The body has no layer of its own, and is a network that has one when it is named.
    let message = files.refused("--model body.onnx");
    assert!(
        message.contains("q_node (Relu), which stands between the layer product_node (MatMul) and the output \"q\","),
        "{message}"
    );
    let text = files.run(&format!("build --model body.onnx --layer product_node {PLAN} -o m.zhat"));
    assert!(text.contains("6 classes"));
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let files = Files::new();
    for (line, expected) in [
        ("--model gemm.onnx --inputs wide.npy", "gemm.onnx: the input \"x\" takes ?×4 floats, but wide.npy is 120×5"),
        (
            "--model gemm.onnx --inputs steps.npy",
            "gemm.onnx: the input \"x\" takes ?×4 floats, but steps.npy is 20×7×4",
        ),
        ("--model gemm.onnx --inputs none.npy", "zhat: none.npy: no such file"),
        ("--model gemm.onnx --inputs z=x.npy", "no input \"z\": the network takes --inputs x=FILE (?×4 floats)"),
        (
            "--model tied.onnx --inputs ids.npy",
            "several inputs: the network takes --inputs ids=FILE (?×? integers) mask=FILE (?×? integers)",
        ),
        ("--model tied.onnx --inputs ids=ids.npy", "0 files for the input \"mask\""),
        (
            "--model tied.onnx --inputs ids=x.npy mask=mask.npy",
            "the input \"ids\" takes integers, but x.npy holds floats",
        ),
        ("--model unknown_operator.onnx --inputs x.npy", "Frobnicate"),
        ("--model unknown_operator.onnx --inputs x.npy", "can be given as --queries"),
        ("--model int8.tflite --inputs x.npy", "int8.tflite: .tflite networks are not run here"),
        (
            "--model sigmoid.onnx",
            "squash (Sigmoid), which stands between the layer fc (Gemm) and the output \"y\", is a sigmoid",
        ),
        ("--model two_outputs.onnx", "several layers could be meant"),
        ("--model weights.npy", "weights.npy: unknown kind of network, expected .onnx or .tflite"),
        ("--weights model.pt", "model.pt: no such file"),
    ] {
        let message = files.refused(line);
        assert!(message.contains(expected), "{line}: {message}");
    }
    fs::remove_file(files.path("external.bin")).unwrap();
    let message = files.refused("--model external.onnx --inputs x.npy");
    assert!(message.contains("the tensor \"fc.weight\" is kept in external.bin: no such file"), "{message}");
    let whole = fs::read(files.path("gemm.onnx")).unwrap();
    fs::write(files.path("cut.onnx"), &whole[..whole.len() / 2]).unwrap();
    assert!(files.refused("--model cut.onnx").contains("cut.onnx: not an ONNX file, or a broken one"));
    fs::write(files.path("net.pt"), "PK").unwrap();
    assert!(files.refused("--weights net.pt").contains("save the layer as safetensors"));
    // Integers are floats as well.
    files.run(&format!("build --model gemm.onnx --inputs ints.npy {PLAN} -o m.zhat"));
}

#[test]
fn weights_and_biases_come_from_one_safetensors_file() {
    let files = Files::new();
    let data = |name: &str| fs::read(files.path(name)).unwrap()[128..].to_vec();
    let (weights, bias) = (data("weights.npy"), data("bias.npy"));
    let header = r#"{"fc.bias":{"dtype":"F32","shape":[40],"data_offsets":[960,1120]},
        "fc.weight":{"dtype":"F32","shape":[40,6],"data_offsets":[0,960]},
        "other":{"dtype":"F32","shape":[2,2],"data_offsets":[1120,1136]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes().chain(weights).chain(bias).chain([0; 16]));
    fs::write(files.path("net.safetensors"), file).unwrap();
    let tensors = "--weights net.safetensors --tensor fc.weight --bias-tensor fc.bias";
    files.run(&format!("build {tensors} {PLAN} -o a.zhat"));
    files.run(&format!("build --weights weights.npy --bias bias.npy {PLAN} -o b.zhat"));
    assert_eq!(fs::read(files.path("a.zhat")).unwrap(), fs::read(files.path("b.zhat")).unwrap());
    // The layer is the same as that of a network with it.
    files.run(&format!("build --model gemm.onnx {PLAN} -o c.zhat"));
    assert_eq!(fs::read(files.path("a.zhat")).unwrap(), fs::read(files.path("c.zhat")).unwrap());
    let message = files.refused("--weights net.safetensors --tensor fc.weight --bias-tensor other");
    assert!(message.contains("net.safetensors: has shape 2×2, expected one dimension"), "{message}");
}

#[test]
fn a_model_of_another_network_is_refused() {
    let files = Files::new();
    files.run(&format!("build --model two_outputs.onnx --layer other {PLAN} -o m.zhat"));
    let output = files.zhat("check gemm.onnx m.zhat --inputs x.npy").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("m.zhat: classes of the network: 40 does not fit the model"), "{message}");
}

#[test]
fn wrong_usage_has_a_status_of_two() {
    let files = Files::new();
    for (line, part) in [
        ("build --model gemm.onnx --weights weights.npy -o m.zhat", "cannot be used with"),
        ("build --weights weights.npy --inputs x.npy -o m.zhat", "--inputs are for --model"),
        ("build --weights weights.npy --layer fc -o m.zhat", "cannot be used with"),
        ("build --model gemm.onnx --labels y.npy -o m.zhat", "--labels need --queries, or --inputs"),
        ("check gemm.onnx m.zhat", "--inputs of the network are needed, or --queries of its layer"),
        ("check gemm.onnx m.zhat --inputs x.npy --max-difference 3,x", "is not two shares"),
        ("split gemm.onnx -o gemm.onnx", "--output gemm.onnx would overwrite the network gemm.onnx"),
        ("build --model gemm.onnx --inputs x=x.npy -o x.npy", "--output x.npy would overwrite --inputs x.npy"),
        ("build --model gemm.onnx -o gemm.onnx", "--output gemm.onnx would overwrite --model gemm.onnx"),
    ] {
        let output = files.zhat(line).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "zhat {line}: {message}");
        assert!(message.contains(part), "zhat {line}: {message}");
    }
}
