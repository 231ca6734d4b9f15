//! The `zhat` command. Each subcommand has a file: it reads files, calls the library, and prints. It uses only the
//! library's public functions.
//!
//! The Python package compiles them in as well (python/src/lib.rs). What it calls is visible in the whole crate.

pub(crate) mod args;
pub(crate) mod build;
#[cfg(feature = "import")]
mod check;
mod completions;
mod demo;
mod demo_keywords;
pub(crate) mod eval;
mod export_c;
mod export_rust;
mod files;
mod inputs;
mod inspect;
mod network;
mod output;
mod plot;
pub(crate) mod progress;
mod query;
pub(crate) mod report;
mod split;
pub(crate) mod tune;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Calibrated probabilities for large-vocabulary classifiers on microcontrollers, without scoring every class.
///
/// A weight matrix and a few queries go in; a model file comes out, with the evidence about it. Exit status: 0 if all
/// went well, 1 if something failed, 2 if the command was used wrongly.
#[derive(Parser)]
#[command(name = "zhat", version, arg_required_else_help = true, after_help = EXAMPLE)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLE: &str = "Example:
  zhat build --weights W.npy --bias b.npy --queries Q.npy -o model.zhat
  zhat eval model.zhat --weights W.npy --bias b.npy --queries test.npy
  zhat export-rust model.zhat -o firmware/src/model";

#[derive(Subcommand)]
enum Command {
    Build(Box<build::Build>),
    #[cfg(feature = "import")]
    Check(check::Check),
    Eval(eval::Eval),
    Split(split::SplitArgs),
    Tune(tune::Tune),
    Inspect(inspect::Inspect),
    Query(query::QueryArgs),
    ExportRust(export_rust::ExportRust),
    ExportC(export_c::ExportC),
    Demo(demo::Demo),
    Plot(plot::Plot),
    Report(report::ReportArgs),
    Completions(completions::Completions),
    Man(completions::Man),
}

/// The reason why a command ended early.
pub enum Failure {
    /// It was used wrongly.
    Usage(String),
    /// It failed.
    Failed(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The outcome of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Runs the command that the program's arguments ask for.
fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Runs the command that these arguments ask for, the first of them the program's name, and returns its exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // Wrong arguments end here, with a status of 2.
    let result = match Cli::parse_from(arguments).command {
        Command::Build(command) => command.run(),
        #[cfg(feature = "import")]
        Command::Check(command) => command.run(),
        Command::Eval(command) => command.run(),
        Command::Split(command) => command.run(),
        Command::Tune(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Query(command) => command.run(),
        Command::ExportRust(command) => command.run(),
        Command::ExportC(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Plot(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    };
    match result {
        Ok(()) => 0,
        Err(Failure::Failed(message)) => {
            eprintln!("zhat: {message}");
            1
        }
        Err(Failure::Usage(message)) => {
            eprintln!("zhat: {message}\n\nFor more information, try '--help'.");
            2
        }
    }
}
