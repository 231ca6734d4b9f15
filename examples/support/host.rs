//! The host's half: prints, and measures nothing.

use super::Sizes;
use core::fmt;
use std::process::ExitCode;

/// Prints one line; [`say!`](super::say) and [`figure!`](super::figure) call it.
pub fn print_line(line: fmt::Arguments<'_>) {
    println!("{line}");
}

/// Prints an error, if there is one, and returns the exit code of the program.
pub fn finish(result: Result<(), impl fmt::Display>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns `None`: the host has no instruction counter.
pub fn instructions() -> Option<u64> {
    None
}

/// Runs `work` without counting.
pub fn instructions_of<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    (work(), None)
}

/// Returns `None`: there is no counter.
pub fn resolution() -> Option<u64> {
    None
}

/// Does nothing, as no counter needs a delay.
pub fn spin(_iterations: u32) {}

/// Does nothing, as the stack is not measured.
pub fn paint() {}

/// Returns `None`: the stack is not measured.
pub fn deepest() -> Option<usize> {
    None
}

/// Returns `None`: the host has no flash.
pub fn sizes() -> Option<Sizes> {
    None
}

/// Returns `None`: the stack is not measured.
pub fn depth() -> Option<usize> {
    None
}
