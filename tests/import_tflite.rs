//! TensorFlow Lite networks: the layer is read to the bit, and answers as TensorFlow Lite's own kernel does.
#![cfg(feature = "std")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use zhat::host::input::network::{InputScale, Tflite, output_layer, with_input_scale};
use zhat::host::input::{ReadOptions, TensorValues, read_matrix, read_tensor, read_vector};
use zhat::host::{Matrix, QuantisedRows, flat_model};
use zhat::model::Bits;
use zhat::{QueryBuffer, exact};

const INT8: [&str; 2] = ["int8", "int8_per_class"];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/import").join(name)
}

fn matrix(name: &str) -> Matrix {
    read_matrix(file(name), ReadOptions::default()).unwrap()
}

#[test]
fn a_float_layer_is_the_layer() {
    let layer = output_layer(file("float.tflite"), None).unwrap();
    assert_eq!(layer.weights, matrix("weights.npy"));
    assert_eq!(layer.biases, read_vector(file("bias.npy"), ReadOptions::default()).unwrap());
    assert_eq!(layer.input, None);
    let taken = "fc (FULLY_CONNECTED), 40×6, with its bias; behind it: y (SOFTMAX)";
    assert_eq!(layer.taken, taken);
    assert_eq!(output_layer(file("float.tflite"), Some("fc")).unwrap().weights, layer.weights);
}

#[test]
fn int8_weights_are_not_rounded_a_second_time() {
    for name in INT8 {
        let layer = output_layer(file(&format!("{name}.tflite")), None).unwrap();
        // Two bits of room above the largest weight, as the builder has them.
        let rows = QuantisedRows::round(&layer.weights, &layer.biases, -19, None, Bits::Eight);
        let weights: Vec<f32> =
            rows.stored.iter().flat_map(|&pair| zhat::internal::weights(pair)).map(f32::from).collect();
        let expected = matrix(&format!("{name}_values.npy"));
        for (class, (row, expected)) in weights.chunks_exact(8).zip(expected.iter()).enumerate() {
            // Rows whose int8 weights have a common factor may be kept as fewer, longer steps, or more, shorter ones.
            let (row, at) = (&row[..6], expected.iter().position(|w| w.abs() == peak(expected)).unwrap());
            let factor = row[at] / expected[at];
            assert!(
                row.iter().zip(expected).all(|(w, e)| *w == e * factor),
                "{name}, class {class}: {row:?} {expected:?}"
            );
        }
    }
}

fn peak(row: &[f32]) -> f32 {
    row.iter().fold(0.0, |most, w| w.abs().max(most))
}

#[test]
fn the_best_class_is_that_of_the_kernel_of_tensorflow_lite_for_all_inputs() {
    let TensorValues::Int(activations) = read_tensor(file("activations.npy")).unwrap().values else { panic!() };
    for name in INT8 {
        let layer = output_layer(file(&format!("{name}.tflite")), None).unwrap();
        let input = InputScale { scale: 0.02, zero_point: -100 };
        assert_eq!(layer.input, Some(input));
        let model = with_input_scale(&flat_model(&layer.weights, &layer.biases).unwrap(), input).unwrap();
        let model = model.model();
        let InputScale { scale, zero_point } = model.input_scale().unwrap();
        let scores = matrix(&format!("{name}_scores.npy"));
        assert_eq!(activations.len(), 200 * 6);
        for (activations, scores) in activations.chunks_exact(6).zip(scores.iter()) {
            let query: Vec<f32> = activations.iter().map(|&a| (a - i32::from(zero_point)) as f32 * scale).collect();
            let answer = exact::<1>(&model, &QueryBuffer::<8>::new(&model, &query).unwrap());
            // The kernel's scores are int8: several classes may be the best.
            let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(
                scores[answer.expect("a query of the model").top[0].class as usize],
                most,
                "{name}: {activations:?}"
            );
        }
    }
}

#[test]
fn what_is_no_network_is_refused() {
    let refused = |bytes: &[u8]| Tflite::from_bytes("net.tflite", bytes.to_vec()).unwrap_err().to_string();
    assert_eq!(refused(b"hello"), "net.tflite: not a .tflite file, or a broken one");
    let whole = std::fs::read(file("int8.tflite")).unwrap();
    assert_eq!(refused(&whole[..20]), "net.tflite: not a .tflite file, or a broken one");
    let name = output_layer(file("int8.tflite"), Some("head")).unwrap_err().to_string();
    assert!(
        name.ends_with("has no layer \"head\"; --layer NAME takes one of these:\n  fc (FULLY_CONNECTED), 40×6"),
        "{name}"
    );
}

fn read(bytes: Vec<u8>) {
    if let Ok(network) = Tflite::from_bytes("fuzzed.tflite", bytes) {
        let _ = network.layer(None);
        let _ = network.layer(Some("fc"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damaged_networks_never_panic(
        which in 0..INT8.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        whole: bool,
    ) {
        let mut bytes = std::fs::read(file(&format!("{}.tflite", INT8[which]))).unwrap();
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
        let mut file = b"\x08\0\0\0TFL3".to_vec();
        file.extend(bytes);
        read(file);
    }
}
