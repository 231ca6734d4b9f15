//! `zhat export-c`.

use std::path::PathBuf;

use clap::Args;
use zhat::host::report::export::{c_files, c_name};

use super::files::expect_apart;
use super::output::print;
use super::progress::write;
use super::{Failure, Outcome, inputs};

/// Write a C header and source for firmware: the model, its buffer sizes and its names
#[derive(Args)]
#[command(after_help = "Example:
  zhat export-c model.zhat -o firmware/model            # model.h and model.c
  zhat export-c model.zhat --name words -o firmware     # words.h and words.c")]
pub struct ExportC {
    /// The model file
    model: PathBuf,
    /// What the files, and what is in them, are called; by default as the model file
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The directory for NAME.h and NAME.c; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl ExportC {
    pub fn run(&self) -> Outcome {
        let file = inputs::model(&self.model)?;
        let shown = self.output.display();
        std::fs::create_dir_all(&self.output)
            .map_err(|error| Failure::Failed(format!("{shown}: cannot be made a directory: {error}")))?;
        let stem = self.model.file_stem().unwrap_or_default().to_string_lossy();
        let name = c_name(self.name.as_deref().unwrap_or(&stem));
        let (header, source) = (self.output.join(format!("{name}.h")), self.output.join(format!("{name}.c")));
        expect_apart([("--output", header.as_path()), ("--output", &source)], [("the model", self.model.as_path())])?;
        let (header_text, source_text) = c_files(&file, &name);
        write(&header, header_text.as_bytes())?;
        write(&source, source_text.as_bytes())?;
        print(&format!("{shown}: {name}.h and {name}.c\n"))
    }
}
