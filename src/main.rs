//! The `zhat` command.

fn main() {}
