//! Z(q) and the top classes: one module for each method.

mod exact;
pub(crate) mod moments;
pub(crate) mod top;

pub use exact::exact;
