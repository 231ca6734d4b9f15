//! What Tables 1, 2 and 3 share: the vectors as a model with an index, and the work of our own rows.

use super::estimator::Estimator;
use super::result::{Data, OracleTable, Row};
use super::vectors::Vectors;
use super::{ReproduceError, Step, today};
use crate::host::evaluate::{FloatLayer, exact};
use crate::model::ModelBuf;
use crate::tree::Tree;

/// Queries that the spread of the scores and the effect of int8 are measured on.
const SAMPLE: usize = 500;

/// Vectors, a model of them, and settings.
#[derive(Clone, Debug)]
pub struct Oracles<'a> {
    /// The vectors.
    pub vectors: &'a Vectors,
    /// The file they came from, as it is named in the result.
    pub source: &'a str,
    /// The command line, as it is named in the result.
    pub command: &'a str,
    /// Seeds of everything that is drawn.
    pub seeds: u32,
    /// The model, which [`Oracles::new`] builds.
    pub(super) file: ModelBuf,
}

impl<'a> Oracles<'a> {
    /// Builds the model.
    ///
    /// # Errors
    /// [`ReproduceError`].
    pub fn new(
        vectors: &'a Vectors,
        source: &'a str,
        command: &'a str,
        seeds: u32,
        tick: &(dyn Fn(Step<'_>) + Sync),
    ) -> Result<Self, ReproduceError> {
        if seeds == 0 {
            return Err(ReproduceError::Setting("at least one seed is needed".into()));
        }
        tick(Step { what: "building the index", done: 0, of: 1 });
        Ok(Self { vectors, source, command, seeds, file: vectors.model(1)? })
    }

    /// Our rows at these shares of N, or at the least that the tree allows.
    pub(super) fn ours(&self, shares: &[f32]) -> Vec<Estimator> {
        let model = self.file.model();
        let least = model.tree().map_or(1, Tree::least_cap);
        let cap = |share: f32, least: usize| ((share * model.classes() as f32) as usize).max(least) as u32;
        let moments = shares.iter().map(|&share| Estimator::Moments { cap: cap(share, least) });
        // A quarter of the cap is spent on samples, so that the rest has to be enough for a class.
        let samples = shares.iter().map(|&share| Estimator::MomentsAndSamples { cap: cap(share, 2 * least) });
        moments.chain(samples).collect()
    }

    /// The table, with what the data is like measured on a part of the queries.
    pub(super) fn table(&self, truths: &[f32], top_p: f64, conditions: Vec<String>, rows: Vec<Row>) -> OracleTable {
        let queries = self.vectors.queries();
        let step = queries.rows().div_ceil(SAMPLE);
        let picked: Vec<u32> = (0..queries.rows() as u32).step_by(step).collect();
        let biases = vec![0.0; self.vectors.rows.rows()];
        let layer = FloatLayer { weights: &self.vectors.rows, biases: &biases, temperature: 1.0 };
        let sample = queries.reordered(&picked);
        let float = exact(&layer, sample.data(), sample.cols(), 0);
        let count = picked.len() as f64;
        let shift = |(&at, float): (&u32, &crate::host::evaluate::Exact)| {
            super::tally::relative_error(truths[at as usize], float.log_z)
        };
        let data = Data {
            source: self.source.into(),
            rows: self.vectors.rows.rows(),
            dim: self.vectors.rows.cols(),
            scale: self.vectors.scale,
            queries: queries.rows(),
            seeds: self.seeds,
            spread: float.iter().map(|float| f64::from(float.spread)).sum::<f64>() / count,
            top_p,
            quantisation: picked.iter().zip(&float).map(shift).sum::<f64>() / count,
        };
        OracleTable { date: today(), command: self.command.into(), data, conditions, rows }
    }
}
