//! The metric in which rows are close: how differently the calibration queries score them.

use nalgebra::DMatrix;

use crate::host::{Matrix, linear};

/// The rows with their bias as a coordinate, in the metric S^blend, S the second moment of the queries.
///
/// blend = 0 is the plain distance; 1 is the mean squared difference of the scores, which forgets too much of what
/// queries that were not seen will ask for. A quarter to a half is best.
pub fn blended(augmented: &Matrix, moment: Option<&DMatrix<f64>>, blend: f32) -> Matrix {
    match moment {
        Some(moment) if blend > 0.0 => {
            let root = linear::power(moment, f64::from(blend) / 2.0);
            Matrix::new(linear::times(augmented.data(), &root, augmented.cols()), augmented.cols()).expect("whole rows")
        }
        _ => augmented.clone(),
    }
}
