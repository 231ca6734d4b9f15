//! The `zhat` command.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
