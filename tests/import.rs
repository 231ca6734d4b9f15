//! The output layer of networks as exporters write them; networks that have none, and files that are none.
#![cfg(feature = "std")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use zhat::host::Matrix;
use zhat::host::input::network::{InputScale, Onnx, output_layer};
use zhat::host::input::{ReadOptions, read_matrix, read_vector};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/import").join(name)
}

fn weights() -> Matrix {
    read_matrix(file("weights.npy"), ReadOptions::default()).unwrap()
}

fn bias() -> Vec<f32> {
    read_vector(file("bias.npy"), ReadOptions::default()).unwrap()
}

/// Every network has the same layer: how far are its weights and biases from it at most?
fn off(name: &str) -> (f32, f32) {
    let layer = output_layer(file(name), None).unwrap();
    assert_eq!((layer.weights.rows(), layer.weights.cols()), (40, 6), "{name}");
    let most = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    (most(layer.weights.data(), weights().data()), most(&layer.biases, &bias()))
}

/// What a message says, after the file's name.
fn refusal(name: &str, layer: Option<&str>) -> String {
    let path = file(name);
    let message = output_layer(&path, layer).unwrap_err().to_string();
    message.strip_prefix(&format!("{}: ", path.display())).expect("the file's name").to_owned()
}

#[test]
fn a_layer_is_the_same_however_it_is_written() {
    for name in ["gemm", "matmul_add", "conv", "written_out", "tied", "external", "unknown_operator"] {
        assert_eq!(off(&format!("{name}.onnx")), (0.0, 0.0), "{name}");
    }
}

#[test]
fn factors_of_the_operator_and_behind_it_are_taken_in() {
    let (weights, biases) = off("gemm_factor.onnx");
    assert!(weights < 1e-6 && biases < 1e-6);
}

#[test]
fn f16_is_read() {
    let (weights, biases) = off("half.onnx");
    assert!(weights > 0.0 && weights < 2e-3 && biases < 2e-3);
}

#[test]
fn int8_weights_are_within_half_a_step() {
    // The largest weight is below 3.5: a step is below 3.5/127, and one of the bias below 5 % of that.
    for name in ["qdq.onnx", "dynamic.onnx"] {
        let (weights, biases) = off(name);
        assert!(weights > 0.0 && weights < 0.5 * 3.5 / 127.0 && biases < 1e-3, "{name}: {weights} {biases}");
    }
}

#[test]
fn the_scale_of_int8_activations_is_found() {
    let input = output_layer(file("qdq.onnx"), None).unwrap().input;
    assert_eq!(input, Some(InputScale { scale: 0.05, zero_point: -100 }));
    assert_eq!(output_layer(file("gemm.onnx"), None).unwrap().input, None);
}

#[test]
fn one_line_says_what_is_taken_and_what_is_ignored() {
    let taken = |name: &str| output_layer(file(name), None).unwrap().taken;
    assert_eq!(taken("gemm.onnx"), "fc (Gemm), 40×6, with its bias; behind it: y_node (Softmax)");
    let ends = "; the network ends in scores: p is their softmax";
    assert_eq!(taken("tied.onnx"), format!("fc (MatMul), 40×6, with its bias{ends}"));
    assert_eq!(taken("gemm_factor.onnx"), format!("fc (Gemm), 40×6, with its bias and a factor behind it{ends}"));
}

#[test]
fn a_network_that_does_not_end_in_a_linear_layer_is_refused_unless_one_is_named() {
    let message = refusal("sigmoid.onnx", None);
    let sigmoid = "squash (Sigmoid), which stands between the layer fc (Gemm) and the output \"y\", is a sigmoid";
    assert!(message.starts_with(sigmoid), "{message}");
    assert!(message.contains("--layer fc"), "{message}");
    let layer = output_layer(file("sigmoid.onnx"), Some("fc")).unwrap();
    assert_eq!((layer.weights, layer.left_out.as_deref()), (weights(), Some("squash (Sigmoid)")));
}

#[test]
fn several_outputs_need_a_name() {
    let message = refusal("two_outputs.onnx", None);
    assert!(message.starts_with("several layers could be meant; --layer NAME takes one of these:"), "{message}");
    assert!(message.contains("\n  fc (Gemm), 40×6, for the output \"y\"\n  other (Gemm), 10×6, for the output \"z\""));
    assert_eq!(output_layer(file("two_outputs.onnx"), Some("other")).unwrap().weights.rows(), 10);
    // A value's name will do as well.
    assert_eq!(output_layer(file("two_outputs.onnx"), Some("y")).unwrap().weights.rows(), 40);
}

#[test]
fn a_layer_by_name_has_its_bias() {
    let layer = output_layer(file("matmul_add.onnx"), Some("fc")).unwrap();
    assert_eq!((layer.weights, layer.biases), (weights(), bias()));
    assert_eq!(layer.taken, "fc (MatMul), 40×6, with its bias; behind it: y_node (LogSoftmax)");
    let message = refusal("gemm.onnx", Some("head"));
    assert!(message.starts_with("has no layer \"head\"; --layer NAME takes one of these:\n"), "{message}");
    let message = refusal("gemm.onnx", Some("q_node"));
    assert!(message.starts_with("q_node (Relu)"), "{message}");
}

#[test]
fn weights_in_another_file_are_needed_and_stay_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("external.onnx");
    std::fs::copy(file("external.onnx"), &path).unwrap();
    let refused = || output_layer(&path, None).unwrap_err().to_string();
    assert!(refused().ends_with("the tensor \"fc.weight\" is kept in external.bin: no such file"), "{}", refused());
    std::fs::write(folder.path().join("external.bin"), [0; 100]).unwrap();
    assert!(refused().ends_with("external.bin: ends early: expected 960 bytes, found 100"), "{}", refused());
    // The same length, but a path out of the folder.
    let bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(12).position(|part| part == b"external.bin").unwrap();
    let mut away = bytes;
    away[at..at + 12].copy_from_slice(b"../e/ternal.");
    std::fs::write(&path, away).unwrap();
    assert!(refused().ends_with("not a file in the network's folder"), "{}", refused());
}

#[test]
fn other_files_are_refused_with_a_word_on_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        output_layer(folder.path().join(name), None).unwrap_err().to_string()
    };
    assert!(refused("net.pt", b"PK").contains("save the layer as safetensors"));
    assert!(refused("net.keras", b"PK").contains("model.layers[-1].get_weights()"));
    assert!(refused("net.txt", b"PK").contains("unknown kind of network"));
    assert!(refused("net.onnx", b"").ends_with("is empty"));
    assert!(refused("net.onnx", b"hello").contains("not an ONNX file, or a broken one"));
    let missing = output_layer(folder.path().join("none.onnx"), None).unwrap_err().to_string();
    assert!(missing.ends_with("none.onnx: no such file"));
}

#[test]
fn a_body_is_a_network_whose_output_is_the_query() {
    for name in ["gemm", "matmul_add", "conv", "half", "qdq", "dynamic", "written_out", "tied", "sigmoid"] {
        let layer = (name == "sigmoid").then_some("fc");
        let whole = Onnx::open(file(&format!("{name}.onnx"))).unwrap();
        let body = whole.split(layer).unwrap();
        assert!(body.bytes.len() < std::fs::metadata(whole.path()).unwrap().len() as usize, "{name}");
        // It can be read, and has no output layer of its own.
        let refused = Onnx::from_bytes("body.onnx", body.bytes).unwrap().layer(None).unwrap_err().to_string();
        assert!(refused.contains(&format!("the output \"{}\"", body.query)), "{name}: {refused}");
    }
}

const NETWORKS: [&str; 13] = [
    "conv.onnx",
    "dynamic.onnx",
    "external.onnx",
    "gemm.onnx",
    "gemm_factor.onnx",
    "half.onnx",
    "matmul_add.onnx",
    "qdq.onnx",
    "sigmoid.onnx",
    "tied.onnx",
    "two_outputs.onnx",
    "unknown_operator.onnx",
    "written_out.onnx",
];

/// All that is done with a network's bytes.
fn read(bytes: Vec<u8>) {
    if let Ok(onnx) = Onnx::from_bytes(file("fuzzed.onnx"), bytes) {
        let _ = onnx.layer(None);
        let _ = onnx.layer(Some("fc"));
        let _ = onnx.split(None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_networks_never_panic(
        which in 0..NETWORKS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        whole: bool,
    ) {
        let mut bytes = std::fs::read(file(NETWORKS[which])).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        read(bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        read(bytes);
    }
}
