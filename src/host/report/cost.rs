//! Estimates the cost of a model on a device: instructions and memory.
//!
//! The numbers of instructions are estimates for a Cortex-M4 with DSP instructions, for planning. They are straight
//! lines fitted to QEMU's counts for 300 queries each of six models: 6 625 to 10 000 rows of 64 and 120 columns, leaves
//! of 8 to 32, 2 to 6 % of the work. The mean of each model was within 8 % of its line.

use crate::Model;
use crate::model::Bits;

/// Returns the instructions of a multiply-accumulate, with its part of the loop.
const fn per_product(bits: Bits) -> f64 {
    match bits {
        Bits::Eight => 1.06,
        Bits::Four => 1.48,
    }
}
/// Instructions beside a row's dot product in [`exact`](crate::exact()): scale, exponential, sum, top list.
const PER_ROW: f64 = 39.0;
/// Instructions beside a dot product of a search: as for a row, and marks, frontier, links, and the far field.
const PER_DOT: f64 = 112.0;
/// Instructions to quantise a query, for each column, and for each query.
const PER_COLUMN: f64 = 33.0;
const PER_QUERY: f64 = 6400.0;

/// Estimates the Cortex-M4 instructions of a search that takes this many dot products with rows of `stride` columns.
///
/// ```
/// use zhat::model::Bits;
///
/// // 4 % of 10 000 rows of 64 columns.
/// let estimate = zhat::host::report::cost::search_instructions(400.0, 64, Bits::Eight);
/// assert!((70_000..85_000).contains(&estimate));
/// ```
pub fn search_instructions(dot_products: f64, stride: usize, bits: Bits) -> u64 {
    let stride = stride as f64;
    (dot_products * (per_product(bits) * stride + PER_DOT) + PER_COLUMN * stride + PER_QUERY) as u64
}

/// Estimates the work, as a share of `classes` rows of `stride` columns, that this many instructions are enough for.
/// The inverse of [`search_instructions`]; not above zero if they are too few for any search.
///
/// ```
/// use zhat::host::report::cost;
/// use zhat::model::Bits;
///
/// let work = cost::work_for(75_000, 10_000, 64, Bits::Eight);
/// assert!(cost::search_instructions(f64::from(work) * 10_000.0, 64, Bits::Eight).abs_diff(75_000) < 10);
/// assert!(cost::work_for(1000, 10_000, 64, Bits::Eight) < 0.0);
/// ```
pub fn work_for(instructions: u64, classes: usize, stride: usize, bits: Bits) -> f32 {
    let stride = stride as f64;
    let dot_products = (instructions as f64 - PER_COLUMN * stride - PER_QUERY) / (per_product(bits) * stride + PER_DOT);
    (dot_products / classes as f64) as f32
}

/// Guesses the cap, as a share of `classes` rows, with which no query takes more than this many cycles. Not above zero
/// if they are too few for any search. The bound depends on the tree:
/// [`Budget::most_cycles`](crate::Budget::most_cycles) returns that of the model that was built.
///
/// ```
/// use zhat::host::report::cost;
/// use zhat::model::Bits;
///
/// // 2 ms at 64 MHz.
/// let cap = cost::cap_for(128_000, 10_000, 64, Bits::Eight);
/// assert!((0.02..0.05).contains(&cap));
/// ```
pub fn cap_for(cycles: u64, classes: usize, stride: usize, bits: Bits) -> f32 {
    let rows = classes as f64;
    let per_column = match bits {
        Bits::Eight => 1.4,
        Bits::Four => 2.2,
    };
    ((cycles as f64 - 25_000.0 - rows / 16.0) / (per_column * stride as f64 + 200.0) / rows) as f32
}

/// Estimates the Cortex-M4 instructions of [`exact`](crate::exact) for this many rows of `stride` columns.
pub fn exact_instructions(rows: usize, stride: usize, bits: Bits) -> u64 {
    let stride = stride as f64;
    (rows as f64 * (per_product(bits) * stride + PER_ROW) + PER_COLUMN * stride) as u64
}

/// Returns the bytes of RAM that a query needs: the [`Scratch`](crate::Scratch) and the
/// [`QueryBuffer`](crate::QueryBuffer).
pub fn ram(model: &Model<'_>) -> usize {
    4 * (model.scratch_words() + model.query_words())
}
