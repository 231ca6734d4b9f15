//! Opens arbitrary bytes as an ONNX network: its output layer and the network without it, or an error.
#![no_main]

use zhat::host::input::network::Onnx;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // In a folder that does not exist, so that no other file is read.
    if let Ok(network) = Onnx::from_bytes("none/network.onnx", bytes.to_vec()) {
        for name in [None, Some("logits")] {
            let _ = network.layer(name);
            let _ = network.split(name);
        }
    }
});
