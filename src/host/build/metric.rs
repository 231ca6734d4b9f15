//! The metric in which rows are close: how differently the calibration queries score them.

use nalgebra::DMatrix;
use rayon::prelude::*;

use crate::host::quantise::QuantisedRows;
use crate::host::{Matrix, linear};

/// Rows that are turned to floats at a time.
const CHUNK: usize = 4096;

/// The rows with their bias as a coordinate, in the metric S^blend, S the second moment of the queries.
///
/// blend = 0 is the plain distance; 1 is the mean squared difference of the scores, which forgets too much of what
/// queries that were not seen will ask for. An eighth to a half is best.
pub fn blended(rows: &QuantisedRows, moment: Option<&DMatrix<f64>>, blend: f32) -> Matrix {
    let cols = rows.dim + 1;
    let root = moment.filter(|_| blend > 0.0).map(|moment| linear::power(moment, f64::from(blend) / 2.0));
    let mut data = vec![0.0; rows.len() * cols];
    data.par_chunks_mut(CHUNK * cols).enumerate().for_each(|(chunk, out)| {
        let plain = rows.augmented(chunk * CHUNK, out.len() / cols);
        match &root {
            Some(root) => out.copy_from_slice(&linear::times(&plain, root, cols)),
            None => out.copy_from_slice(&plain),
        }
    });
    Matrix::new(data, cols).expect("whole rows")
}
