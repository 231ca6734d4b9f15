//! Runs estimators on a real index: Z = 1, MIMPS with a head from the paper's retrieval or ours, and our own.

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use zhat::estimators::{Candidate, Head, HeadBuffer, mimps, moments_with_samples, retrieve, self_normalised};
use zhat::internal::Tree;
use zhat::model::{Budget, Model};

use super::k_means_tree::{self, KMeansTree};
use super::scratch::HostScratch;

/// The paper's k and l.
const HEADS: [usize; 3] = [10, 50, 100];
const SAMPLES: [usize; 2] = [10, 100];
/// The largest head.
pub const MOST: usize = HEADS[2];
/// The works of our rows, as shares of N.
const SHARES: [f32; 4] = [0.01, 0.02, 0.04, 0.08];

/// The retrieval of a head.
#[derive(Clone, Copy)]
pub enum Retrieval {
    /// The paper's retrieval, with this many checks.
    KMeansTree { checks: usize },
    /// Our index, within a cap.
    Ours { cap: u32 },
}

/// An estimator of Table 4.
#[derive(Clone, Copy)]
pub enum Asked {
    One,
    Mimps { k: usize, l: usize, retrieval: Retrieval },
    Moments { cap: u32 },
    MomentsAndSamples { cap: u32 },
}

impl Asked {
    /// Returns true if the answer depends on a seed.
    pub fn is_random(self) -> bool {
        matches!(self, Self::Mimps { .. } | Self::MomentsAndSamples { .. })
    }

    /// Returns the name, true if the estimator is not the paper's, k and l.
    pub fn described(self) -> (&'static str, bool, Option<usize>, Option<usize>) {
        match self {
            Self::One => ("Z = 1", false, None, None),
            Self::Mimps { k, l, retrieval: Retrieval::KMeansTree { .. } } => ("MIMPS", false, Some(k), Some(l)),
            Self::Mimps { k, l, retrieval: Retrieval::Ours { .. } } => ("MIMPS, our index", true, Some(k), Some(l)),
            Self::Moments { .. } => ("Moments", true, None, None),
            Self::MomentsAndSamples { cap } => ("Moments + samples", true, None, Some(cap as usize / 4)),
        }
    }
}

/// Lists all estimators. The search of our index may take as many dot products as the paper's retrieval does on
/// average.
pub fn all(model: &Model<'_>, checks: usize, work: u32) -> Vec<Asked> {
    let least = model.tree().map_or(1, Tree::least_cap);
    let cap = |share: f32, least: usize| ((share * model.classes() as f32) as usize).max(least) as u32;
    let mut asked = vec![Asked::One];
    for retrieval in [Retrieval::KMeansTree { checks }, Retrieval::Ours { cap: work.max(least as u32) }] {
        asked.extend(HEADS.into_iter().flat_map(|k| SAMPLES.map(|l| Asked::Mimps { k, l, retrieval })));
    }
    // Shares below what the tree needs become equal.
    let caps = |least: usize| {
        let mut caps = SHARES.map(|share| cap(share, least)).to_vec();
        caps.dedup();
        caps
    };
    asked.extend(caps(least).into_iter().map(|cap| Asked::Moments { cap }));
    asked.extend(caps(2 * least).into_iter().map(|cap| Asked::MomentsAndSamples { cap }));
    asked
}

/// The indices, and memory for searches in them.
pub struct Indices<'a> {
    pub model: Model<'a>,
    pub tree: &'a KMeansTree,
    pub scratch: HostScratch,
    pub memory: k_means_tree::Memory,
}

impl<'a> Indices<'a> {
    pub fn new(model: Model<'a>, tree: &'a KMeansTree) -> Self {
        let (scratch, memory) = (HostScratch::new(&model), tree.memory());
        Self { model, tree, scratch, memory }
    }

    fn stored(&self) -> Budget {
        self.model.settings().map_or(Budget::new(0), |settings| settings.budget)
    }

    /// Calls `then` with a head for the query in the scratch memory, which was quantised from `values`.
    fn with_head<T>(
        &mut self,
        (k, retrieval): (usize, Retrieval),
        values: &[f32],
        then: impl FnOnce(&Model<'_>, &Head<'_>, &mut HostScratch) -> Result<T, zhat::Error>,
    ) -> Result<T, zhat::Error> {
        let budget = self.stored();
        match retrieval {
            Retrieval::KMeansTree { checks } => {
                let Self { model, tree, scratch, memory } = self;
                let head = tree.search(model, &scratch.query, values, (k, checks), memory)?;
                then(model, &head, scratch)
            }
            Retrieval::Ours { cap } => {
                let budget = budget.with_cap(cap);
                match k {
                    0..=10 => self.with_own_head::<10, T>(&budget, then),
                    11..=50 => self.with_own_head::<50, T>(&budget, then),
                    _ => self.with_own_head::<100, T>(&budget, then),
                }
            }
        }
    }

    fn with_own_head<const K: usize, T>(
        &mut self,
        budget: &Budget,
        then: impl FnOnce(&Model<'_>, &Head<'_>, &mut HostScratch) -> Result<T, zhat::Error>,
    ) -> Result<T, zhat::Error> {
        let mut buffer = HeadBuffer::<K>::new();
        let HostScratch { query, memory } = &mut self.scratch;
        let head = retrieve(&self.model, query, budget, memory, &mut buffer)?;
        then(&self.model, &head, &mut self.scratch)
    }

    /// Runs an estimator; returns ln Ẑ and the work.
    pub fn ask(&mut self, asked: Asked, values: &[f32], seed: u64) -> Result<(f32, u32), zhat::Error> {
        let rng = &mut Pcg64Mcg::seed_from_u64(seed);
        let budget = self.stored();
        let estimate = match asked {
            Asked::One => self_normalised(),
            Asked::Mimps { k, l, retrieval } => self.with_head((k, retrieval), values, |model, head, scratch| {
                mimps(model, &scratch.query, l, head, rng, &mut scratch.memory)
            })?,
            Asked::Moments { cap } => {
                let found = self.scratch.classify(&self.model, budget.with_cap(cap))?;
                return Ok((found.log_z(), found.work.row_equivalents()));
            }
            Asked::MomentsAndSamples { cap } => {
                let HostScratch { query, memory } = &mut self.scratch;
                moments_with_samples(&self.model, query, &budget.with_cap(cap), cap as usize / 4, memory, rng)?
            }
        };
        Ok((estimate.log_z(), estimate.work.row_equivalents()))
    }

    /// Returns the share of the best classes that are in the head; `None` if the estimator has no head.
    pub fn recall(&mut self, asked: Asked, values: &[f32], best: &[Candidate]) -> Result<Option<f64>, zhat::Error> {
        let Asked::Mimps { k, retrieval, .. } = asked else { return Ok(None) };
        let best = &best[..k.min(best.len())];
        self.with_head((k, retrieval), values, |_, head, _| {
            let found = |class: u32| head.candidates().iter().any(|candidate| candidate.class == class);
            Ok(Some(best.iter().filter(|candidate| found(candidate.class)).count() as f64 / best.len().max(1) as f64))
        })
    }
}
