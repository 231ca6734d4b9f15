//! Describes a finished model: in words and numbers, in pictures, by its cost on a device, and as source code.

pub mod cost;
pub mod describe;
pub mod export;
#[cfg(feature = "cli")]
pub mod plots;
pub mod warnings;
