//! `zhat split`.

use std::path::PathBuf;

use clap::Args;
use zhat::host::input::network::{Onnx, Split};
use zhat::host::input::{expect_writable, write_atomically};

use super::files::expect_apart;
use super::output::{bytes, print};
use super::{Failure, Outcome};

/// Cut the output layer off a network
///
/// What is left is the body: its output is what the layer takes, the query of a zhat model. Compile the body with the
/// tools of the device, and hand its output to zhat.
#[derive(Args)]
#[command(after_help = "Example:
  zhat split net.onnx -o body.onnx
  zhat build --model net.onnx --inputs x.npy -o model.zhat")]
pub struct SplitArgs {
    /// The network, .onnx
    network: PathBuf,
    /// The layer, if it is not the one that the network's output comes from: the name of a node
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// The body
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl SplitArgs {
    pub fn run(&self) -> Outcome {
        if self.network.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tflite")) {
            let message = format!(
                "{}: .tflite networks can't be split here: cut the model in Keras and convert the body (guide, \
                 \"From your network\")",
                self.network.display()
            );
            return Err(Failure::Failed(message));
        }
        expect_apart([("--output", self.output.as_path())], [("the network", self.network.as_path())])?;
        expect_writable(&self.output)?;
        let Split { bytes: file, query, taken } = Onnx::open(&self.network)?.split(self.layer.as_deref())?;
        write_atomically(&self.output, &file)?;
        print(&format!(
            "{}: {}, output \"{query}\", which is the query\ncut off: {taken}\n",
            self.output.display(),
            bytes(file.len())
        ))
    }
}
