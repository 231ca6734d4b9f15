//! Arrays of any number of dimensions: what goes into a network.

use std::io::Read;
use std::path::Path;

use npyz::{Deserialize, NpyFile, Order, TypeChar};

use super::element::{Accept, Stop, read_floats};
use super::error::{Position, Problem, ReadError};
use super::layout::expect_bytes;
use super::npy::{Npy, value_error};
use super::source::{extension, with_file};

/// An array of any number of dimensions, in C order.
///
/// ```
/// let tensor = zhat::host::io::read_tensor("models/import/activations.npy")?;
/// assert!(!tensor.shape.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Lengths of its axes.
    pub shape: Vec<usize>,
    /// As many values as the lengths say.
    pub values: TensorValues,
}

/// Values of a [`Tensor`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TensorValues {
    /// Of f16, f32 and f64, all of them finite.
    Float(Vec<f32>),
    /// Of integers of any width, and of truth values.
    Int(Vec<i32>),
}

/// Reads a `.npy` file of floats, integers or truth values, with any number of dimensions.
///
/// ```
/// let tensor = zhat::host::io::read_tensor("models/import/activations.npy")?;
/// println!("{:?}", tensor.shape);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If it can't be read, is no such file, or holds something else, NaN, an infinity, or an integer of more than 32 bits.
pub fn read_tensor(path: impl AsRef<Path>) -> Result<Tensor, ReadError> {
    let path = path.as_ref();
    with_file(path, |source| match extension(path).as_str() {
        "npy" => read(Npy::open(source)?),
        _ => Err(Problem::Extension(".npy")),
    })
}

pub(super) fn read<R: Read>(npy: Npy<R>) -> Result<Tensor, Problem> {
    let shape = npy.header.shape().to_vec();
    if npy.header.order() == Order::Fortran && shape.len() > 1 {
        let why = "is in Fortran order: save it with np.save(name, np.ascontiguousarray(x))";
        return Err(Problem::Malformed(why.into()));
    }
    let values = match npy.scalar().map(|s| (s.type_char(), s.size_field())) {
        Some((TypeChar::Float, _)) => floats(npy)?,
        Some((TypeChar::Int, 1)) => ints::<i8, R>(npy, i64::from)?,
        Some((TypeChar::Int, 2)) => ints::<i16, R>(npy, i64::from)?,
        Some((TypeChar::Int, 4)) => ints::<i32, R>(npy, i64::from)?,
        Some((TypeChar::Int, 8)) => ints::<i64, R>(npy, |int| int)?,
        Some((TypeChar::Uint, 1)) => ints::<u8, R>(npy, i64::from)?,
        Some((TypeChar::Uint, 2)) => ints::<u16, R>(npy, i64::from)?,
        Some((TypeChar::Uint, 4)) => ints::<u32, R>(npy, i64::from)?,
        Some((TypeChar::Bool, _)) => ints::<bool, R>(npy, i64::from)?,
        _ => return Err(Problem::Type { found: npy.type_name(), expected: "floats, integers or truth values" }),
    };
    let shape = shape.iter().map(|&length| usize::try_from(length).unwrap_or(usize::MAX)).collect();
    Ok(Tensor { shape, values })
}

fn count(shape: &[u64], size: usize, len: u64) -> Result<usize, Problem> {
    expect_bytes(shape, size, len)?;
    // Not above the length of the file.
    Ok(shape.iter().map(|&length| length as usize).product())
}

fn floats<R: Read>(npy: Npy<R>) -> Result<TensorValues, Problem> {
    let encoding = npy.encoding()?;
    let count = count(npy.header.shape(), encoding.element.size(), npy.len)?;
    let mut values = Vec::with_capacity(count);
    read_floats(npy.reader, encoding, count, Accept::Finite, |block| values.extend_from_slice(block)).map_err(
        |stop| match stop {
            Stop::Problem(problem) => problem,
            Stop::Refused(refused) => {
                Problem::Value { value: refused.value, at: Position::Index(refused.index as u64) }
            }
        },
    )?;
    Ok(TensorValues::Float(values))
}

fn ints<T: Deserialize, R: Read>(npy: Npy<R>, widen: impl Fn(T) -> i64) -> Result<TensorValues, Problem> {
    let count = count(npy.header.shape(), size_of::<T>(), npy.len)?;
    let values = NpyFile::with_header(npy.header, npy.reader)
        .data::<T>()
        .map_err(|error| Problem::Malformed(error.to_string()))?;
    let narrow = |int: i64| {
        i32::try_from(int).map_err(|_| Problem::Malformed(format!("holds {int}, which is more than 32 bits")))
    };
    let values: Result<_, Problem> =
        values.take(count).map(|value| narrow(widen(value.map_err(value_error)?))).collect();
    Ok(TensorValues::Int(values?))
}
