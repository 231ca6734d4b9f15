//! Queries for a model, whose file states the format of the rows.

use super::Model;
use crate::Error;
use crate::rows::{Affine, Query, QueryBuffer, query_words};

impl<const D: usize> QueryBuffer<D> {
    /// Quantises a query.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// use zhat::{Error, QueryBuffer};
    ///
    /// assert!(QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0]).is_ok());
    /// assert_eq!(QueryBuffer::<4>::new(&model, &[0.5; 2]).unwrap_err(), Error::QueryLength);
    /// assert_eq!(QueryBuffer::<2>::new(&model, &[0.5; 3]).unwrap_err(), Error::QueryColumns(4));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::set`].
    pub fn new(model: &Model<'_>, query: &[f32]) -> Result<Self, Error> {
        let mut buffer = Self::empty();
        buffer.set(model, query)?;
        Ok(buffer)
    }

    /// Quantises an int8 query, see [`Query::set_i8`].
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// let query = zhat::QueryBuffer::<4>::from_i8(&model, &[35, -40, 110], 0.02, 10)?;
    /// assert!((query.value(1) + 1.0).abs() < 1e-3);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::set`].
    pub fn from_i8(model: &Model<'_>, query: &[i8], scale: f32, zero_point: i8) -> Result<Self, Error> {
        let mut buffer = Self::empty();
        buffer.set_i8(model, query, scale, zero_point)?;
        Ok(buffer)
    }

    /// Quantises a uint8 query, see [`Query::set_u8`].
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// let query = zhat::QueryBuffer::<4>::from_u8(&model, &[163, 88, 238], 0.02, 138)?;
    /// assert!((query.value(1) + 1.0).abs() < 1e-3);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::set`].
    pub fn from_u8(model: &Model<'_>, query: &[u8], scale: f32, zero_point: u8) -> Result<Self, Error> {
        let mut buffer = Self::empty();
        buffer.set_u8(model, query, scale, zero_point)?;
        Ok(buffer)
    }

    /// Quantises an int16 query, see [`Query::set_i16`].
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// let query = zhat::QueryBuffer::<4>::from_i16(&model, &[500, -1000, 2000], 1e-3)?;
    /// assert!((query.value(1) + 1.0).abs() < 1e-3);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::set`].
    pub fn from_i16(model: &Model<'_>, query: &[i16], scale: f32) -> Result<Self, Error> {
        let mut buffer = Self::empty();
        buffer.set_i16(model, query, scale)?;
        Ok(buffer)
    }
}

impl Query {
    /// Creates an empty query in memory supplied by the caller, for a model whose dimension is known only at run time.
    ///
    /// ```
    /// # fn main() -> Result<(), zhat::Error> {
    /// # let bytes = zhat::doc_example();
    /// use zhat::{Model, Query};
    ///
    /// let model = Model::from_bytes(&bytes)?;
    /// let mut memory = [0; 100];
    /// let query = Query::in_words(&mut memory[..model.query_words()], &model)?;
    /// query.set(&model, &[0.5, -1.0, 2.0])?;
    /// assert_eq!(zhat::exact::<1>(&model, query)?.top[0].class, 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::QueryWords`] if there are fewer than [`Model::query_words`].
    pub fn in_words<'a>(words: &'a mut [u32], model: &Model<'_>) -> Result<&'a mut Self, Error> {
        Self::of_stride(words, model.rows().stride()).ok_or(Error::QueryWords(model.query_words() as u32))
    }

    /// Quantises a query of floats.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// use zhat::{Error, QueryBuffer};
    ///
    /// let mut query = QueryBuffer::<4>::empty();
    /// query.set(&model, &[0.5, -1.0, 2.0])?;
    /// assert_eq!(query.set(&model, &[f32::NAN; 3]), Err(Error::QueryNotFinite));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::QueryLength`], [`Error::QueryNotFinite`], [`Error::QueryTooLarge`], or [`Error::QueryColumns`] if there is no
    /// room for its columns. After an error there is no query until the next successful call.
    pub fn set(&mut self, model: &Model<'_>, query: &[f32]) -> Result<(), Error> {
        self.quantise(model.row_format(), query, ())
    }

    /// Quantises an int8 query as networks in TFLite and CMSIS-NN output it: the value of a column is `(query[column] −
    /// zero_point) · scale`. Nothing is copied.
    ///
    /// ```
    /// # fn main() -> Result<(), zhat::Error> {
    /// # let bytes = zhat::doc_example();
    /// use zhat::{Model, QueryBuffer};
    ///
    /// let model = Model::from_bytes(&bytes)?;
    /// let mut query = QueryBuffer::<8>::empty();
    /// query.set_i8(&model, &[50, -100, 127], 0.02, -10)?;
    /// assert!((query.value(1) - -1.8).abs() < 1e-3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Query::set`].
    pub fn set_i8(&mut self, model: &Model<'_>, query: &[i8], scale: f32, zero_point: i8) -> Result<(), Error> {
        self.quantise(model.row_format(), query, Affine { scale, zero_point })
    }

    /// Quantises a uint8 query as older TFLite networks and ONNX Runtime output it: the value of a column is
    /// `(query[column] − zero_point) · scale`. Nothing is copied.
    ///
    /// ```
    /// # fn main() -> Result<(), zhat::Error> {
    /// # let bytes = zhat::doc_example();
    /// use zhat::{Model, QueryBuffer};
    ///
    /// let model = Model::from_bytes(&bytes)?;
    /// let (mut query, mut same) = (QueryBuffer::<8>::empty(), QueryBuffer::<8>::empty());
    /// query.set_u8(&model, &[178, 28, 255], 0.02, 118)?;
    /// same.set_i8(&model, &[50, -100, 127], 0.02, -10)?; // every number and the zero point less 128
    /// assert_eq!(query.value(1), same.value(1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Query::set`].
    pub fn set_u8(&mut self, model: &Model<'_>, query: &[u8], scale: f32, zero_point: u8) -> Result<(), Error> {
        self.quantise(model.row_format(), query, Affine { scale, zero_point })
    }

    /// Quantises an int16 query: the value of a column is `query[column] · scale`.
    ///
    /// ```
    /// # fn main() -> Result<(), zhat::Error> {
    /// # let bytes = zhat::doc_example();
    /// use zhat::{Model, QueryBuffer};
    ///
    /// let model = Model::from_bytes(&bytes)?;
    /// let query = QueryBuffer::<8>::from_i16(&model, &[5_000, -10_000, 20_000], 1e-4)?;
    /// assert!((query.value(1) - -1.0).abs() < 1e-3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Query::set`].
    pub fn set_i16(&mut self, model: &Model<'_>, query: &[i16], scale: f32) -> Result<(), Error> {
        self.quantise(model.row_format(), query, scale)
    }

    /// Checks that this is a query for this model. Every function that takes a query calls it first.
    #[inline]
    pub(crate) fn check(&self, model: &Model<'_>) -> Result<(), Error> {
        self.check_rows(model.row_format())
    }
}

impl Model<'_> {
    /// Returns the number of words that [`Query::in_words`] needs.
    pub fn query_words(&self) -> usize {
        query_words(self.dim())
    }
}
