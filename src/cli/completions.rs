//! `zhat completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::output::print;
use super::{Cli, Outcome};

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
