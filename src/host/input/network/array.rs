//! Weights on their way from a network's tensor to rows: values and a shape.

use crate::host::Matrix;

/// A tensor with its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub shape: Vec<usize>,
    pub values: Values,
}

/// Values, as many as the shape says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Float(Vec<f32>),
    Int(Vec<i32>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Int(values) => values.len(),
        }
    }
}

impl Array {
    pub fn new(shape: Vec<usize>, values: Values) -> Self {
        Self { shape, values }
    }

    /// Returns the values as floats.
    pub fn floats(&self) -> Vec<f32> {
        match &self.values {
            Values::Float(values) => values.clone(),
            Values::Int(values) => values.iter().map(|&value| value as f32).collect(),
        }
    }

    /// (value − zero point) · scale, with one of each for all values, or for each index of an axis.
    pub fn dequantised(self, scales: &[f32], zeros: &[i32], axis: Option<usize>) -> Result<Self, &'static str> {
        let Values::Int(ints) = &self.values else { return Err("quantised values are not integers") };
        let (count, inner) = match axis {
            None => (1, ints.len().max(1)),
            Some(axis) => {
                let count = *self.shape.get(axis).ok_or("scales are along an axis that is not there")?;
                (count, self.shape[axis + 1..].iter().product::<usize>().max(1))
            }
        };
        if scales.len() != count || !matches!(zeros.len(), n if n == count || n <= 1) {
            return Err("there is not one scale for each index of the axis");
        }
        let zero = |index: usize| zeros.get(if zeros.len() == 1 { 0 } else { index }).copied().unwrap_or(0);
        let mut floats = Vec::with_capacity(ints.len());
        for (at, &int) in ints.iter().enumerate() {
            let index = at / inner % count;
            let whole = i64::from(int) - i64::from(zero(index));
            floats.push((whole as f64 * f64::from(scales[index])) as f32);
        }
        Ok(Self { shape: self.shape, values: Values::Float(floats) })
    }

    /// Joins two arrays element by element, where both have the same shape or one holds a single value.
    pub fn zip(&self, other: &Self, f: impl Fn(f32, f32) -> f32) -> Option<Self> {
        let (a, b) = (self.floats(), other.floats());
        let (shape, values) = match (a.len(), b.len()) {
            _ if self.shape == other.shape => (&self.shape, a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect()),
            (_, 1) if self.shape.len() >= other.shape.len() => (&self.shape, a.iter().map(|&a| f(a, b[0])).collect()),
            (1, _) if other.shape.len() >= self.shape.len() => (&other.shape, b.iter().map(|&b| f(a[0], b)).collect()),
            _ => return None,
        };
        Some(Self { shape: shape.clone(), values: Values::Float(values) })
    }

    /// Drops axes of length one in front of the last two.
    pub fn without_leading_ones(mut self) -> Self {
        let front = self.shape.len().saturating_sub(2);
        if self.shape[..front].iter().all(|&length| length == 1) {
            self.shape.drain(..front);
        }
        self
    }

    /// Swaps rows and columns.
    pub fn transposed(self) -> Option<Self> {
        let [rows, cols] = self.shape[..] else { return None };
        fn swap<T: Copy>(values: &[T], rows: usize, cols: usize) -> Vec<T> {
            (0..cols).flat_map(|col| (0..rows).map(move |row| values[row * cols + col])).collect()
        }
        let values = match &self.values {
            Values::Float(values) => Values::Float(swap(values, rows, cols)),
            Values::Int(values) => Values::Int(swap(values, rows, cols)),
        };
        Some(Self { shape: vec![cols, rows], values })
    }

    /// Returns one row for each class.
    pub fn into_rows(self) -> Option<Matrix> {
        let (&rows, rest) = self.shape.split_first()?;
        let data = match self.values {
            Values::Float(values) => values,
            Values::Int(values) => values.iter().map(|&value| value as f32).collect(),
        };
        // A matrix has at least one row.
        Matrix::new(data, rest.iter().product()).filter(|matrix| matrix.rows() == rows && rows > 0)
    }
}
