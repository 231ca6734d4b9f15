//! What a model costs on a device: instructions, memory.
//!
//! The count of instructions is an estimate for a Cortex-M4 with DSP instructions, for planning: a multiply-accumulate of
//! int8 by int16 takes 1.36 instructions, as measured for Exact in QEMU; a dot product 45 around them (32 for scale,
//! exponential, sum and top list, as measured there; the rest stands for the heap and the marks of a search), a query 20
//! a column and 2 000 in all.

use crate::Model;

const PER_PRODUCT: f64 = 1.36;
const PER_DOT: f64 = 45.0;
const PER_COLUMN: f64 = 20.0;
const PER_QUERY: f64 = 2000.0;

/// Estimated Cortex-M4 instructions of a query that takes so many dot products with rows of `stride` bytes.
///
/// ```
/// // A tenth of 10 000 rows of 64 columns.
/// let estimate = zhat::host::cost::instructions(1000.0, 64);
/// assert!((130_000..140_000).contains(&estimate));
/// ```
pub fn instructions(dot_products: f64, stride: usize) -> u64 {
    (dot_products * (PER_PRODUCT * stride as f64 + PER_DOT) + PER_COLUMN * stride as f64 + PER_QUERY) as u64
}

/// Bytes of RAM that a query needs: the [`Scratch`](crate::Scratch) and the [`QueryBuffer`](crate::QueryBuffer).
pub fn ram(model: &Model<'_>) -> usize {
    let nodes = model.settings().map_or(0, |settings| settings.frontier as usize);
    let scratch = 4 * crate::seen_words(model.classes()) + 4 * nodes;
    scratch + size_of::<crate::QueryBuffer<0>>() + 2 * model.rows().stride()
}
