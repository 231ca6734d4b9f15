//! Where each value of a stored matrix goes: along the rows of the result, or down its columns.
//!
//! A C-order file and a transposed Fortran-order file run along the rows of the result and are
//! appended; the other two run down its columns and are scattered into place. Either way there is
//! one copy of the matrix and no other.

use std::io::Read;

use super::ReadOptions;
use super::element::{Accept, Encoding, Stop, read_floats};
use super::error::{Position, Problem, Shape};
use crate::host::Matrix;

/// A stored matrix: its shape and the order of its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub rows: usize,
    pub cols: usize,
    pub column_major: bool,
}

impl Layout {
    /// The layout of `shape` in a file that still has `len` bytes for it.
    pub fn new(shape: &[u64], column_major: bool, encoding: Encoding, len: u64) -> Result<Self, Problem> {
        let &[rows, cols] = shape else {
            return Err(Problem::Shape { found: shape.to_vec(), expected: "two dimensions" });
        };
        expect_bytes(shape, encoding.element.size(), len)?;
        // Below the length of a file by now, so a usize on any host that can hold the result.
        let size = |n| usize::try_from(n).map_err(|_| Problem::Malformed("too large for this machine".into()));
        Ok(Self { rows: size(rows)?, cols: size(cols)?, column_major })
    }

    /// Reads the matrix, or as much of it as `options` asks for.
    pub fn read(self, reader: impl Read, encoding: Encoding, options: ReadOptions<'_>) -> Result<Matrix, Problem> {
        let (rows, cols) = match options.transpose {
            false => (self.rows, self.cols),
            true => (self.cols, self.rows),
        };
        let taken = options.take(rows);
        if taken == 0 || cols == 0 {
            return Err(Problem::Empty);
        }
        let mut data;
        let result = if self.column_major == options.transpose {
            data = Vec::with_capacity(taken * cols);
            read_floats(reader, encoding, taken * cols, Accept::Finite, |block| {
                data.extend_from_slice(block);
            })
        } else {
            data = vec![0.0; taken * cols];
            let (mut row, mut col) = (0, 0);
            read_floats(reader, encoding, rows * cols, Accept::Finite, |block| {
                for &value in block {
                    if row < taken {
                        data[row * cols + col] = value;
                    }
                    row += 1;
                    if row == rows {
                        (row, col) = (0, col + 1);
                    }
                }
            })
        };
        result.map_err(|stop| match stop {
            Stop::Problem(problem) => problem,
            Stop::Refused(refused) => Problem::Value { value: refused.value, at: self.position(refused.index) },
        })?;
        Matrix::new(data, cols).ok_or(Problem::Empty)
    }

    /// Row and column, in the file's terms, of value `index` of the stream.
    fn position(self, index: usize) -> Position {
        let (row, column) = match self.column_major {
            false => (index / self.cols, index % self.cols),
            true => (index % self.rows, index / self.rows),
        };
        Position::Cell { row: row as u64, column: column as u64 }
    }
}

/// Checks that `len` bytes are enough for `shape`: before anything of that size is allocated.
pub(super) fn expect_bytes(shape: &[u64], element_size: usize, len: u64) -> Result<(), Problem> {
    let needed = shape.iter().try_fold(element_size as u64, |bytes, &n| bytes.checked_mul(n));
    match needed {
        _ if shape.contains(&0) => Err(Problem::Empty),
        Some(needed) if needed <= len => Ok(()),
        _ => Err(Problem::Truncated {
            expected: format!("{} values of {element_size} bytes", Shape(shape)),
            found: format!("{len} bytes"),
        }),
    }
}
