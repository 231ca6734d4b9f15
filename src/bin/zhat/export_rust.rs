//! `zhat export-rust`.

use std::path::PathBuf;

use clap::Args;
use zhat::host::report::export::rust_module;

use super::files::expect_apart;
use super::output::print;
use super::progress::write;
use super::{Failure, Outcome, inputs};

/// Write a Rust module for firmware: the model, its budget and its buffer sizes
#[derive(Args)]
#[command(after_help = "Example:
  zhat export-rust model.zhat -o firmware/src/model   # then: #[path = \"model/model.rs\"] mod model;")]
pub struct ExportRust {
    /// The model file
    model: PathBuf,
    /// The directory for model.rs and model.zhat; created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl ExportRust {
    pub fn run(&self) -> Outcome {
        let file = inputs::model(&self.model)?;
        let shown = self.output.display();
        std::fs::create_dir_all(&self.output)
            .map_err(|error| Failure::Failed(format!("{shown}: cannot be made a directory: {error}")))?;
        let (model, module) = (self.output.join("model.zhat"), self.output.join("model.rs"));
        expect_apart([("--output", model.as_path()), ("--output", &module)], [("the model", self.model.as_path())])?;
        write(&model, &file)?;
        write(&module, rust_module(&file.model(), "model.zhat").as_bytes())?;
        print(&format!("{shown}: model.rs and model.zhat\n"))
    }
}
