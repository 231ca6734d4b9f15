//! The query, quantised once to int16.
//!
//! Its step is a power of two, and log₂e is folded in: a dot product times the row's scale is then a score in the
//! base-2 logarithm after one shift. The width shrinks with the dimension so that no sum of products overflows.

use crate::Error;
use crate::format::Model;
use crate::kernels;
use crate::math::{Log2, float};

/// A quantised query for one model.
///
/// Functions take `&Query`; a [`QueryBuffer`] is one with its own storage.
#[derive(Clone, Debug)]
#[repr(C, align(4))]
pub struct Query<S: ?Sized = [i16]> {
    /// Values are q·log₂e·2^exponent.
    exponent: i32,
    /// Bits that take a product of dot and scale to a [`Log2`]: 1 to 31.
    shift: u32,
    /// ‖q‖ in nats per unit of row.
    norm: f32,
    /// Values in use: the model's stride.
    len: u32,
    values: S,
}

/// A query with room for `D` columns: at least the model's dimension, rounded up to a multiple of four.
///
/// ```
/// # fn main() -> Result<(), zhat::Error> {
/// # let bytes = zhat::format::doc_example();
/// use zhat::{Model, QueryBuffer};
///
/// let model = Model::from_bytes(&bytes)?;
/// let query = QueryBuffer::<8>::new(&model, &[0.5, -1.0, 2.0])?;
/// assert!((query.norm() - 5.25_f32.sqrt()).abs() < 1e-3);
/// # Ok(()) }
/// ```
pub type QueryBuffer<const D: usize> = Query<[i16; D]>;

/// Scores from the rows stay below this; the rest of the range belongs to the biases.
pub(crate) const SCORE_LIMIT: f32 = 6000.0 * core::f32::consts::LN_2;

impl<const D: usize> QueryBuffer<D> {
    /// Quantises a query.
    ///
    /// # Errors
    /// [`Error::QueryLength`], [`Error::QueryNotFinite`], [`Error::QueryTooLarge`], or [`Error::Capacity`] if `D` is
    /// too small for the model.
    pub fn new(model: &Model<'_>, query: &[f32]) -> Result<Self, Error> {
        let mut buffer = Self::empty();
        buffer.set(model, query)?;
        Ok(buffer)
    }

    /// A buffer without a query, to be [`set`](Self::set).
    pub const fn empty() -> Self {
        Self { exponent: 0, shift: 1, norm: 0.0, len: 0, values: [0; D] }
    }

    /// Quantises another query into the same buffer.
    ///
    /// # Errors
    /// As [`QueryBuffer::new`]; the buffer is then of no use until the next successful call.
    pub fn set(&mut self, model: &Model<'_>, query: &[f32]) -> Result<(), Error> {
        (self as &mut Query).set_to(model, query)
    }

    /// Takes a query that is already int8, with its scale: the value of a column is `query[column] · scale`.
    ///
    /// # Errors
    /// As [`QueryBuffer::new`].
    pub fn from_i8(model: &Model<'_>, query: &[i8], scale: f32) -> Result<Self, Error> {
        let mut buffer = Self::empty();
        let read: &Read<'_> = &|first, columns| copy(query, first, columns, |&value| f32::from(value) * scale);
        (&mut buffer as &mut Query).fill(model, query.len(), read)?;
        Ok(buffer)
    }
}

impl<const D: usize> core::ops::Deref for QueryBuffer<D> {
    type Target = Query;

    fn deref(&self) -> &Query {
        self
    }
}

impl Query {
    /// The columns in the order of the kernels, padding included.
    #[inline]
    pub(crate) fn values(&self) -> &[i16] {
        self.values.get(..self.len as usize).unwrap_or(&[])
    }

    /// The bits of a score: dot · scale + bias. The bounds on query and bias keep it in range.
    #[inline]
    pub(crate) fn to_score(&self, dot: i32, scale: u16, bias: i32) -> i32 {
        let product = i64::from(dot) * i64::from(scale);
        // product >> shift, in the three instructions that a 32-bit processor has for shifts from 1 to 31.
        let (low, high) = (product as u32, (product >> 32) as u32);
        let shifted = low.wrapping_shr(self.shift) | high.wrapping_shl(self.shift.wrapping_neg());
        (shifted as i32).wrapping_add(bias)
    }

    /// The power of two by which the values were raised.
    pub(crate) fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The columns as they were rounded: q·log₂e·2^exponent.
    pub(crate) fn columns(&self) -> impl Iterator<Item = i16> {
        let values = self.values();
        (0..values.len()).map(|column| values.get(kernels::query_slot(column)).copied().unwrap_or(0))
    }

    /// ‖q‖ of the quantised query.
    pub fn norm(&self) -> f32 {
        self.norm
    }

    /// The quantised value of a column; zero where there is no such column.
    pub fn value(&self, column: usize) -> f32 {
        let value = self.values().get(kernels::query_slot(column)).copied().unwrap_or(0);
        f32::from(value) * (power_of_two(-self.exponent) * core::f32::consts::LN_2)
    }

    /// [`QueryBuffer::set`] for storage of any size.
    pub(crate) fn set_to(&mut self, model: &Model<'_>, query: &[f32]) -> Result<(), Error> {
        self.fill(model, query.len(), &|first, columns| copy(query, first, columns, |&value| value))
    }

    fn fill(&mut self, model: &Model<'_>, len: usize, read: &Read<'_>) -> Result<(), Error> {
        let stride = model.rows().stride();
        if len != model.dim() {
            return Err(Error::QueryLength);
        }
        let Some(values) = self.values.get_mut(..stride) else {
            return Err(Error::Capacity(stride as u32));
        };
        let mut columns = [0.0; AT_A_TIME];
        // The bits of a float without its sign are in the order of its magnitude, infinity and NaN above all others.
        let mut largest = 0;
        for first in (0..len).step_by(AT_A_TIME) {
            for value in read(first, &mut columns) {
                largest = largest.max(value.abs().to_bits());
            }
        }
        if largest >= f32::INFINITY.to_bits() {
            return Err(Error::QueryNotFinite);
        }
        let largest = f32::from_bits(largest) * core::f32::consts::LOG2_E;
        let limit = kernels::max_query(stride);
        // A product of dot and scale has at most 47 bits. Where 31 of them are behind the point, nothing is gained by
        // more: the query then uses fewer bits.
        let unit = model.scale_exponent() + Log2::FRACTION_BITS as i32;
        let exponent = floor_log2(f32::from(limit) / largest).clamp(-100, 100).min(unit + 31);
        let factor = core::f32::consts::LOG2_E * power_of_two(exponent);
        let mut squares = 0u64;
        for (block, slots) in values.chunks_mut(AT_A_TIME).enumerate() {
            for (column, value) in read(block * AT_A_TIME, &mut columns).iter().enumerate() {
                let scaled = value * factor;
                // Truncation after half a step is the rounding that every platform has in two instructions.
                let rounded = (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32;
                let rounded = rounded.clamp(-i32::from(limit), i32::from(limit));
                squares += u64::from(rounded.unsigned_abs()) * u64::from(rounded.unsigned_abs());
                if let Some(slot) = slots.get_mut(kernels::query_slot(column)) {
                    *slot = rounded as i16;
                }
            }
        }
        self.norm = float::sqrt(squares as f32) * power_of_two(-exponent) * core::f32::consts::LN_2;
        // Cauchy and Schwarz: no row's score is above this. Written so that an infinite norm is refused as well.
        let within = self.norm * model.max_norm() <= SCORE_LIMIT;
        let shift = u32::try_from(exponent - unit).unwrap_or(0);
        if !within || !largest.is_finite() || shift == 0 {
            return Err(Error::QueryTooLarge);
        }
        // The padding may hold what another model's query left there.
        for column in len..stride {
            if let Some(slot) = self.values.get_mut(kernels::query_slot(column)) {
                *slot = 0;
            }
        }
        self.exponent = exponent;
        self.shift = shift;
        self.len = stride as u32;
        Ok(())
    }
}

/// Columns that are read at a time: a multiple of the columns that [`kernels::query_slot`] keeps together.
const AT_A_TIME: usize = 16;

/// Reads columns from the one given on into the memory, and returns those that there are.
type Read<'a> = dyn for<'c> Fn(usize, &'c mut [f32; AT_A_TIME]) -> &'c [f32] + 'a;

#[inline]
fn copy<'c, T>(query: &[T], first: usize, columns: &'c mut [f32; AT_A_TIME], value: impl Fn(&T) -> f32) -> &'c [f32] {
    let rest = query.get(first..).unwrap_or(&[]);
    let len = rest.len().min(AT_A_TIME);
    columns.iter_mut().zip(rest).for_each(|(column, x)| *column = value(x));
    columns.get(..len).unwrap_or(&[])
}

/// 2^`exponent` for what f32 holds as normal numbers.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127).clamp(0, 254) as u32) << 23)
}

/// ⌊log₂ x⌋ of a positive number; 128 for infinity.
fn floor_log2(x: f32) -> i32 {
    (x.to_bits() >> 23) as i32 - 127
}

#[cfg(all(test, feature = "std"))]
mod tests;
