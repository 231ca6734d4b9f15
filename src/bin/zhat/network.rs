//! Inputs of a network, for the commands that run one.

use std::path::Path;

use clap::Args;
use zhat::host::Matrix;

use super::files::File;
use super::progress::Progress;
use super::{Failure, Outcome};

/// What to run a network on.
#[derive(Args)]
pub struct NetworkArgs {
    /// Inputs of the network, .npy: batch × what it takes; several files one after the other
    ///
    /// A network with several inputs takes NAME=FILE for each. Every step of a sequence is a query.
    #[arg(long, value_name = "[NAME=]FILE", num_args = 1..)]
    pub inputs: Vec<String>,
    /// Leave out steps of a sequence that are padding: by an input called mask, or constant ends of the input
    #[arg(long, requires = "inputs")]
    pub skip_padding: bool,
}

impl NetworkArgs {
    /// The files of the inputs, without the names in front of them.
    pub fn paths(&self) -> impl Iterator<Item = File<'_>> + Clone {
        self.inputs.iter().map(|text| ("--inputs", Path::new(text.split_once('=').map_or(&**text, |parts| parts.1))))
    }
}

#[cfg(feature = "import")]
mod with_engine {
    use super::{Failure, Matrix, NetworkArgs, Outcome, Path, Progress};
    use zhat::host::input::network::{InputFile, Onnx, RunOptions, difference};

    impl NetworkArgs {
        /// The files.
        pub fn files(&self) -> Vec<InputFile> {
            self.inputs.iter().map(|text| InputFile::parse(text)).collect()
        }

        /// A network that can be run.
        pub fn open(network: &Path) -> Outcome<Onnx> {
            if network.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tflite")) {
                let message = format!(
                    "{}: .tflite networks are not run here: save the layer's inputs with the TensorFlow Lite interpreter \
                     (guide, \"From your network\") and give them as --queries",
                    network.display()
                );
                return Err(Failure::Failed(message));
            }
            Ok(Onnx::open(network)?)
        }

        /// Runs the network up to its layer: the queries, and how many steps were padding.
        pub fn queries(&self, network: &Path, layer: Option<&str>, progress: &Progress) -> Outcome<(Matrix, usize)> {
            let files = self.files();
            let options = RunOptions { layer, inputs: &files, skip_padding: self.skip_padding };
            let show = &mut |share: f32| progress.count("running the network", (share * 1000.0) as usize, 1000);
            Ok(Self::open(network)?.queries(&options, show)?)
        }

        /// Runs all of the network on a few inputs: the mean |Δp| of the best class between its output and a layer, or
        /// nothing if the engine can't run it to its end.
        pub fn difference(
            &self,
            network: &Path,
            layer: Option<&str>,
            weights: &Matrix,
            biases: &[f32],
        ) -> Outcome<Option<f64>> {
            let files = self.files();
            let options = RunOptions { layer, inputs: &files, skip_padding: self.skip_padding };
            Ok(difference(&Self::open(network)?, &options, weights, biases)?)
        }
    }
}

#[cfg(not(feature = "import"))]
impl NetworkArgs {
    /// There is no engine in this build.
    pub fn queries(&self, network: &Path, _: Option<&str>, _: &Progress) -> Outcome<(Matrix, usize)> {
        let message = format!(
            "{}: this zhat was built without an engine for networks: build it with --features cli,import, or give the \
             layer's inputs as --queries",
            network.display()
        );
        Err(Failure::Failed(message))
    }
}
