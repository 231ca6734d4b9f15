//! Opens arbitrary bytes as a TensorFlow Lite network: its output layer, or an error.
#![no_main]

use zhat::host::input::network::Tflite;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(network) = Tflite::from_bytes("network.tflite", bytes.to_vec()) {
        for name in [None, Some("logits")] {
            let _ = network.layer(name);
        }
    }
});
