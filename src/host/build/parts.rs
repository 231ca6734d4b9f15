//! Who learns from which queries: what is measured is measured on queries that nothing was tuned on.

use crate::host::{Matrix, linear};

/// With fewer queries nothing is learned from them.
const FEW_TO_LEARN: usize = 200;
/// With fewer queries none can be spared for a proof.
const FEW_TO_PROVE: usize = 48;
/// Rows that stand in for queries where there are none.
const STAND_INS: usize = 500;

/// How many queries each part has.
pub struct Sizes {
    /// To learn from; none of few queries.
    pub learn: usize,
    /// To choose by.
    pub tune: usize,
    /// To prove it.
    pub prove: usize,
}

impl Sizes {
    /// Six tenths to learn from, two to choose by, two to prove it. Of few queries half to choose by, half to prove.
    pub fn new(queries: Option<usize>) -> Self {
        match queries {
            None => Self { learn: 0, tune: STAND_INS, prove: 0 },
            Some(count) if count < FEW_TO_PROVE => Self { learn: 0, tune: count, prove: 0 },
            Some(count) if count < FEW_TO_LEARN => Self { learn: 0, tune: count / 2, prove: count - count / 2 },
            Some(count) => {
                let (first, second) = (count * 6 / 10, count * 8 / 10);
                Self { learn: first, tune: second - first, prove: count - second }
            }
        }
    }
}

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
    /// Parts of the queries; without queries, rows in their place.
    pub fn new(weights: &Matrix, calibration: Option<&Matrix>, seed: u64) -> Self {
        let Some(queries) = calibration else {
            return Self { learn: None, tune: stand_ins(weights, seed), learn_and_tune: None, prove: None };
        };
        let part = |from: usize, to: usize| {
            let cols = queries.cols();
            Matrix::new(queries.data()[from * cols..to * cols].to_vec(), cols).expect("whole rows")
        };
        let Sizes { learn, tune, prove } = Sizes::new(Some(queries.rows()));
        Self {
            learn: (learn > 0).then(|| part(0, learn)),
            tune: part(learn, learn + tune),
            learn_and_tune: (learn > 0).then(|| part(0, learn + tune)),
            prove: (prove > 0).then(|| part(learn + tune, queries.rows())),
        }
    }
}

/// Rows in the place of queries: evenly taken, less those so large that no model would take them for a query.
fn stand_ins(weights: &Matrix, seed: u64) -> Matrix {
    let step = (weights.rows() / STAND_INS).max(1);
    let first = seed as usize % step;
    let norm = |row: usize| linear::dot(weights.row(row), weights.row(row)).sqrt();
    let largest = (0..weights.rows()).map(norm).fold(0.0, f32::max);
    let small = |&row: &usize| norm(row) * largest < crate::rows::SCORE_LIMIT * 0.9;
    let picked = (first..weights.rows()).step_by(step).filter(small).take(STAND_INS);
    let data: Vec<f32> = picked.flat_map(|row| weights.row(row)).copied().collect();
    let nothing = vec![0.0; weights.cols()];
    Matrix::new(if data.is_empty() { nothing } else { data }, weights.cols()).expect("whole rows")
}
