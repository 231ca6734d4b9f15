//! The estimators of the tables, each with its parameters, asked through the library's own functions.

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::estimators::{self, Oracle, RetrievalError};
use crate::host::measure::{self, HostScratch};
use crate::math::Log2;
use crate::model::{Budget, Model};

/// An estimator of Z with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// l uniform samples.
    Uniform {
        /// Samples.
        l: usize,
    },
    /// An oracle's k best rows and l samples of the rest.
    Mimps {
        /// Rows of the head.
        k: usize,
        /// Samples.
        l: usize,
    },
    /// An oracle's k best rows as data and l samples as noise.
    Mince {
        /// Rows of the head.
        k: usize,
        /// Samples.
        l: usize,
    },
    /// The default: search and predictions, at most `cap` dot products.
    Moments {
        /// The cap.
        cap: u32,
    },
    /// The same with a quarter of the cap spent on samples.
    MomentsAndSamples {
        /// The cap.
        cap: u32,
    },
}

/// What it said about a query.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// ln Ẑ.
    pub log_z: f32,
    /// Dot products.
    pub work: u32,
    /// Whether the best class was found; nothing from methods that do not look for it themselves.
    pub hit: Option<bool>,
}

impl Estimator {
    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform { .. } => "Uniform",
            Self::Mimps { .. } => "MIMPS",
            Self::Mince { .. } => "MINCE",
            Self::Moments { .. } => "Moments",
            Self::MomentsAndSamples { .. } => "Moments + samples",
        }
    }

    /// k and l, where it has them.
    pub const fn sizes(self) -> (Option<usize>, Option<usize>) {
        match self {
            Self::Uniform { l } => (None, Some(l)),
            Self::Mimps { k, l } | Self::Mince { k, l } => (Some(k), Some(l)),
            Self::Moments { .. } => (None, None),
            Self::MomentsAndSamples { cap } => (None, Some(cap as usize / 4)),
        }
    }

    /// Whether the answer depends on a seed.
    pub const fn is_random(self) -> bool {
        !matches!(self, Self::Moments { .. })
    }

    /// Whether it is one of the paper's.
    pub const fn is_papers(self) -> bool {
        matches!(self, Self::Uniform { .. } | Self::Mimps { .. } | Self::Mince { .. })
    }

    /// Whether it starts from an oracle's head, so that a retrieval that misses changes it.
    pub const fn has_head(self) -> bool {
        matches!(self, Self::Mimps { .. } | Self::Mince { .. })
    }
}

/// One thread's memory.
pub struct Memory {
    pub(super) scratch: HostScratch,
    noise: Vec<Log2>,
}

impl Memory {
    /// Memory for a model.
    pub fn new(model: &Model<'_>) -> Self {
        Self { scratch: HostScratch::new(model), noise: vec![Log2::default(); model.classes()] }
    }
}

/// Asks an estimator about the query in the memory.
pub fn ask(
    estimator: Estimator,
    model: &Model<'_>,
    oracle: &Oracle,
    misses: RetrievalError,
    seed: u64,
    memory: &mut Memory,
) -> Result<Answer, Error> {
    let Memory { scratch, noise } = memory;
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    // At the file's settings, but for the cap.
    let stored = model.settings().map_or(Budget { cap: 0, epsilon: 0.0, expand: 0 }, |settings| settings.budget);
    if let Estimator::Moments { cap } = estimator {
        let found = measure::classify::<1>(model, &Budget { cap, ..stored }, scratch)?;
        let score = |ranked: Option<Log2>| ranked.unwrap_or(Log2::MIN);
        let hit = score(found.top.first().map(|top| top.score)) >= score(oracle.best().map(|best| best.score));
        return Ok(Answer { log_z: found.log_z(), work: found.work.row_equivalents(), hit: Some(hit) });
    }
    let HostScratch { query, memory } = scratch;
    let query = &**query;
    let estimate = match estimator {
        Estimator::Uniform { l } => estimators::uniform(model, query, l, &mut rng, memory)?,
        Estimator::Mimps { k, l } => {
            estimators::mimps(model, query, l, &oracle.head(k, misses).head(), &mut rng, memory)?
        }
        Estimator::Mince { k, l } => {
            estimators::mince(model, query, l, &oracle.head(k, misses).head(), &mut rng, memory, noise)?
        }
        Estimator::Moments { cap } | Estimator::MomentsAndSamples { cap } => {
            let budget = Budget { cap, ..stored };
            estimators::moments_with_samples(model, query, &budget, cap as usize / 4, memory, &mut rng)?
        }
    };
    Ok(Answer { log_z: estimate.log_z(), work: estimate.work.row_equivalents(), hit: None })
}
