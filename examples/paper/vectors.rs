//! Word vectors as a layer: every vector is a row, and some of them are the queries.
//!
//! Queries are taken at equal steps over all rows, from frequent words to rare ones. An index is tuned on vectors
//! between them, so that it never sees a query. All vectors are multiplied by one scale, which sets the spread of the
//! scores v·q and so the difficulty of Z.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use zhat::host::Matrix;
use zhat::host::build::{Correction, Plan, Targets, build};
use zhat::host::input::NamedMatrix;
use zhat::model::ModelBuf;

use super::ReproduceError;
use super::linear;

/// The children of a node and the rows of a leaf, in shapes for less work than the narrowest of the builder's own
/// allows.
const NARROW: [(usize, usize); 2] = [(16, 16), (8, 8)];
/// The share of N below which these narrow shapes are used.
const LITTLE_WORK: f32 = 0.005;
/// The smallest number of row-equivalents for which a search is built.
pub const LEAST_ROWS: f32 = 120.0;
/// The most vectors that an index is tuned on.
const CALIBRATION: usize = 5000;

/// Vectors at the scale of an experiment.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// The rows.
    pub rows: Matrix,
    /// Their words, if the file had any.
    pub names: Option<Vec<String>>,
    /// The scale that they were multiplied with.
    pub scale: f32,
    queries: Vec<u32>,
}

impl Vectors {
    /// Scales the vectors and picks `queries` of them.
    ///
    /// # Errors
    /// [`ReproduceError::Setting`] if there are too few vectors for the queries and for tuning.
    pub fn new(named: NamedMatrix, scale: f32, queries: usize) -> Result<Self, ReproduceError> {
        let n = named.matrix.rows();
        if !(scale.is_finite() && scale > 0.0) {
            return Err(ReproduceError::Setting(format!("the scale is {scale}, which is not above zero")));
        }
        if queries == 0 || 2 * queries > n {
            let text = format!("{queries} queries of {n} vectors: 1 to {} are possible", n / 2);
            return Err(ReproduceError::Setting(text));
        }
        let cols = named.matrix.cols();
        let data = named.matrix.data().iter().map(|value| value * scale).collect();
        let rows = Matrix::new(data, cols).expect("whole rows");
        let queries = (0..queries).map(|i| (i * n / queries) as u32).collect();
        Ok(Self { rows, names: named.names, scale, queries })
    }

    /// Returns the queries.
    pub fn queries(&self) -> Matrix {
        self.rows.reordered(&self.queries)
    }

    /// Returns the queries with noise in a random direction, with this share of each query's norm.
    ///
    /// ```text
    /// q′ = q + share·‖q‖·g/‖g‖        g Gaussian
    /// ```
    pub fn noisy_queries(&self, share: f32, seed: u64) -> Matrix {
        let cols = self.rows.cols();
        let mut data = Vec::with_capacity(self.queries.len() * cols);
        for &row in &self.queries {
            let query = self.rows.row(row as usize);
            let mut rng = Pcg64Mcg::seed_from_u64(seed ^ (u64::from(row) << 20));
            let direction: Vec<f32> = (0..cols).map(|_| gaussian(&mut rng)).collect();
            let norm = |x: &[f32]| linear::dot(x, x).sqrt();
            let step = share * norm(query) / norm(&direction).max(f32::MIN_POSITIVE);
            data.extend(query.iter().zip(&direction).map(|(q, g)| q + step * g));
        }
        Matrix::new(data, cols).expect("whole rows")
    }

    /// Returns the vectors to tune on: those right after queries.
    fn calibration(&self) -> Matrix {
        let step = self.queries.len().div_ceil(CALIBRATION);
        // Two queries are at least two rows apart.
        let between: Vec<u32> = self.queries.iter().step_by(step).map(|row| row + 1).collect();
        self.rows.reordered(&between)
    }

    /// Builds a model file of the rows, without biases, with the index that the builder finds best for this work, a
    /// share of N. Tunes on vectors that are no queries.
    ///
    /// # Errors
    /// [`ReproduceError::Build`].
    pub fn model(&self, work: f32) -> Result<ModelBuf, ReproduceError> {
        let biases = vec![0.0; self.rows.rows()];
        // A small set of vectors needs more, or there is no search.
        let work = work.max(LEAST_ROWS / self.rows.rows() as f32).min(1.0);
        let plans = if work < LITTLE_WORK { narrow_plans() } else { Vec::new() };
        let targets = Targets { work, cap: work, always_index: true, plans, ..Targets::default() };
        Ok(build(&self.rows, &biases, Some(&self.calibration()), &targets, &mut |_| {})?.model)
    }
}

/// Lists plans with corrections by queries and without.
fn narrow_plans() -> Vec<Plan> {
    let plan = |(branching, leaf), correction| Plan { branching, leaf, correction, ..Plan::TAUGHT };
    let corrections = [Correction::Full, Correction::None];
    NARROW.into_iter().flat_map(|shape| corrections.map(|correction| plan(shape, correction))).collect()
}

/// Draws a nearly normal number, good enough for a direction: the sum of twelve uniform ones (Irwin and Hall).
fn gaussian(rng: &mut impl Rng) -> f32 {
    (0..12).map(|_| (rng.next_u32() >> 8) as f32 / (1 << 24) as f32).sum::<f32>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(n: usize, queries: usize) -> Result<Vectors, ReproduceError> {
        let data = (0..n * 8).map(|i| ((i * 7919 % 1013) as f32 - 506.0) / 506.0).collect();
        Vectors::new(NamedMatrix { matrix: Matrix::new(data, 8).expect("whole rows"), names: None }, 0.5, queries)
    }

    #[test]
    fn noise_has_the_share_of_the_norm_that_was_asked_for() {
        let vectors = vectors(100, 20).unwrap();
        let queries = vectors.queries();
        assert_eq!(vectors.noisy_queries(0.0, 1), queries);
        let noisy = vectors.noisy_queries(0.3, 1);
        for (query, noisy) in queries.iter().zip(noisy.iter()) {
            let difference: Vec<f32> = noisy.iter().zip(query).map(|(a, b)| a - b).collect();
            let share = (linear::dot(&difference, &difference) / linear::dot(query, query)).sqrt();
            assert!((share - 0.3).abs() < 1e-3, "{share}");
        }
        assert_ne!(noisy, vectors.noisy_queries(0.3, 2));
    }

    #[test]
    fn no_query_is_tuned_on() {
        let vectors = vectors(100, 50).unwrap();
        let (queries, calibration) = (vectors.queries(), vectors.calibration());
        assert_eq!((queries.rows(), calibration.rows()), (50, 50));
        assert!(calibration.iter().all(|row| queries.iter().all(|query| query != row)));
    }

    #[test]
    fn counts_and_scales_without_meaning_are_refused() {
        for queries in [0, 51] {
            let message = vectors(100, queries).unwrap_err().to_string();
            assert!(message.ends_with("queries of 100 vectors: 1 to 50 are possible"), "{message}");
        }
        let one = NamedMatrix { matrix: Matrix::new(vec![1.0; 8], 2).expect("whole rows"), names: None };
        assert!(Vectors::new(one, f32::NAN, 1).is_err());
    }
}
