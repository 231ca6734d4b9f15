//! Reads whatever the environment names: a stand-in until the small networks are made.
#[test]
fn look() {
    for path in std::env::var("NETS").unwrap_or_default().split_whitespace() {
        match super::Onnx::open(path).and_then(|onnx| onnx.layer(None)) {
            Ok(layer) => eprintln!(
                "{path}: {} {}×{} {:?} {:?}",
                layer.taken,
                layer.weights.rows(),
                layer.weights.cols(),
                layer.steps.map(|s| s.len()),
                layer.input
            ),
            Err(error) => eprintln!("{error}"),
        }
    }
}
