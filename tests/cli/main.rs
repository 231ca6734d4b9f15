//! The command as people type it, on small layers that are made up.
#![cfg(feature = "cli")]

mod build;
mod errors;
mod json;
mod json_page;
mod page;
mod report;
mod silent;
mod support;
mod use_it;
