//! Who asks for links: the calibration queries, and queries that stand for classes which none of them shows, made up or the classes'
//! own rows.

use super::index::{Index, Source, Taught};
use super::made_up::MadeUp;
use super::reach::LOOKED_AT;
use super::{Targets, parts};
use crate::host::measure::{self, Found};
use crate::host::{BuildError, Matrix};
use crate::model::{Budget, Model, Settings};

/// How much further than the budget a query is asked.
pub const FURTHER: u32 = 4;
/// Rows and nodes that may be looked at to find out what queries that are made up miss, for the finished model.
pub const MOST_LOOKED_AT: f32 = 1e9;
/// The same while it is chosen.
pub const MOST_LOOKED_AT_TO_CHOOSE: f32 = 1e8;
/// What a query that is made up counts beside one that came.
const MADE_UP_WEIGHT: f32 = 0.15;

/// Queries that ask for links, what each of them counts, and what a search far beyond the budget finds for them.
pub struct Asking<'a> {
    pub queries: &'a Matrix,
    pub weight: f32,
    pub far: Vec<Found<LOOKED_AT>>,
}

impl<'a> Asking<'a> {
    /// Asks the queries beyond the budget.
    fn new(model: &Model<'_>, queries: &'a Matrix, weight: f32, budget: &Budget) -> Result<Self, BuildError> {
        let cap = budget.cap.saturating_mul(FURTHER).min(model.classes() as u32);
        let further = Budget { cap, epsilon: 0.0, expand: Budget::MAX_EXPAND };
        Ok(Self { queries, weight, far: measure::found(model, queries, &further)? })
    }

    /// All that ask.
    pub fn all(
        index: &Index<'_>,
        settings: Settings,
        taught: Option<&Taught<'a>>,
        made_up: Option<&'a Matrix>,
    ) -> Result<Vec<Self>, BuildError> {
        let draft = index.draft(settings)?;
        let came = taught.map(|taught| (taught.queries, 1.0));
        let all = came.into_iter().chain(made_up.map(|queries| (queries, MADE_UP_WEIGHT)));
        all.map(|(queries, weight)| Self::new(&draft.model(), queries, weight, &settings.budget)).collect()
    }
}

/// How many queries can be asked far beyond a budget of `work`, a share of the rows, if so many rows and nodes may be looked at.
pub fn how_many(rows: usize, work: f32, looked_at: f32) -> usize {
    (looked_at / (FURTHER as f32 * work * rows as f32).max(1.0)).max(1.0) as usize
}

/// A query for each class, as far as they are not too many: made up as calibration queries are, or its row.
pub fn for_each_class(
    weights: &Matrix,
    source: &Source,
    taught: Option<&Taught<'_>>,
    targets: &Targets,
    looked_at: f32,
) -> Option<Matrix> {
    let most = how_many(weights.rows(), targets.work, looked_at);
    let queries = match taught {
        Some(taught) => MadeUp::learn(&source.rows, &source.spectrum, taught.queries, &taught.tops)?.varied(most),
        None => parts::stand_ins(weights, most, targets.seed),
    };
    parts::those_that_fit(queries, weights)
}
