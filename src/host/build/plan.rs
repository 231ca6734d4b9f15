//! What can be chosen, and what is asked for.

use super::predict::Correction;
use crate::model::Bits;

/// The choices that shape an index.
///
/// ```
/// use zhat::host::build::{Plan, Targets};
///
/// let plan = Plan { links: 0, ..Plan::default() };
/// let targets = Targets { plans: vec![plan], ..Targets::default() };
/// # assert_eq!(targets.plans[0].links, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Plan {
    /// How far the clustering metric follows the queries: 0 not at all, 1 entirely.
    pub blend: f32,
    /// Children of a node; more where thin ones give way to their leaves.
    pub branching: usize,
    /// Rows of a leaf.
    pub leaf: usize,
    /// How far the nodes' predictions follow what the queries teach.
    pub correction: Correction,
    /// Links of a row.
    pub links: usize,
    /// Whether half of the links are rows that were high together for the queries. The others are nearest neighbours.
    pub joint_links: bool,
    /// The share of the rows that have links: those that queries reach most often. Without queries all have them.
    pub linked: f32,
}

impl Default for Plan {
    /// What is used without calibration queries.
    fn default() -> Self {
        Self {
            blend: 0.0,
            branching: 32,
            leaf: 16,
            correction: Correction::None,
            links: 6,
            joint_links: false,
            linked: 1.0,
        }
    }
}

impl Plan {
    /// What is tried first with calibration queries.
    pub const TAUGHT: Self = Self {
        blend: 0.125,
        branching: 32,
        leaf: 16,
        correction: Correction::Full,
        links: 8,
        joint_links: true,
        linked: 1.0,
    };

    /// Whether the trees of both are the same.
    pub(super) fn has_the_tree_of(&self, other: &Self) -> bool {
        (self.blend, self.branching, self.leaf) == (other.blend, other.branching, other.leaf)
    }
}

/// Above this many rows fewer plans are tried.
const LARGE: usize = 100_000;

/// Children of a node and rows of a leaf: the wider the tree, the better it predicts, and the more work before the first row.
const SHAPES: [(usize, usize); 6] = [(8, 8), (16, 16), (32, 16), (32, 32), (64, 16), (64, 32)];
/// The top of the tree may take this part of the work.
const TOP_SHARE: f32 = 0.3;
/// Shapes that are tried: the widest that the work allows. The more are tried, the more often the choice is due to
/// chance.
const TRIED: usize = 2;

/// What a model is built for.
///
/// ```
/// let targets = zhat::host::build::Targets { work: 0.02, cap: 0.08, ..Default::default() };
/// # assert_eq!(targets.seed, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Targets {
    /// The most mean work, as a share of N.
    pub work: f32,
    /// The hard cap, as a share of N.
    pub cap: f32,
    /// How wide the weights of rows and nodes are in the file.
    pub bits: Bits,
    /// The share of the rows that have links, those that queries reach most often; as few as do no harm if it is left open.
    pub linked: Option<f32>,
    /// The share of calibration queries that may be taken for none of the classes.
    pub reject: f32,
    /// Whether to build an index even where scoring all rows is cheaper: to compare methods that need one.
    pub always_index: bool,
    /// The seed of everything that is random.
    pub seed: u64,
    /// The plans to try; a built-in list if there are none.
    pub plans: Vec<Plan>,
}

impl Default for Targets {
    fn default() -> Self {
        Self {
            work: 0.04,
            cap: 0.16,
            bits: Bits::default(),
            linked: None,
            reject: 0.01,
            always_index: false,
            seed: 1,
            plans: Vec::new(),
        }
    }
}

impl Targets {
    /// The plans to try, those with the same tree one after the other, what is best most often first.
    pub(crate) fn plans(&self, calibrated: bool, rows: usize) -> Vec<Plan> {
        if !self.plans.is_empty() {
            return self.plans.clone();
        }
        let top = TOP_SHARE * self.work * rows as f32;
        let fitting = SHAPES.iter().filter(|shape| shape.0 as f32 <= top).count().max(1);
        if !calibrated {
            let (branching, leaf) = SHAPES[..fitting.min(3)][fitting.min(3) - 1];
            return vec![Plan { branching, leaf, ..Plan::default() }];
        }
        // Trying takes as long as building: a large layer gets the few plans that are best most often.
        let blends: &[f32] = if rows > LARGE { &[0.125] } else { &[0.125, 0.25, 0.0] };
        let shapes = &SHAPES[fitting.saturating_sub(TRIED)..fitting];
        let mut plans = Vec::new();
        for &blend in blends {
            // That queries have no say in the metric is tried with one shape.
            for &(branching, leaf) in if blend == 0.0 { &shapes[shapes.len() - 1..] } else { shapes } {
                for correction in [Correction::Full, Correction::Shrunk, Correction::None] {
                    plans.push(Plan { blend, branching, leaf, correction, ..Plan::TAUGHT });
                }
            }
        }
        plans
    }
}
