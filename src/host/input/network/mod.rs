//! From a trained network to its output layer, the inputs of that layer, and the network without it.
//!
//! | file | read by | what is taken |
//! |---|---|---|
//! | `.onnx` | [`Onnx`] | `Gemm`, `MatMul` and `Add`, a 1×1 `Conv`; f16, f32, f64, int8 with scales |
//! | `.tflite` | [`Tflite`] | `FULLY_CONNECTED`, a 1×1 `CONV_2D`; f16, f32, int8 for each tensor or class |
//!
//! Weights are read from the file itself; nothing of the network is run for them. Files are not trusted: a broken one is
//! an error, never a panic, and memory is bounded by the size of the file.

mod array;
mod error;
mod layer;
mod layout;
mod meaning;
mod onnx;
mod protobuf;
#[cfg(feature = "import")]
mod run;
mod tflite;

use std::path::Path;

pub use crate::model::InputScale;
pub use error::{ImportError, Obstacle};
pub use layer::{OutputLayer, as_partial, with_input_scale};
pub use onnx::{Onnx, Split};
#[cfg(feature = "import")]
pub use run::{Agreement, Comparison, Difference, InputFile, RunOptions, Seen, difference};
pub use tflite::Tflite;

/// Reads the output layer of a network: the one that is named, or the one that its outputs come from.
///
/// ```
/// let layer = zhat::host::input::network::output_layer("models/import/gemm.onnx", None)?;
/// println!("{}: {} classes", layer.taken, layer.weights.rows());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If it can't be read, or it is not clear which layer is meant.
pub fn output_layer(path: impl AsRef<Path>, name: Option<&str>) -> Result<OutputLayer, ImportError> {
    let path = path.as_ref();
    match extension(path).as_str() {
        "onnx" => Onnx::open(path)?.layer(name),
        "tflite" => Tflite::open(path)?.layer(name),
        _ => {
            expect_no_pickle(path)?;
            Err(ImportError::new(path, Obstacle::Kind("unknown kind of network, expected .onnx or .tflite")))
        }
    }
}

/// Refuses formats of other tools that are not supported, and says what to do instead.
///
/// ```
/// let refused = zhat::host::input::network::expect_no_pickle("model.pt".as_ref()).unwrap_err();
/// println!("{refused}"); // what to do in Python
/// ```
///
/// # Errors
/// For such a file.
pub fn expect_no_pickle(path: &Path) -> Result<(), ImportError> {
    let why = match extension(path).as_str() {
        "pt" | "pth" | "ckpt" | "pkl" | "pickle" => {
            "a pickle, which is a program that reading would run. In Python, save the layer as safetensors: \
             safetensors.torch.save_file({k: v.contiguous() for k, v in model.state_dict().items()}, \"model.safetensors\"), \
             then zhat build --weights model.safetensors --tensor fc.weight --bias-tensor fc.bias"
        }
        "h5" | "keras" | "hdf5" => {
            "a Keras file, which is not read. In Python, save the last layer: w, b = model.layers[-1].get_weights(); \
             np.save(\"W.npy\", w.T); np.save(\"b.npy\", b), or convert the model to .tflite"
        }
        _ => return Ok(()),
    };
    // A missing file is not a file of the wrong kind.
    match std::fs::metadata(path) {
        Ok(_) => Err(ImportError::new(path, Obstacle::Kind(why))),
        Err(error) => Err(ImportError::new(path, error.into())),
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Returns the bytes of a file.
fn read(path: &Path) -> Result<Vec<u8>, ImportError> {
    let fail = |obstacle| ImportError::new(path, obstacle);
    match std::fs::read(path) {
        Ok(bytes) if bytes.is_empty() => Err(fail(Obstacle::Malformed("is empty".into()))),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(fail(error.into())),
    }
}
