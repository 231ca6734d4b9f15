//! The host's half: prints, and measures nothing.

use super::Sizes;
use core::fmt;
use std::process::ExitCode;

/// Prints one line; [`say!`](super::say) and [`figure!`](super::figure) call it.
pub fn print_line(line: fmt::Arguments<'_>) {
    println!("{line}");
}

/// The exit code of the program.
pub fn finish(result: Result<(), impl fmt::Display>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `None`: the host's clock counts seconds.
pub fn instructions() -> Option<u64> {
    None
}

/// Runs `work`.
pub fn instructions_of<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    (work(), None)
}

/// `None`: there is no counter.
pub fn resolution() -> Option<u64> {
    None
}

/// Nothing to wait for.
pub fn spin(_iterations: u32) {}

/// Nothing to paint.
pub fn paint() {}

/// `None`: the stack was not painted.
pub fn deepest() -> Option<usize> {
    None
}

/// `None`: the host has no flash.
pub fn sizes() -> Option<Sizes> {
    None
}

/// `None`: nothing is painted, and nothing compared with it.
pub fn depth() -> Option<usize> {
    None
}
