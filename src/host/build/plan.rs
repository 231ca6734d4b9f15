//! What can be chosen, and what is asked for.

use super::Tunables;
use super::tunables::{LARGE, SHAPES};
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
    /// True if half of the links are rows that were high together for the queries. The others are nearest neighbours.
    pub joint_links: bool,
    /// The share of the rows that have links: those that queries reach most often. Without queries all have them.
    pub linked: f32,
}

impl Default for Plan {
    /// Returns the plan that is used without calibration queries.
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
    /// The plan that is tried first with calibration queries.
    pub const TAUGHT: Self = Self {
        blend: 0.25,
        branching: 32,
        leaf: 16,
        correction: Correction::Full,
        links: 8,
        joint_links: true,
        linked: 1.0,
    };

    /// Returns whether the trees of both are the same.
    pub(super) fn has_the_tree_of(&self, other: &Self) -> bool {
        (self.blend, self.branching, self.leaf) == (other.blend, other.branching, other.leaf)
    }
}

/// How far the nodes' predictions follow what the queries teach.
///
/// ```
/// use zhat::host::build::{Correction, Plan};
///
/// assert_eq!(Plan::default().correction, Correction::None);
/// assert_eq!(Plan::TAUGHT.correction, Correction::Full);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Correction {
    /// Not at all.
    None,
    /// All the way.
    Full,
}

/// Holds what a model is built for.
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
    /// The most of the queries to come that may be taken for none of the classes, as a share.
    pub reject: f32,
    /// Builds an index even where scoring all rows is cheaper: to compare methods that need one.
    pub always_index: bool,
    /// The seed of everything that is random.
    pub seed: u64,
    /// The plans to try; a built-in list if there are none.
    pub plans: Vec<Plan>,
    /// The numbers that the builder is tuned by: for experiments.
    pub tunables: Tunables,
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
            tunables: Tunables::default(),
        }
    }
}

impl Targets {
    /// Returns the plans to try, those with the same tree one after the other. The first is taken unless a later one is clearly better.
    pub(crate) fn plans(&self, calibrated: bool, rows: usize) -> Vec<Plan> {
        if !self.plans.is_empty() {
            return self.plans.clone();
        }
        // The more are tried, the more often the choice is due to chance: the widest tree that the work allows, and the next one.
        let top = self.tunables.top_share * self.work * rows as f32;
        let fitting = SHAPES.iter().filter(|shape| shape.0 as f32 <= top).count().max(1);
        let plan = |(branching, leaf), plan| Plan { branching, leaf, ..plan };
        if !calibrated {
            return vec![plan(SHAPES[fitting.min(3) - 1], Plan::default())];
        }
        let widest = plan(SHAPES[fitting - 1], Plan::TAUGHT);
        let mut plans = vec![widest, Plan { correction: Correction::None, ..widest }];
        if rows <= LARGE && fitting > 1 {
            plans.push(plan(SHAPES[fitting - 2], Plan::TAUGHT));
        }
        plans
    }
}
