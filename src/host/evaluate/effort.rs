//! Estimates the shares of an evaluation's time, for progress display.

use super::{Method, Options, ROUNDS, TIMED};
use crate::Model;
use crate::model::Budget;

/// The cost around a dot product of a search, in columns: marks, frontier, links and draws.
const AROUND: f64 = 180.0;
/// The cost around a dot product of `exact`: scale, exponential, sum.
const AROUND_ROW: f64 = 40.0;

/// The shares of the time.
pub(in crate::host) struct Effort {
    /// Finding the best classes of the calibration queries.
    pub calibration: f32,
    /// Running the estimators on the queries.
    pub queries: f32,
    /// Measuring times.
    pub times: f32,
    /// All of it, in columns of scored rows.
    pub all: f64,
}

impl Effort {
    /// Estimates the shares for this many queries with these options.
    pub fn new(model: &Model<'_>, float: bool, queries: usize, options: &Options<'_>, budget: &Budget) -> Self {
        let (rows, cols) = (model.classes() as f64, model.dim() as f64);
        let exact = rows * (cols + AROUND_ROW);
        let once = |method: &Method| match method {
            Method::Exact => exact,
            Method::SelfNormalised => 0.0,
            _ => f64::from(budget.cap).min(rows) * (cols + AROUND),
        };
        let seeds = |method: &Method| if method.is_random() { options.seeds.max(1) as f64 } else { 1.0 };
        let asked: f64 = options.methods.iter().map(|method| seeds(method) * once(method)).sum();
        let truths = if float { 2.0 * exact } else { exact };
        let timed: f64 = exact + options.methods.iter().map(once).sum::<f64>();
        let calibration = options.calibration.map_or(0.0, |calibration| calibration.rows() as f64 * exact);
        let queries_effort = queries as f64 * (truths + asked);
        // Times are measured on one thread.
        let threads = rayon::current_num_threads().max(1) as f64;
        let times = if options.timed { (ROUNDS * TIMED.min(queries)) as f64 * timed * threads } else { 0.0 };
        let all = calibration + queries_effort + times;
        let share = |effort: f64| (effort / all.max(1.0)) as f32;
        Self { calibration: share(calibration), queries: share(queries_effort), times: share(times), all }
    }

    /// Returns the shares of the time at which the block of queries from `first` to `end`, of `count`, starts and ends.
    pub fn block(&self, first: usize, end: usize, count: usize) -> (f32, f32) {
        let at = |query: usize| self.calibration + self.queries * query as f32 / count.max(1) as f32;
        (at(first), at(end))
    }
}
