//! Every number that a build is tuned by, each with its reason. `examples/ablation` prints what each of them is worth.

/// The numbers, at their defaults unless an experiment says otherwise.
///
/// ```
/// use zhat::host::build::{Targets, Tunables};
///
/// let tunables = Tunables { probes_per_class: 0, ..Tunables::default() };
/// let targets = Targets { tunables, ..Targets::default() };
/// # assert_eq!(targets.tunables.probes_per_class, 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tunables {
    /// Cost of a missed best class beside a relative error of Z of one: a miss takes the place of an answer, an error of Z moves
    /// its p.
    pub miss: f32,
    /// Standard errors of the paired difference by which a later plan has to be better: with two, luck picks one of forty.
    pub standard_errors: f32,
    /// Standard errors of the mean work that are kept free of what was asked for: the queries to come may be harder than these.
    pub work_errors: f32,
    /// The part of the work that the top of the tree may take: it is paid by every query before the first row.
    pub top_share: f32,
    /// λ of the nodes' corrections, as a share of the queries' weights.
    pub ridge: f32,
    /// Query weights that are added to λ, so that a node which few queries reach learns little.
    pub ridge_queries: f32,
    /// Directions in which queries vary less than this share of the mean are damped.
    pub whiten_floor: f64,
    /// The share of Z at which a query counts half for a node's correction: larger nodes are opened, and not predicted.
    pub half_share: f32,
    /// The power of the share by which a query's weight falls below that.
    pub share_power: f32,
    /// The power of the relative variance in the priority of a node whose prediction is corrected; ½ without corrections.
    pub corrected_power: f32,
    /// λ of the correction that all nodes share, as a share of the far field's squares.
    pub global_ridge: f64,
    /// Best rows of a query that are taken to belong together.
    pub top_rows: usize,
    /// Synthetic queries for each class that ask for links.
    pub probes_per_class: usize,
    /// Weight of a synthetic query beside a real one.
    pub probe_weight: f32,
    /// λ of the map from rows to synthetic queries.
    pub synthetic_ridge: f64,
    /// How many times its budget a query is searched for, to see what the budget misses.
    pub further: u32,
    /// The share of Z from which on a missed row is worth a link.
    pub worth: f32,
    /// Best rows that get links to what a query misses, one after the other.
    pub places: usize,
    /// How much more fewer links may cost: what two of five hundred make if they are missed.
    pub no_harm: f32,
    /// Missed best classes: where all queries together cost less, they cannot tell what links are worth.
    pub few_missed: f32,
}

impl Default for Tunables {
    fn default() -> Self {
        Self {
            miss: 0.5,
            standard_errors: 2.0,
            work_errors: 2.0,
            top_share: 0.3,
            ridge: 0.03,
            ridge_queries: 10.0,
            whiten_floor: 0.02,
            half_share: 0.01,
            share_power: 0.7,
            corrected_power: 0.35,
            global_ridge: 0.05,
            top_rows: 12,
            probes_per_class: 1,
            probe_weight: 0.15,
            synthetic_ridge: 0.05,
            further: 4,
            worth: 0.002,
            places: 3,
            no_harm: 1.08,
            few_missed: 4.0,
        }
    }
}

/// Above this many rows, neighbours are looked for nearby in the tree only: all pairs would take longer than all the rest.
pub const BRUTE_FORCE: usize = 40_000;
/// Rows of such a neighbourhood.
pub const REGION: usize = 4096;
/// Above this many rows one tree is tried: trying takes as long as building.
pub const LARGE: usize = 100_000;
/// With more rows than this, work that no search can keep to is an error; with fewer, all rows are scored.
pub const SMALL: usize = 4096;
/// With at most this many rows all are always scored.
pub const TINY: usize = 64;
/// Rows and nodes that may be looked at for synthetic queries: a few seconds.
pub const LOOKED_AT_TO_CHOOSE: f32 = 1e8;
/// Rows and nodes that may be looked at for the finished model.
pub const LOOKED_AT: f32 = 4e8;
/// Steps of a bisection of ln ε between 1e-5 and 10: within a tenth, and within a hundredth.
pub const FEW_STEPS: usize = 7;
/// Steps of a bisection for the choice.
pub const STEPS: usize = 10;
/// Best rows whose links are followed; the first is what trees are compared with.
pub const EXPANDS: [u32; 4] = [4, 0, 2, 8];
/// The shares of the rows that are tried to have links, one after the other. With fewer, recall falls a little on every layer.
pub const LINKED: [f32; 2] = [0.5, 0.25];
/// Children of a node and rows of a leaf: the wider the tree, the better it predicts, and the more work before the first row.
/// Leaves of 32 rows instead of 16 were no better on any layer, and lost recall on one.
pub const SHAPES: [(usize, usize); 4] = [(8, 8), (16, 16), (32, 16), (64, 16)];
