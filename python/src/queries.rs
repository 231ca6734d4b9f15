//! Arrays from Python as the library's matrices and queries.

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use zhat::host::Matrix;
use zhat::{Error, Model, Query};

use crate::error::value;

/// Copies an array of floats with a row for each class or query.
pub fn matrix(name: &str, array: &PyReadonlyArray2<'_, f32>) -> PyResult<Matrix> {
    let (rows, cols) = (array.shape()[0], array.shape()[1]);
    let data = slice(name, array.as_slice())?.to_vec();
    let matrix = if data.is_empty() { None } else { Matrix::new(data, cols) };
    matrix.ok_or_else(|| value(format!("{name}: an array of {rows}×{cols} is empty")))
}

/// Copies labels, and checks that there is such a class for each.
pub fn labels(array: &PyReadonlyArray1<'_, i64>, classes: usize) -> PyResult<Vec<usize>> {
    let labels = slice("labels", array.as_slice())?;
    let checked = labels.iter().enumerate().map(|(at, &label)| match usize::try_from(label) {
        Ok(label) if label < classes => Ok(label),
        _ => Err(value(format!("labels: {label} at {at} is none of {classes} classes"))),
    });
    checked.collect()
}

fn slice<T, E>(name: &str, slice: Result<T, E>) -> PyResult<T> {
    slice.map_err(|_| value(format!("{name}: not in C order")))
}

/// Queries in the type that the caller has them in.
pub enum Queries<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    I8(PyReadonlyArray2<'py, i8>, f32, i8),
    U8(PyReadonlyArray2<'py, u8>, f32, u8),
    I16(PyReadonlyArray2<'py, i16>, f32),
}

/// The numbers of [`Queries`].
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    F32(&'a [f32]),
    I8(&'a [i8], f32, i8),
    U8(&'a [u8], f32, u8),
    I16(&'a [i16], f32),
}

impl<'py> Queries<'py> {
    /// Takes an array of one of the four types, with a scale for those that are whole numbers.
    pub fn new(array: &Bound<'py, PyAny>, scale: Option<f32>, zero_point: i32, model: &Model<'_>) -> PyResult<Self> {
        if let Ok(array) = array.extract() {
            return Self::expect_dim(&array, model).map(|()| Self::F32(array));
        }
        let scale = scale.ok_or_else(|| {
            value("queries of whole numbers need a scale: the model file holds none, and none was given")
        })?;
        if !(scale.is_finite() && scale > 0.0) {
            return Err(value(format!("scale: {scale} is not above zero")));
        }
        let outside = || value(format!("zero_point: {zero_point} is no value of the queries' type"));
        if let Ok(array) = array.extract() {
            Self::expect_dim(&array, model)?;
            return Ok(Self::I8(array, scale, i8::try_from(zero_point).map_err(|_| outside())?));
        }
        if let Ok(array) = array.extract() {
            Self::expect_dim(&array, model)?;
            return Ok(Self::U8(array, scale, u8::try_from(zero_point).map_err(|_| outside())?));
        }
        let array: PyReadonlyArray2<'py, i16> =
            array.extract().map_err(|_| value("queries: not an array of queries"))?;
        Self::expect_dim(&array, model)?;
        if zero_point != 0 {
            return Err(value("queries of int16 have no zero point"));
        }
        Ok(Self::I16(array, scale))
    }

    fn expect_dim<T: Element>(array: &PyReadonlyArray2<'_, T>, model: &Model<'_>) -> PyResult<()> {
        let (rows, cols) = (array.shape()[0], array.shape()[1]);
        if cols == model.dim() {
            return Ok(());
        }
        Err(value(format!("queries: {rows}×{cols}, but the model has a dimension of {}", model.dim())))
    }

    pub fn numbers(&self) -> PyResult<Numbers<'_>> {
        let name = "queries";
        Ok(match self {
            Self::F32(array) => Numbers::F32(slice(name, array.as_slice())?),
            Self::I8(array, scale, zero_point) => Numbers::I8(slice(name, array.as_slice())?, *scale, *zero_point),
            Self::U8(array, scale, zero_point) => Numbers::U8(slice(name, array.as_slice())?, *scale, *zero_point),
            Self::I16(array, scale) => Numbers::I16(slice(name, array.as_slice())?, *scale),
        })
    }
}

impl Numbers<'_> {
    /// Returns how many queries there are.
    pub fn count(self, dim: usize) -> usize {
        let numbers = match self {
            Self::F32(numbers) => numbers.len(),
            Self::I8(numbers, ..) => numbers.len(),
            Self::U8(numbers, ..) => numbers.len(),
            Self::I16(numbers, _) => numbers.len(),
        };
        numbers / dim
    }

    /// Quantises query `i` for a model.
    pub fn set(self, i: usize, model: &Model<'_>, query: &mut Query) -> Result<(), Error> {
        let dim = model.dim();
        let range = i * dim..(i + 1) * dim;
        match self {
            Self::F32(numbers) => query.set(model, &numbers[range]),
            Self::I8(numbers, scale, zero_point) => query.set_i8(model, &numbers[range], scale, zero_point),
            Self::U8(numbers, scale, zero_point) => query.set_u8(model, &numbers[range], scale, zero_point),
            Self::I16(numbers, scale) => query.set_i16(model, &numbers[range], scale),
        }
    }
}
