//! The common parts of Tables 1, 2 and 3: the vectors as models with an index, and the works of our estimators.

use zhat::host::evaluate::{FloatLayer, exact};
use zhat::model::{Model, ModelBuf};

use super::result::{Data, OracleTable, Row};
use super::run::Condition;
use super::vectors::Vectors;
use super::{ReproduceError, Step, ours, today};

/// The number of queries on which the spread of the scores and the effect of int8 are measured.
const SAMPLE: usize = 500;
/// The works of our estimators, as shares of N: those of the oracle's k + l with 100 and 1000 of each, and more.
const LEAST: f32 = 0.002;
const USUAL: f32 = 0.02;
const MORE: [f32; 3] = [0.01, USUAL, 0.04];

/// Vectors, models of them, and settings.
#[derive(Clone, Debug)]
pub struct Oracles<'a> {
    /// The vectors.
    pub vectors: &'a Vectors,
    /// The file of the vectors, as the result names it.
    pub source: &'a str,
    /// The command line, as the result states it.
    pub command: &'a str,
    /// The number of seeds.
    pub seeds: u32,
    indices: &'a Indices,
}

/// Models of the same int8 rows, with an index for little work and one for more.
#[derive(Clone, Debug)]
pub struct Indices {
    narrow: ModelBuf,
    wide: ModelBuf,
}

impl Indices {
    /// Builds both models.
    ///
    /// # Errors
    /// [`ReproduceError::Build`].
    pub fn new(vectors: &Vectors, tick: &(dyn Fn(Step<'_>) + Sync)) -> Result<Self, ReproduceError> {
        let build = |done: usize, work: f32| {
            tick(Step { what: "building the indices", done, of: 2 });
            vectors.model(work)
        };
        Ok(Self { narrow: build(0, LEAST)?, wide: build(1, USUAL)? })
    }
}

impl<'a> Oracles<'a> {
    /// Collects the data and settings of a table.
    ///
    /// # Errors
    /// [`ReproduceError::Setting`] if `seeds` is zero.
    pub fn new(
        vectors: &'a Vectors,
        indices: &'a Indices,
        source: &'a str,
        command: &'a str,
        seeds: u32,
    ) -> Result<Self, ReproduceError> {
        if seeds == 0 {
            return Err(ReproduceError::Setting("at least one seed is needed".into()));
        }
        Ok(Self { vectors, source, command, seeds, indices })
    }

    /// Returns the model whose rows the oracle scores.
    pub fn file(&self) -> &ModelBuf {
        &self.indices.wide
    }

    pub fn model(&self) -> Model<'_> {
        self.indices.wide.model()
    }

    /// Computes the rows of our estimators, with the work of the oracle's, and optionally with further works.
    pub fn ours(&self, conditions: &[&Condition], more: bool) -> Result<Vec<Row>, ReproduceError> {
        let wide: &[f32] = if more { &MORE } else { &[USUAL] };
        ours::rows(&[(&self.indices.narrow, &[LEAST]), (&self.indices.wide, wide)], conditions, self.seeds)
    }

    /// Makes the table, and measures the properties of the data on a part of the queries.
    pub fn table(&self, condition: &Condition, conditions: Vec<String>, rows: Vec<Row>) -> OracleTable {
        let asked = condition.of_seed(0);
        let queries = &asked.queries;
        let step = queries.rows().div_ceil(SAMPLE);
        let picked: Vec<u32> = (0..queries.rows() as u32).step_by(step).collect();
        let biases = vec![0.0; self.vectors.rows.rows()];
        let layer = FloatLayer { weights: &self.vectors.rows, biases: &biases, temperature: 1.0 };
        let sample = queries.reordered(&picked);
        let float = exact(&layer, sample.data(), sample.cols(), 0);
        let count = picked.len() as f64;
        let shift = |(&at, float): (&u32, &zhat::host::evaluate::Exact)| {
            super::tally::relative_error(asked.truths[at as usize], float.log_z)
        };
        let data = Data {
            source: self.source.into(),
            rows: self.vectors.rows.rows(),
            dim: self.vectors.rows.cols(),
            scale: self.vectors.scale,
            queries: queries.rows(),
            seeds: self.seeds,
            spread: float.iter().map(|float| f64::from(float.spread)).sum::<f64>() / count,
            top_p: condition.top_p(),
            quantisation: picked.iter().zip(&float).map(shift).sum::<f64>() / count,
        };
        OracleTable { date: today(), command: self.command.into(), data, conditions, rows }
    }
}
