//! The true S_k(q), by scoring every row, and with the mistakes that an index makes: for experiments on a host.
//!
//! The paper measures how its estimators take the loss of the best row, of the second best, and of both. Work counts
//! the k rows only, as if an index had named them for free.

use super::Head;
use super::top::Candidate;
use crate::format::Model;
use crate::rows::Query;
use crate::search::Work;

/// Rows that a retrieval misses; the next best take their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetrievalError {
    /// Nothing is missed.
    None,
    /// The best row is missed.
    First,
    /// The second best row is missed.
    Second,
    /// The two best rows are missed.
    FirstAndSecond,
}

impl RetrievalError {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::First, Self::Second, Self::FirstAndSecond];

    fn misses(self, rank: usize) -> bool {
        match self {
            Self::None => false,
            Self::First => rank == 0,
            Self::Second => rank == 1,
            Self::FirstAndSecond => rank < 2,
        }
    }
}

/// The true best rows.
#[derive(Clone, Debug)]
pub struct OracleHead {
    candidates: Vec<Candidate>,
    rows: Vec<u32>,
    stride: usize,
}

impl OracleHead {
    /// The best `k` rows, but for those that `error` misses; all that there are if `k` is above that.
    pub fn new(model: &Model<'_>, query: &Query, k: usize, error: RetrievalError) -> Self {
        let mut all = Vec::with_capacity(model.classes());
        model.rows().for_each_score(0, model.classes(), query, |row, score| {
            all.push((Candidate { class: model.class_of_row(row) as u32, score }, row as u32));
        });
        all.sort_unstable_by_key(|&(candidate, _)| (core::cmp::Reverse(candidate.score), candidate.class));
        let kept = all.iter().enumerate().filter(|&(rank, _)| !error.misses(rank)).map(|(_, &both)| both).take(k);
        let (candidates, mut rows): (Vec<_>, Vec<_>) = kept.unzip();
        rows.sort_unstable();
        Self { candidates, rows, stride: model.rows().stride() }
    }

    /// As the estimators take it.
    pub fn head(&self) -> Head<'_> {
        Head::new(&self.candidates, &self.rows, Work::of(self.rows.len(), 0, self.stride))
    }
}
