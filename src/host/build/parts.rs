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
            return Self { learn: None, tune: stand_ins(weights, STAND_INS, seed), learn_and_tune: None, prove: None };
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

    /// Returns all queries but those that the model is measured on. Nothing else may be learned from: not even the rounding
    /// of the rows, which makes errors small for the queries that it was told of, and with few queries for those alone.
    pub fn tuned<'a>(&'a self, all: &'a Matrix) -> &'a Matrix {
        match (&self.prove, &self.learn_and_tune) {
            (None, _) => all,
            (Some(_), Some(queries)) => queries,
            (Some(_), None) => &self.tune,
        }
    }
}

/// At most `most` rows in the place of queries, evenly taken.
pub fn stand_ins(weights: &Matrix, most: usize, seed: u64) -> Matrix {
    let step = (weights.rows() / most).max(1);
    let first = seed as usize % step;
    let picked = (first..weights.rows()).step_by(step).take(most);
    let data: Vec<f32> = picked.flat_map(|row| weights.row(row)).copied().collect();
    let nothing = || Matrix::new(vec![0.0; weights.cols()], weights.cols()).expect("whole rows");
    Matrix::new(data, weights.cols()).and_then(|rows| those_that_fit(rows, weights)).unwrap_or_else(nothing)
}

/// Queries less those so large that no model of these rows would take them for one.
pub fn those_that_fit(queries: Matrix, weights: &Matrix) -> Option<Matrix> {
    let norm = |row: &[f32]| linear::dot(row, row).sqrt();
    let largest = weights.iter().map(norm).fold(0.0, f32::max);
    let fits = |query: &&[f32]| norm(query) * largest < crate::rows::SCORE_LIMIT * 0.9;
    if queries.iter().all(|query| fits(&query)) {
        return Some(queries).filter(|queries| queries.rows() > 0);
    }
    let data: Vec<f32> = queries.iter().filter(fits).flatten().copied().collect();
    Matrix::new(data, queries.cols()).filter(|queries| queries.rows() > 0)
}
