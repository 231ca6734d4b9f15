//! Z(q) and the top classes: one module for each method.

pub(crate) mod certified;
mod exact;
pub(crate) mod moments;
pub(crate) mod top;

pub use exact::exact;
pub use top::Candidate;
