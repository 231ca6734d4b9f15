//! `zhat completions` and `zhat man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::output::print;
use super::{Cli, Failure, Outcome};

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "Example:
  zhat completions bash > ~/.local/share/bash-completion/completions/zhat")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(&self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "zhat", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

/// Print the man page, or write one for each command into a directory
#[derive(Args)]
#[command(after_help = "Example:
  zhat man | man -l -
  zhat man -o ~/.local/share/man/man1")]
pub struct Man {
    /// The directory for zhat.1, zhat-build.1, …
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Man {
    pub fn run(&self) -> Outcome {
        let command = Cli::command();
        let Some(directory) = &self.output else {
            return print(&String::from_utf8_lossy(&page(command)?));
        };
        std::fs::create_dir_all(directory)
            .map_err(|error| Failure::Failed(format!("{}: {error}", directory.display())))?;
        Ok(clap_mangen::generate_to(command, directory)?)
    }
}

fn page(command: clap::Command) -> Outcome<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}
