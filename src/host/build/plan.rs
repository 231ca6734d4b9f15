//! What can be chosen, and what is asked for.

/// The choices that shape an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How far the clustering metric follows the queries: 0 not at all, 1 entirely.
    pub blend: f32,
    /// Children of a node; more where thin ones give way to their leaves.
    pub branching: usize,
    /// Rows of a leaf.
    pub leaf: usize,
    /// Whether the nodes' predictions are corrected by what the queries teach.
    pub learn: bool,
    /// Links of a row.
    pub links: usize,
}

impl Default for Plan {
    /// What is used without calibration queries.
    fn default() -> Self {
        Self { blend: 0.0, branching: 32, leaf: 16, learn: false, links: 6 }
    }
}

/// Above so many rows fewer plans are tried.
const LARGE: usize = 100_000;

/// What a model is built for.
#[derive(Clone, Debug)]
pub struct Targets {
    /// Mean work to aim for, as a share of N.
    pub work: f32,
    /// The hard cap, as a share of N.
    pub cap: f32,
    /// The seed of everything that is random.
    pub seed: u64,
    /// The plans to try; a built-in list if there are none.
    pub plans: Vec<Plan>,
}

impl Default for Targets {
    fn default() -> Self {
        Self { work: 0.04, cap: 0.16, seed: 1, plans: Vec::new() }
    }
}

impl Targets {
    pub(crate) fn plans(&self, calibrated: bool, rows: usize) -> Vec<Plan> {
        if !self.plans.is_empty() {
            return self.plans.clone();
        }
        if !calibrated {
            return vec![Plan::default()];
        }
        // Trying takes as long as building: a large layer gets the few shapes that are best most often.
        let (blends, shapes): (&[f32], &[(usize, usize)]) = if rows > LARGE {
            (&[0.25], &[(16, 16), (32, 16)])
        } else {
            (&[0.125, 0.25], &[(8, 8), (16, 16), (32, 16)])
        };
        let mut plans = Vec::new();
        for &blend in blends {
            for &(branching, leaf) in shapes {
                plans.push(Plan { blend, branching, leaf, learn: true, links: 8 });
            }
        }
        plans
    }
}
