//! The width of the rows' weights.

use crate::Error;
use crate::kernels;
#[cfg(feature = "rows4")]
use crate::kernels::four_bit;

/// The width of the weights of a model's rows in the file.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// use zhat::model::Bits;
///
/// assert_eq!(model.bits(), Bits::Eight); // `zhat build --bits 4` makes files of half the size
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Bits {
    /// int8, with a scale for each row.
    #[default]
    Eight,
    /// Four bits, with a scale for each row and a 4-bit scale for each 16 of its columns: a weight is the product of
    /// two numbers from −8 to 7. Only with the feature `rows4`: without it a firmware has none of their code.
    #[cfg(feature = "rows4")]
    Four,
}

// Without `rows4` there is one width, and no function needs all of its parameters.
#[cfg_attr(not(feature = "rows4"), allow(unused_variables))]
impl Bits {
    /// Returns the number of bits of a weight, 8 or 4.
    pub const fn count(self) -> u32 {
        match self {
            Self::Eight => 8,
            #[cfg(feature = "rows4")]
            Self::Four => 4,
        }
    }

    /// Returns the number that stands for this width in the header of a file.
    #[cfg(feature = "alloc")]
    pub(crate) const fn code(self) -> u32 {
        match self {
            Self::Eight => 0,
            #[cfg(feature = "rows4")]
            Self::Four => 4,
        }
    }

    /// Reads the width from its number in the header of a file.
    pub(crate) const fn from_code(code: u32) -> Result<Self, Error> {
        match code {
            0 => Ok(Self::Eight),
            #[cfg(feature = "rows4")]
            4 => Ok(Self::Four),
            #[cfg(not(feature = "rows4"))]
            4 => Err(Error::FourBitRows),
            _ => Err(Error::Header),
        }
    }

    /// Returns the bytes that a row of `dim` columns takes in the file, with its scales and the padding to whole words.
    ///
    /// ```
    /// use zhat::model::Bits;
    ///
    /// assert_eq!([Bits::Eight, Bits::Four].map(|bits| bits.row_bytes(64)), [66, 36]);
    /// ```
    pub const fn row_bytes(self, dim: usize) -> usize {
        let of_scale = if self.has_own_scales() { 0 } else { 2 };
        2 * self.row_len(dim.next_multiple_of(kernels::ROW_ALIGN)) + of_scale
    }

    /// Returns true if each row holds its own scale, so that the file has no separate list of scales.
    #[inline]
    pub(crate) const fn has_own_scales(self) -> bool {
        !matches!(self, Self::Eight)
    }

    /// Returns the smallest sum of squares of a row's weights that the header may state, so that no query overflows.
    pub(crate) const fn least_largest_row(self, stride: usize) -> u32 {
        match self {
            Self::Eight => 0,
            #[cfg(feature = "rows4")]
            Self::Four => four_bit::least_largest_row(stride),
        }
    }

    /// Returns the length of a row of `stride` columns in 16-bit numbers.
    #[inline]
    pub(crate) const fn row_len(self, stride: usize) -> usize {
        match self {
            Self::Eight => stride / 2,
            #[cfg(feature = "rows4")]
            Self::Four => four_bit::row_len(stride),
        }
    }

    /// Returns the weight of a column; zero where the row has no such column.
    #[inline]
    pub(crate) fn weight(self, row: &[i16], column: usize, stride: usize) -> i8 {
        match self {
            Self::Eight => row.get(column / 2).map_or(0, |&pair| kernels::weights(pair)[column % 2]),
            #[cfg(feature = "rows4")]
            Self::Four => four_bit::weight(row, column, stride),
        }
    }

    /// Returns the sum of the squares of a row's weights; `None` if the row holds something that is no valid weight.
    #[inline]
    pub(crate) fn squares(self, row: &[i16], dim: usize) -> Option<u32> {
        match self {
            Self::Eight => kernels::squares(row),
            #[cfg(feature = "rows4")]
            Self::Four => four_bit::squares(row, dim),
        }
    }

    /// Computes the dot product of one row with the query.
    #[inline(never)]
    pub(crate) fn dot(self, row: &[i16], query: &[i16]) -> i32 {
        match self {
            Self::Eight => kernels::dot(row, query),
            #[cfg(feature = "rows4")]
            Self::Four => {
                let mut dots = [0];
                four_bit::dots(row, None, query, &mut dots);
                dots[0]
            }
        }
    }

    /// Computes the dot products with the query of the rows of a table: of the picked ones, or else of the first ones.
    /// Not built where the int8 kernel computes all scores itself.
    #[cfg(not(all(zhat_dsp, not(feature = "rows4"))))]
    #[inline]
    pub(super) fn dots(self, table: &[i16], picked: Option<&[u32]>, query: &[i16], dots: &mut [i32]) {
        match (self, picked) {
            (Self::Eight, Some(picked)) => kernels::dot_picked(table, picked, query, dots),
            (Self::Eight, None) => kernels::dot_rows(table, query, dots),
            #[cfg(feature = "rows4")]
            (Self::Four, _) => four_bit::dots(table, picked, query, dots),
        }
    }
}
