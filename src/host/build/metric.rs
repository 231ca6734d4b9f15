//! The metric in which rows are close: how differently the calibration queries score them.

use rayon::prelude::*;

use crate::host::Matrix;
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::Spectrum;

/// Rows that are turned to floats at a time.
const CHUNK: usize = 4096;

/// Turns rows to points: S^(blend/2) times a row with its bias as a coordinate, S the second moment of the queries.
///
/// blend = 0 is the plain distance; 1 is the mean squared difference of the scores, which forgets too much of what
/// queries that were not seen will ask for. An eighth to a half is best.
#[derive(Clone, Copy)]
pub struct Metric<'a> {
    /// None is the identity.
    spectrum: Option<&'a Spectrum>,
    power: f64,
}

impl<'a> Metric<'a> {
    pub fn new(spectrum: Option<&'a Spectrum>, blend: f32) -> Self {
        Self { spectrum: spectrum.filter(|_| blend > 0.0), power: f64::from(blend) / 2.0 }
    }

    /// The points of `count` rows from `first` on, one after the other.
    pub fn points(&self, rows: &QuantisedRows, first: usize, count: usize) -> Vec<f32> {
        let mut points = rows.augmented(first, count);
        if let Some(spectrum) = self.spectrum {
            spectrum.raise(&mut points, self.power);
        }
        points
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
