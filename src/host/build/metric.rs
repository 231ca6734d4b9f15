//! The metric in which rows are close: how differently the calibration queries score them.

use nalgebra::DMatrix;
use rayon::prelude::*;

use crate::host::quantise::QuantisedRows;
use crate::host::{Matrix, linear};

/// Rows that are turned to floats at a time.
const CHUNK: usize = 4096;

/// Turns rows to points: S^(blend/2) times a row with its bias as a coordinate, S the second moment of the queries.
///
/// blend = 0 is the plain distance; 1 is the mean squared difference of the scores, which forgets too much of what
/// queries that were not seen will ask for. An eighth to a half is best.
pub struct Metric {
    /// Row by row; none is the identity.
    root: Option<Vec<f32>>,
}

impl Metric {
    pub fn new(moment: Option<&DMatrix<f64>>, blend: f32) -> Self {
        Self { root: moment.filter(|_| blend > 0.0).map(|moment| linear::power(moment, f64::from(blend) / 2.0)) }
    }

    /// The points of `count` rows from `first` on, one after the other.
    pub fn points(&self, rows: &QuantisedRows, first: usize, count: usize) -> Vec<f32> {
        let plain = rows.augmented(first, count);
        match &self.root {
            Some(root) => linear::times(&plain, root, rows.dim + 1),
            None => plain,
        }
    }

    /// The points of all rows: as large as the layer itself, so nobody should hold on to them.
    pub fn all(&self, rows: &QuantisedRows) -> Matrix {
        let cols = rows.dim + 1;
        let mut data = vec![0.0; rows.len() * cols];
        data.par_chunks_mut(CHUNK * cols).enumerate().for_each(|(chunk, out)| {
            out.copy_from_slice(&self.points(rows, chunk * CHUNK, out.len() / cols));
        });
        Matrix::new(data, cols).expect("whole rows")
    }
}
