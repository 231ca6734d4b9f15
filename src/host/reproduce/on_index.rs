//! Estimators on a real index: Z = 1, MIMPS with a head that the index finds, and ours.

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::estimators::head::retrieve_into;
use crate::estimators::{Candidate, Estimate, mimps, moments_with_samples, self_normalised};
use crate::host::measure::{self, HostScratch};
use crate::model::{Budget, Model};
use crate::tree::Tree;

/// The paper's k and l.
const HEADS: [usize; 3] = [10, 50, 100];
const SAMPLES: [usize; 2] = [10, 100];
/// The works of our rows, as shares of N.
const SHARES: [f32; 4] = [0.01, 0.02, 0.04, 0.08];

/// An estimator of Table 4.
#[derive(Clone, Copy)]
pub enum Asked {
    One,
    Mimps { k: usize, l: usize },
    Moments { cap: u32 },
    MomentsAndSamples { cap: u32 },
}

impl Asked {
    /// Whether the answer depends on a seed.
    pub fn is_random(self) -> bool {
        matches!(self, Self::Mimps { .. } | Self::MomentsAndSamples { .. })
    }

    /// Its name, whether it is not the paper's, k and l.
    pub fn described(self) -> (&'static str, bool, Option<usize>, Option<usize>) {
        match self {
            Self::One => ("Z = 1", false, None, None),
            Self::Mimps { k, l } => ("MIMPS", false, Some(k), Some(l)),
            Self::Moments { .. } => ("Moments", true, None, None),
            Self::MomentsAndSamples { cap } => ("Moments + samples", true, None, Some(cap as usize / 4)),
        }
    }
}

/// All of them.
pub fn all(model: &Model<'_>) -> Vec<Asked> {
    let least = model.tree().map_or(1, Tree::least_cap);
    let cap = |share: f32, least: usize| ((share * model.classes() as f32) as usize).max(least) as u32;
    let mut asked = vec![Asked::One];
    asked.extend(HEADS.into_iter().flat_map(|k| SAMPLES.map(|l| Asked::Mimps { k, l })));
    asked.extend(SHARES.map(|share| Asked::Moments { cap: cap(share, least) }));
    asked.extend(SHARES.map(|share| Asked::MomentsAndSamples { cap: cap(share, 2 * least) }));
    asked
}

/// ln Ẑ and what it took.
pub fn ask(asked: Asked, model: &Model<'_>, seed: u64, scratch: &mut HostScratch) -> Result<(f32, u32), crate::Error> {
    let stored = model.settings().map_or(Budget { cap: 0, epsilon: 0.0, expand: 0 }, |settings| settings.budget);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let estimate = match asked {
        Asked::One => self_normalised(),
        Asked::Mimps { k: 10, l } => on_tree::<10>(model, &stored, l, scratch, &mut rng)?,
        Asked::Mimps { k: 50, l } => on_tree::<50>(model, &stored, l, scratch, &mut rng)?,
        Asked::Mimps { l, .. } => on_tree::<100>(model, &stored, l, scratch, &mut rng)?,
        Asked::Moments { cap } => {
            let found = measure::classify::<1>(model, &Budget { cap, ..stored }, scratch)?;
            return Ok((found.log_z(), found.work.row_equivalents()));
        }
        Asked::MomentsAndSamples { cap } => {
            let HostScratch { query, memory } = scratch;
            moments_with_samples(model, query, &Budget { cap, ..stored }, cap as usize / 4, memory, &mut rng)?
        }
    };
    Ok((estimate.log_z(), estimate.work.row_equivalents()))
}

/// MIMPS with a head from the index: the search may spend 4·K dot products, and no less than the index is tuned for.
fn on_tree<const K: usize>(
    model: &Model<'_>,
    stored: &Budget,
    l: usize,
    scratch: &mut HostScratch,
    rng: &mut Pcg64Mcg,
) -> Result<Estimate, crate::Error> {
    let HostScratch { query, memory } = scratch;
    let budget = Budget { cap: stored.cap.max(4 * K as u32), ..*stored };
    let (mut candidates, mut rows) = (heapless::Vec::<Candidate, K>::new(), heapless::Vec::<u32, K>::new());
    let head = retrieve_into(model, query, &budget, memory, &mut candidates, &mut rows)?;
    mimps(model, query, l, &head, rng, memory)
}
