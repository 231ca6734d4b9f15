//! Stores results in a folder, and takes them from there if the same command would make them again.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zhat::host::input::{expect_writable, write_atomically};

use super::command::{Failure, File, Outcome, Progress, expect_apart};
use super::result::Grid;

#[derive(Args)]
pub struct Store {
    /// A folder to store the result in, for `document`
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// True to keep stored results.
    #[arg(skip)]
    pub resume: bool,
}

impl Store {
    /// Checks, before minutes of work, that the result can be written.
    pub fn expect(&self, what: &str, inputs: &[File<'_>]) -> Outcome {
        let Some(folder) = &self.out else { return Ok(()) };
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Failed(format!("{}: cannot be made a directory: {error}", folder.display())))?;
        // Only figure1 writes the second one, but no input is an .svg file.
        let outputs = ["json", "svg"].map(|extension| self.path(folder, what, extension));
        expect_apart(outputs.iter().map(|path| ("--out", path.as_path())), inputs.iter().copied())?;
        Ok(expect_writable(&outputs[0])?)
    }

    /// Stores a result and prints its table.
    pub fn finish(&self, what: &str, result: &impl Serialize, grid: &Grid, progress: &Progress) -> Outcome {
        if let Some(folder) = &self.out {
            let text = serde_json::to_string_pretty(result)? + "\n";
            write_atomically(self.path(folder, what, "json"), text.as_bytes())?;
        }
        progress.print(&grid.text())
    }

    /// Returns the stored result if results are kept and the same command made it.
    pub fn stored<T: DeserializeOwned>(&self, what: &str, command: &str) -> Option<T> {
        if !self.resume {
            return None;
        }
        let bytes = std::fs::read(self.path(self.out.as_ref()?, what, "json")).ok()?;
        let value: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        (value["command"] == command).then(|| serde_json::from_value(value).ok()).flatten()
    }

    /// Returns the path of a file of a result. A scale in its name has a dot that starts no extension.
    fn path(&self, folder: &Path, what: &str, extension: &str) -> PathBuf {
        folder.join(format!("{what}.{extension}"))
    }

    /// Returns the path of a stored picture.
    pub fn picture(&self, what: &str) -> Option<PathBuf> {
        self.out.as_ref().map(|folder| self.path(folder, what, "svg"))
    }
}
