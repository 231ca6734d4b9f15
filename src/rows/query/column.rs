//! The number types of a query: what networks output.

use super::LARGEST;
use crate::hint::keep_small;

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
