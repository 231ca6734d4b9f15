//! What a model costs on a device: instructions, memory.
//!
//! The counts of instructions are estimates for a Cortex-M4 with DSP instructions, for planning: straight lines through
//! what `./ci.sh device` measures in QEMU, 2 000 to 30 000 rows of 64 and 128 columns. They are within a fifth of it.

use crate::Model;
use crate::model::Bits;

/// A multiply-accumulate, with its part of the loop.
const fn per_product(bits: Bits) -> f64 {
    match bits {
        Bits::Eight => 1.06,
        Bits::Four => 1.48,
    }
}
/// Around a row's dot product in Exact: scale, exponential, sum, top list.
const PER_ROW: f64 = 39.0;
/// Around a dot product of a search: the same, marks, frontier, links, and the far field.
const PER_DOT: f64 = 110.0;
/// Quantising a query, for each column, and whatever is done once.
const PER_COLUMN: f64 = 33.0;
const PER_QUERY: f64 = 4500.0;

/// Estimated Cortex-M4 instructions of a search that takes this many dot products with rows of `stride` columns.
///
/// ```
/// use zhat::model::Bits;
///
/// // 4 % of 10 000 rows of 64 columns.
/// let estimate = zhat::host::cost::search_instructions(400.0, 64, Bits::Eight);
/// assert!((70_000..85_000).contains(&estimate));
/// ```
pub fn search_instructions(dot_products: f64, stride: usize, bits: Bits) -> u64 {
    let stride = stride as f64;
    (dot_products * (per_product(bits) * stride + PER_DOT) + PER_COLUMN * stride + PER_QUERY) as u64
}

/// Estimated Cortex-M4 instructions of [`exact`](crate::exact) for this many rows of `stride` columns.
///
/// ```
/// use zhat::model::Bits;
///
/// let estimate = zhat::host::cost::exact_instructions(10_000, 64, Bits::Eight);
/// assert!((1_000_000..1_100_000).contains(&estimate));
/// ```
pub fn exact_instructions(rows: usize, stride: usize, bits: Bits) -> u64 {
    let stride = stride as f64;
    (rows as f64 * (per_product(bits) * stride + PER_ROW) + PER_COLUMN * stride) as u64
}

/// Bytes of RAM that a query needs: the [`Scratch`](crate::Scratch) and the [`QueryBuffer`](crate::QueryBuffer).
///
/// ```
/// assert_eq!(zhat::host::cost::ram(&zhat::doc_example().model()), 4 * zhat::query_words(3));
/// ```
pub fn ram(model: &Model<'_>) -> usize {
    4 * (model.scratch_words() + model.query_words())
}
