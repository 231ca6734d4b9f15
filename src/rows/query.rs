//! The query, quantised once to int16.
//!
//! Columns are q·log₂e in steps of a power of two, so that a dot product times the row's scale is a score in the base-2
//! logarithm after one shift. The steps are as small as they can be without a dot product that overflows: by Cauchy and
//! Schwarz none is above 256·‖row‖·‖query‖, in whole numbers, and the file states the norm of its longest row.

use core::ptr;

use crate::Error;
use crate::hint::keep_small;
use crate::kernels::{self, ROW_ALIGN};
use crate::math::{Log2, float};
use crate::rows::Bits;

/// A quantised query for one model.
///
/// Functions take `&Query`; a [`QueryBuffer`] is one with its own storage.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// use zhat::{Query, QueryBuffer};
///
/// let buffer = QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// let query: &Query = &buffer; // what the estimators take
/// assert!((query.value(2) - 2.0).abs() < 1e-3);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
#[repr(C, align(4))]
pub struct Query<S: ?Sized = [i16]> {
    /// Bits that take a product of dot and scale to a [`Log2`]: 1 to 31.
    shift: u16,
    /// A mask for the odd value that an even column's weight is multiplied with as well: all ones where rows are int8,
    /// zero where they are 4-bit.
    odd_in_even: i16,
    /// ‖q‖ in nats per unit of row.
    norm: f32,
    /// The checksum of the file of the model that the query is for.
    model: u32,
    /// Columns are q·log₂e·2^exponent; values are 2⁻⁸ of that, see [`kernels`].
    exponent: i16,
    /// Values in use: the model's stride; zero where there is no query.
    len: u16,
    values: S,
}

/// A query with room for `D` columns: at least the model's dimension, rounded up to a multiple of four.
///
/// ```
/// # fn main() -> Result<(), zhat::Error> {
/// # let bytes = zhat::doc_example();
/// use zhat::{Model, QueryBuffer};
///
/// let model = Model::from_bytes(&bytes)?;
/// let query = QueryBuffer::<8>::new(&model, &[0.5, -1.0, 2.0])?;
/// assert!((query.norm() - 5.25_f32.sqrt()).abs() < 1e-3);
/// # Ok(()) }
/// ```
pub type QueryBuffer<const D: usize> = Query<[i16; D]>;

/// Describes the rows that a query is multiplied with, as far as quantising needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFormat {
    /// d, the number of columns.
    pub dim: usize,
    /// d, rounded up to a multiple of four.
    pub stride: usize,
    /// The power of two in which the rows' scales are counted.
    pub scale_exponent: i32,
    /// An upper limit of every row's norm.
    pub max_norm: f32,
    /// The width of the weights.
    pub bits: Bits,
    /// An upper limit of every row's sum of squared whole weights.
    pub largest_row: u32,
    /// The checksum of the file of the model that has the rows.
    pub model: u32,
}

/// The largest score from rows, in nats; the rest of the range of [`Log2`] is for the biases.
pub(crate) const SCORE_LIMIT: f32 = 6000.0 * core::f32::consts::LN_2;

impl<const D: usize> QueryBuffer<D> {
    /// Creates a buffer without a query. [`set`](Self::set) puts one in.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// use zhat::{Error, QueryBuffer};
    ///
    /// let mut query = QueryBuffer::<4>::empty();
    /// assert_eq!(zhat::exact::<1>(&model, &query).unwrap_err(), Error::NoQuery);
    /// query.set(&model, &[0.5, -1.0, 2.0])?;
    /// assert_eq!(zhat::exact::<1>(&model, &query)?.top[0].class, 2);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub const fn empty() -> Self {
        Self { shift: 1, odd_in_even: 0, norm: 0.0, model: 0, exponent: 0, len: 0, values: [0; D] }
    }
}

impl<const D: usize> core::ops::Deref for QueryBuffer<D> {
    type Target = Query;

    fn deref(&self) -> &Query {
        self
    }
}

impl<const D: usize> core::ops::DerefMut for QueryBuffer<D> {
    fn deref_mut(&mut self) -> &mut Query {
        self
    }
}

impl Query {
    /// Returns the values in the order of the kernels, padding included.
    #[inline]
    pub(crate) fn values(&self) -> &[i16] {
        self.values.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Computes the bits of a score: dot · scale + bias. The bounds on query and bias keep it in range.
    #[inline]
    pub(crate) fn to_score(&self, dot: i32, scale: u16, bias: i32) -> i32 {
        let product = i64::from(dot) * i64::from(scale);
        // product >> shift, in the three instructions that a 32-bit processor has for shifts from 1 to 31.
        let (low, high) = (product as u32, (product >> 32) as u32);
        let shift = u32::from(self.shift);
        let shifted = low.wrapping_shr(shift) | high.wrapping_shl(shift.wrapping_neg());
        (shifted as i32).wrapping_add(bias)
    }

    /// Returns the number of bits by which scales must be shifted left so that the upper word of a scale's product with
    /// a dot product is dot · scale as in [`Query::to_score`]; `None` if a shifted scale would not fit a word.
    #[cfg(zhat_dsp)]
    #[inline]
    pub(crate) fn scale_shift(&self) -> Option<u32> {
        let up = u32::BITS - u32::from(self.shift);
        (up < u16::BITS).then_some(up)
    }

    /// Returns a hash of the query and its model, that tells one query from another.
    #[inline(never)]
    pub(crate) fn fingerprint(&self) -> u32 {
        self.values.iter().take(self.len.into()).fold(self.model ^ self.norm.to_bits(), |hash, &value| {
            keep_small();
            hash.wrapping_mul(31).wrapping_add(value as u32)
        })
    }

    /// Checks that the query was quantised for rows of this format.
    #[inline]
    pub(crate) fn check_rows(&self, rows: &RowFormat) -> Result<(), Error> {
        if self.model == rows.model && usize::from(self.len) == rows.stride {
            return Ok(());
        }
        Err(if self.len == 0 { Error::NoQuery } else { Error::OtherModel })
    }

    /// Computes the dot product of the query with a row's whole weights, stored as in the model.
    pub(crate) fn times_row(&self, row: &[i16], bits: Bits) -> f32 {
        bits.dot(row, self.values()) as f32 * self.unit()
    }

    /// Returns the value in nats of one unit of a column.
    fn unit(&self) -> f32 {
        power_of_two(-self.exponent()) * core::f32::consts::LN_2
    }

    /// Returns the power of two by which the columns were raised.
    pub(crate) fn exponent(&self) -> i32 {
        self.exponent.into()
    }

    /// Returns the columns as they were rounded: q·log₂e·2^exponent, below 2^24.
    pub(crate) fn columns(&self) -> impl Iterator<Item = i32> {
        (0..self.values().len()).map(|column| self.column(column))
    }

    fn column(&self, column: usize) -> i32 {
        let values = self.values();
        let slot = |column| values.get(kernels::query_slot(column, values.len())).map_or(0, |&value| i32::from(value));
        let odd = if column % 2 == 1 { 0 } else { slot(column + 1) & i32::from(self.odd_in_even) };
        (slot(column) << VALUE_BITS) + odd
    }

    /// Returns ‖q‖ of the quantised query.
    pub fn norm(&self) -> f32 {
        self.norm
    }

    /// Returns the quantised value of a column; zero if there is no such column.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// assert!((query.value(1) + 1.0).abs() < 1e-3);
    /// assert_eq!(query.value(99), 0.0);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn value(&self, column: usize) -> f32 {
        self.column(column) as f32 * self.unit()
    }

    /// Quantises columns for rows of this format. After an error the buffer holds no query.
    ///
    /// Works in two steps: first to 15 bits and a sign, by the largest value, then to the bits that the norms leave.
    /// The second step uses whole numbers, since floats are slow where they are computed in software.
    pub(crate) fn quantise<T: Column>(&mut self, rows: &RowFormat, query: &[T], unit: T::Unit) -> Result<(), Error> {
        let stride = rows.stride;
        self.len = 0;
        if query.len() != rows.dim {
            return Err(Error::QueryLength);
        }
        let Some(values) = self.values.get_mut(..stride) else {
            return Err(Error::QueryColumns(stride as u32));
        };
        let largest = T::largest(query, unit);
        if !largest.is_finite() {
            return Err(Error::QueryNotFinite);
        }
        let exponent = floor_log2(LARGEST / (largest * core::f32::consts::LOG2_E));
        if exponent < -LIMIT {
            return Err(Error::QueryTooLarge);
        }
        // A product of dot and scale has at most 47 bits. Where 31 of them are after the point, nothing is gained by
        // more: the query then uses fewer bits.
        let point = rows.scale_exponent + Log2::FRACTION_BITS as i32;
        let exponent = exponent.min(LIMIT).min(point + 31 - VALUE_BITS as i32);
        let factor = T::factor(unit, core::f32::consts::LOG2_E * power_of_two(exponent));
        let mut columns = query.iter();
        let mut squares = 0i64;
        let mut next = || {
            // The padding is zero: the buffer may still hold another model's query.
            let value = columns.next().map_or(0, |column| column.rounded(factor));
            squares += i64::from(value) * i64::from(value);
            value as i16
        };
        kernels::for_each_pair(values, |even, odd| (*even, *odd) = (next(), next()));
        let bits = bits_too_many(squares as f32 * rows.largest_row as f32, stride);
        let odd_in_even = if rows.bits == Bits::Eight { -1 } else { 0 };
        let (mut odds, mut evens) = (0i64, 0i64);
        kernels::for_each_pair(values, |even, odd| {
            let odd_value = (i32::from(*odd) + (1 << bits >> 1)) >> bits;
            let met = odd_value & odd_in_even;
            let rest = (i32::from(*even) << VALUE_BITS) - (met << bits);
            let even_value = (rest + (1 << (VALUE_BITS - 1) << bits)) >> (VALUE_BITS + bits);
            (*even, *odd) = (even_value as i16, odd_value as i16);
            let column = i64::from((even_value << VALUE_BITS) + met);
            odds += i64::from(odd_value) * i64::from(odd_value);
            evens += column * column;
        });
        let exponent = exponent - bits as i32 + VALUE_BITS as i32;
        let squares = (odds << (2 * VALUE_BITS)) + evens;
        self.norm = float::sqrt(squares as f32) * power_of_two(-exponent) * core::f32::consts::LN_2;
        // Cauchy and Schwarz: no row's score is above this. Written so that an infinite norm is refused as well.
        let within = self.norm * rows.max_norm <= SCORE_LIMIT;
        let shift = u16::try_from(exponent - point).unwrap_or(0);
        if !within || shift == 0 {
            return Err(Error::QueryTooLarge);
        }
        self.exponent = exponent as i16;
        self.shift = shift;
        self.odd_in_even = odd_in_even as i16;
        self.model = rows.model;
        self.len = stride as u16;
        Ok(())
    }
}

/// The number of bits of a column below those of a value.
const VALUE_BITS: u32 = 8;

/// The largest value of the first step. An even one may grow by 1/256 of the odd one, and still has sixteen bits.
const LARGEST: f32 = 32_600.0;

/// The largest exponent, far from the ends of f32's range.
const LIMIT: i32 = 100;

/// Returns how many bits the values are too long, given the product of the squared norms of the values and of the
/// longest row.
///
/// With x the values and r the row, ‖x/2^bits + rounding error‖·‖r‖ has to be below 2^23. Rounding by up to ½ in each
/// column adds at most ½·√stride·‖r‖ ≤ 64·stride, as no weight is above 127; the one more is for the floats.
fn bits_too_many(squares: f32, stride: usize) -> u32 {
    let limit = ((1 << 23) - 64 * (stride as i32 + 1)) as f32;
    let excess = floor_log2(squares / (limit * limit));
    // 4^bits has to be above 2^(excess + 1).
    if excess < 0 { 0 } else { excess as u32 / 2 + 1 }
}

/// Returns 2^`exponent`, clamped to exponents that f32 holds as normal numbers.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127).clamp(0, 254) as u32) << 23)
}

/// Returns ⌊log₂ x⌋ of a positive number; 128 for infinity.
fn floor_log2(x: f32) -> i32 {
    (x.to_bits() >> 23) as i32 - 127
}

// Columns: the number types of a query, which are those that networks output.

/// A column of a query before it is quantised.
pub(crate) trait Column: Copy {
    /// The scale, and the zero point if there is one, that give a number its value.
    type Unit: Copy;
    /// The factor that a number is multiplied with to quantise it.
    type Factor: Copy;

    /// Returns the largest magnitude; not finite if any column is not.
    fn largest(query: &[Self], unit: Self::Unit) -> f32;

    /// Combines the unit of the columns with `factor`, by which they are raised.
    fn factor(unit: Self::Unit, factor: f32) -> Self::Factor;

    /// Multiplies and rounds to the nearest whole number, within 1/256: at most [`LARGEST`].
    fn rounded(self, factor: Self::Factor) -> i32;
}

impl Column for f32 {
    type Unit = ();
    type Factor = Self;

    fn largest(query: &[Self], (): ()) -> f32 {
        // The bits of a float without its sign are in the order of its magnitude, infinity and NaN above all others.
        let larger = |largest: u32, value: &Self| {
            keep_small();
            largest.max(value.abs().to_bits())
        };
        Self::from_bits(query.iter().fold(0, larger))
    }

    fn factor((): (), factor: f32) -> Self {
        factor * 256.0
    }

    #[inline]
    fn rounded(self, factor: Self) -> i32 {
        // Truncation after eight more bits: every platform has it in one instruction.
        ((self * factor) as i32 + 128) >> 8
    }
}

/// The int8 or uint8 numbers of a network: the value of q is (q − zero point)·scale.
#[derive(Clone, Copy)]
pub(crate) struct Affine<T> {
    pub scale: f32,
    pub zero_point: T,
}

/// Implements [`Column`] for int8 or uint8. Only the range of the numbers differs, not that of their distance to the
/// zero point.
macro_rules! affine_column {
    ($byte:ty) => {
        impl Column for $byte {
            type Unit = Affine<$byte>;
            /// A factor and a term to add to the product: one half, minus the zero point times the factor.
            type Factor = (i32, i32);

            fn largest(query: &[Self], Affine { scale, zero_point }: Affine<$byte>) -> f32 {
                let zero = i32::from(zero_point);
                let (mut least, mut most) = (zero, zero);
                for &value in query {
                    keep_small();
                    (least, most) = (least.min(value.into()), most.max(value.into()));
                }
                let largest = (most - zero).max(zero - least);
                (largest as f32 * scale).abs()
            }

            fn factor(Affine { scale, zero_point }: Affine<$byte>, factor: f32) -> (i32, i32) {
                // The largest product is below 2^30. For a query of zeros the factor may be anything, and the products
                // may wrap: they still give zero.
                let factor = (scale * factor * 32_768.0) as i32;
                (factor, (1i32 << 14).wrapping_sub(i32::from(zero_point).wrapping_mul(factor)))
            }

            #[inline]
            fn rounded(self, (factor, offset): (i32, i32)) -> i32 {
                i32::from(self).wrapping_mul(factor).wrapping_add(offset) >> 15
            }
        }
    };
}

affine_column!(i8);
affine_column!(u8);

impl Column for i16 {
    /// The scale.
    type Unit = f32;
    type Factor = f32;

    fn largest(query: &[Self], scale: f32) -> f32 {
        let larger = |largest: i32, &value: &Self| {
            keep_small();
            largest.max(i32::from(value).abs())
        };
        let largest = query.iter().fold(0, larger);
        (largest as f32 * scale).abs()
    }

    fn factor(scale: f32, factor: f32) -> f32 {
        // A large scale must not turn a query of zeros into NaN.
        f32::factor((), scale * factor).clamp(-256.0 * LARGEST, 256.0 * LARGEST)
    }

    #[inline]
    fn rounded(self, factor: f32) -> i32 {
        f32::from(self).rounded(factor)
    }
}

// Queries in the caller's memory, for models whose dimension is known only at run time.

/// Returns the number of words that a query for a model of dimension `dim` takes.
/// [`Model::query_words`](crate::Model::query_words) returns it for an open model.
///
/// ```
/// let memory = [0_u32; zhat::query_words(64)];
/// assert_eq!(memory.len(), 36);
/// ```
pub const fn query_words(dim: usize) -> usize {
    (size_of::<QueryBuffer<0>>() + dim.next_multiple_of(ROW_ALIGN) * size_of::<i16>()) / size_of::<u32>()
}

#[allow(unsafe_code)]
impl Query {
    /// Makes an empty query of `stride` columns, padding included, in the first `query_words(stride)` words; `None` if
    /// there are fewer.
    pub(crate) fn of_stride(words: &mut [u32], stride: usize) -> Option<&mut Self> {
        let words = words.get_mut(..query_words(stride))?;
        words.fill(0);
        let start = words.as_mut_ptr();
        // SAFETY: a `Query` is laid out as in C and aligned to a word, so that one without columns is the start of any
        // other, and its columns follow it without a gap: `query_words` is the sum of both. The words are borrowed as long
        // as the query is, and all of its fields are integers and floats, for which any bits are a value.
        unsafe {
            start.cast::<QueryBuffer<0>>().write(QueryBuffer::empty());
            Some(&mut *(ptr::slice_from_raw_parts_mut(start.cast::<i16>(), stride) as *mut Self))
        }
    }

    /// Returns the query that [`Query::of_stride`] made in these words and that was set later. For C, which holds only
    /// the words. If they hold something else by now, [`Query::check_rows`] refuses it as no query or as another
    /// model's.
    #[cfg(feature = "capi")]
    pub(crate) fn left_in(words: &[u32], stride: usize) -> Option<&Self> {
        let words = words.get(..query_words(stride))?;
        // SAFETY: as above; nothing is written.
        unsafe { Some(&*(ptr::slice_from_raw_parts(words.as_ptr().cast::<i16>(), stride) as *const Self)) }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
