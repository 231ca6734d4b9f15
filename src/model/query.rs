//! Queries for a model: the rows' format comes from its file.

use super::Model;
use crate::Error;
use crate::rows::{Query, QueryBuffer};

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
        buffer.set_i8(model, query, scale)?;
        Ok(buffer)
    }

    /// As [`QueryBuffer::from_i8`], into the same buffer: nothing is copied.
    ///
    /// ```
    /// # fn main() -> Result<(), zhat::Error> {
    /// # let bytes = zhat::doc_example();
    /// use zhat::{Model, QueryBuffer};
    ///
    /// let model = Model::from_bytes(&bytes)?;
    /// let mut query = QueryBuffer::<8>::empty();
    /// query.set_i8(&model, &[50, -100, 127], 0.02)?;
    /// assert!((query.value(1) - -2.0).abs() < 1e-3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`QueryBuffer::new`]; the buffer is then of no use until the next successful call.
    pub fn set_i8(&mut self, model: &Model<'_>, query: &[i8], scale: f32) -> Result<(), Error> {
        (self as &mut Query).quantise(model.row_format(), query, scale)
    }
}

impl Query {
    /// [`QueryBuffer::set`] for storage of any size.
    pub(crate) fn set_to(&mut self, model: &Model<'_>, query: &[f32]) -> Result<(), Error> {
        self.quantise(model.row_format(), query, 1.0)
    }
}
