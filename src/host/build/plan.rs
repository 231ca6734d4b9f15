//! What can be chosen, and what is asked for.

/// The choices that shape an index.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
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

/// Children of a node and rows of a leaf: the wider the tree, the better it predicts, and the more work before the first row.
const SHAPES: [(usize, usize); 6] = [(8, 8), (16, 16), (32, 16), (32, 32), (64, 16), (64, 32)];
/// The top of the tree may take this part of the work.
const TOP_SHARE: f32 = 0.25;
/// Shapes that are tried: the widest that the work allows. Narrower ones were not better, and the more are tried, the more
/// often the luck of the queries chooses.
const TRIED: usize = 2;

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
        let top = TOP_SHARE * self.work * rows as f32;
        let fitting = SHAPES.iter().filter(|shape| shape.0 as f32 <= top).count().max(1);
        // Trying takes as long as building: a large layer gets the few plans that are best most often.
        let blends: &[f32] = if rows > LARGE { &[0.25] } else { &[0.125, 0.25] };
        let shapes = &SHAPES[fitting.saturating_sub(TRIED)..fitting];
        let mut plans = Vec::new();
        for &blend in blends {
            for &(branching, leaf) in shapes {
                plans.push(Plan { blend, branching, leaf, learn: true, links: 8 });
            }
        }
        plans
    }
}
