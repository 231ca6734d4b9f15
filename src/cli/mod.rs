//! The commands: each reads files, calls the library, and prints. One file for each.

mod args;
mod build;
#[cfg(feature = "import")]
mod check;
mod completions;
mod demo;
mod demo_keywords;
mod eval;
mod export_rust;
mod files;
mod inputs;
mod inspect;
mod network;
mod output;
mod plot;
mod progress;
mod query;
mod report;
mod split;
mod tune;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Calibrated probabilities for large-vocabulary classifiers on microcontrollers, without scoring every class.
///
/// A weight matrix and a few queries go in; a model file comes out, with the evidence about it. Exit status: 0 if all
/// went well, 1 if something failed, 2 if the command was used wrongly.
#[derive(Parser)]
#[command(name = "zhat", version, arg_required_else_help = true, after_help = EXAMPLE)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLE: &str = "Example:
  zhat build --weights W.npy --bias b.npy --queries Q.npy -o model.zhat
  zhat eval model.zhat --weights W.npy --bias b.npy --queries test.npy
  zhat export-rust model.zhat -o firmware/src/model";

#[derive(Subcommand)]
enum Command {
    Build(build::Build),
    #[cfg(feature = "import")]
    Check(check::Check),
    Eval(eval::Eval),
    Split(split::SplitArgs),
    Tune(tune::Tune),
    Inspect(inspect::Inspect),
    Query(query::QueryArgs),
    ExportRust(export_rust::ExportRust),
    Demo(demo::Demo),
    Plot(plot::Plot),
    Report(report::ReportArgs),
    Completions(completions::Completions),
    Man(completions::Man),
}

/// Why a command ended early.
pub enum Failure {
    /// It was used wrongly.
    Usage(String),
    /// Something went wrong.
    Failed(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The outcome of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Runs the command that the arguments ask for.
pub fn main() -> ExitCode {
    // Wrong arguments end here, with a status of 2.
    let result = match Cli::parse().command {
        Command::Build(command) => command.run(),
        #[cfg(feature = "import")]
        Command::Check(command) => command.run(),
        Command::Eval(command) => command.run(),
        Command::Split(command) => command.run(),
        Command::Tune(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Query(command) => command.run(),
        Command::ExportRust(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Plot(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => {
            eprintln!("zhat: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            eprintln!("zhat: {message}\n\nFor more information, try '--help'.");
            ExitCode::from(2)
        }
    }
}
