//! Who learns from which queries: what is measured is measured on queries that nothing was tuned on.

use crate::host::{Matrix, linear};

/// With fewer queries nothing is learned from them.
const FEW_TO_LEARN: usize = 200;
/// With fewer queries none can be spared for a proof.
const FEW_TO_PROVE: usize = 48;

/// The calibration queries, split. Neighbours in a recording stay together.
pub struct Parts {
    /// What metric, corrections and links are learned from while plans are compared.
    pub learn: Option<Matrix>,
    /// What plans and budgets are compared on. Rows of the layer where there are no queries.
    pub tune: Matrix,
    /// Both: what the chosen plan learns from in the end.
    pub learn_and_tune: Option<Matrix>,
    /// What the finished model is measured on, if there are enough.
    pub prove: Option<Matrix>,
}

impl Parts {
    /// Six tenths to learn from, two to choose by, two to prove it. Of few queries half to choose by, half to prove.
    pub fn new(weights: &Matrix, calibration: Option<&Matrix>, seed: u64) -> Self {
        let Some(queries) = calibration else {
            return Self { learn: None, tune: stand_ins(weights, seed), learn_and_tune: None, prove: None };
        };
        let count = queries.rows();
        let part = |from: usize, to: usize| {
            let cols = queries.cols();
            Matrix::new(queries.data()[from * cols..to * cols].to_vec(), cols).expect("whole rows")
        };
        if count < FEW_TO_PROVE {
            return Self { learn: None, tune: queries.clone(), learn_and_tune: None, prove: None };
        }
        if count < FEW_TO_LEARN {
            let half = count / 2;
            return Self { learn: None, tune: part(0, half), learn_and_tune: None, prove: Some(part(half, count)) };
        }
        let (first, second) = (count * 6 / 10, count * 8 / 10);
        Self {
            learn: Some(part(0, first)),
            tune: part(first, second),
            learn_and_tune: Some(part(0, second)),
            prove: Some(part(second, count)),
        }
    }
}

/// Rows in the place of queries: evenly taken, less those so large that no model would take them for a query.
fn stand_ins(weights: &Matrix, seed: u64) -> Matrix {
    const COUNT: usize = 500;
    let step = (weights.rows() / COUNT).max(1);
    let first = seed as usize % step;
    let norm = |row: usize| linear::dot(weights.row(row), weights.row(row)).sqrt();
    let largest = (0..weights.rows()).map(norm).fold(0.0, f32::max);
    let small = |&row: &usize| norm(row) * largest < crate::rows::SCORE_LIMIT * 0.9;
    let picked = (first..weights.rows()).step_by(step).filter(small).take(COUNT);
    let data: Vec<f32> = picked.flat_map(|row| weights.row(row)).copied().collect();
    let nothing = vec![0.0; weights.cols()];
    Matrix::new(if data.is_empty() { nothing } else { data }, weights.cols()).expect("whole rows")
}
