//! The estimators of the tables that start from an oracle, each with its parameters, run through the library's own
//! functions.

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use zhat::estimators::{self, Estimate, Oracle, RetrievalError};
use zhat::model::Model;
use zhat::{Error, Log2};

use super::power_law;
use super::scratch::HostScratch;

/// An estimator of Z with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimator {
    /// l uniform samples.
    Uniform {
        /// Samples.
        l: usize,
    },
    /// An oracle's k best rows and l samples of the rest.
    Mimps {
        /// The number of rows in the head.
        k: usize,
        /// The number of samples.
        l: usize,
    },
    /// An oracle's k best rows as data and l samples as noise.
    Mince {
        /// The number of rows in the head.
        k: usize,
        /// The number of samples.
        l: usize,
    },
    /// MINCE by Newton's method.
    MinceByNewton {
        /// The number of rows in the head.
        k: usize,
        /// The number of samples.
        l: usize,
    },
    /// An oracle's k best rows and a power law fitted to them.
    PowerLaw {
        /// The number of rows in the head.
        k: usize,
    },
}

/// An estimator, the rows that the retrieval misses, and whether samples exclude them as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    pub estimator: Estimator,
    pub misses: RetrievalError,
    pub gone: bool,
}

impl From<Estimator> for Question {
    fn from(estimator: Estimator) -> Self {
        Self { estimator, misses: RetrievalError::None, gone: false }
    }
}

/// An estimator's answer to one query.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// ln Ẑ.
    pub log_z: f32,
    /// The number of dot products.
    pub work: u32,
    /// The number of steps of the solver.
    pub steps: Option<u32>,
}

impl Estimator {
    /// Returns the name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform { .. } => "Uniform",
            Self::Mimps { .. } => "MIMPS",
            Self::Mince { .. } => "MINCE",
            Self::MinceByNewton { .. } => "MINCE by Newton's method",
            Self::PowerLaw { .. } => "MIMPS, power-law tail",
        }
    }

    /// Returns k and l, if the estimator has them.
    pub const fn sizes(self) -> (Option<usize>, Option<usize>) {
        match self {
            Self::Uniform { l } => (None, Some(l)),
            Self::Mimps { k, l } | Self::Mince { k, l } | Self::MinceByNewton { k, l } => (Some(k), Some(l)),
            Self::PowerLaw { k } => (Some(k), None),
        }
    }

    /// Returns true if the answer depends on a seed.
    pub const fn is_random(self) -> bool {
        !matches!(self, Self::PowerLaw { .. })
    }

    /// Returns true if the estimator is one of the paper's.
    pub const fn is_papers(self) -> bool {
        matches!(self, Self::Uniform { .. } | Self::Mimps { .. } | Self::Mince { .. })
    }
}

/// The memory of one thread.
pub struct Memory {
    pub scratch: HostScratch,
    noise: Vec<Log2>,
}

impl Memory {
    /// Allocates the memory for a model.
    pub fn new(model: &Model<'_>) -> Self {
        Self { scratch: HostScratch::new(model), noise: vec![Log2::default(); model.classes()] }
    }
}

/// Runs an estimator on the query in the memory.
pub fn ask(
    question: Question,
    model: &Model<'_>,
    oracle: &Oracle,
    seed: u64,
    memory: &mut Memory,
) -> Result<Answer, Error> {
    let Memory { scratch: HostScratch { query, memory }, noise } = memory;
    let query = &**query;
    let rng = &mut Pcg64Mcg::seed_from_u64(seed);
    let Question { estimator, misses, gone } = question;
    let head = |k: usize| if gone { oracle.head_without_missed(k, misses) } else { oracle.head(k, misses) };
    let plain = |found: Estimate| Answer { log_z: found.log_z(), work: found.work.row_equivalents(), steps: None };
    let solved = |found: Estimate| Answer { steps: Some(found.iterations), ..plain(found) };
    Ok(match estimator {
        Estimator::Uniform { l } => plain(estimators::uniform(model, query, l, rng, memory)?),
        Estimator::Mimps { k, l } => plain(estimators::mimps(model, query, l, &head(k).head(), rng, memory)?),
        Estimator::Mince { k, l } => solved(estimators::mince(model, query, l, &head(k).head(), rng, memory, noise)?),
        Estimator::MinceByNewton { k, l } => {
            solved(estimators::mince_by_newton(model, query, l, &head(k).head(), rng, memory, noise)?)
        }
        Estimator::PowerLaw { k } => {
            let head = head(k);
            let scores: Vec<f32> = head.head().candidates().iter().map(|candidate| candidate.score.to_nats()).collect();
            Answer { log_z: power_law::log_z(&scores, model.classes()), work: scores.len() as u32, steps: None }
        }
    })
}
