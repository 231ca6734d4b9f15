//! The true S_k(q), found by scoring every row, optionally with the mistakes of an index: for experiments on a host.
//!
//! The paper measures how its estimators react to the loss of the best row, of the second best, and of both. The work
//! counts only the k rows, as if an index had found them for free.

use super::Head;
use crate::Error;
use crate::math::{Log2, LogSum};
use crate::model::Model;
use crate::rows::Query;
use crate::search::{Candidate, Work};

/// Rows that a retrieval misses; the next best take their places.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// use zhat::estimators::{Oracle, RetrievalError};
///
/// let oracle = Oracle::new(&model, &query, 2)?;
/// let missed = oracle.head(2, RetrievalError::First);
/// assert_ne!(missed.head().candidates()[0].class, oracle.best().expect("a class").class);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetrievalError {
    /// No row is missed.
    None,
    /// The best row is missed.
    First,
    /// The second best row is missed.
    Second,
    /// The two best rows are missed.
    FirstAndSecond,
}

impl RetrievalError {
    /// Every kind of error.
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

/// The scores of all rows: the exact Z, and the true best rows, from which heads of any size can be taken.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// use zhat::estimators::{Oracle, RetrievalError, nmimps};
///
/// let oracle = Oracle::new(&model, &query, 3)?;
/// let head = oracle.head(3, RetrievalError::None);
/// assert!(nmimps(&model, &head.head()).log_z() < oracle.log_z());
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Oracle {
    z: LogSum,
    /// Best first, with their rows.
    best: Vec<(Candidate, u32)>,
    row_bytes: usize,
}

impl Oracle {
    /// Scores all rows and keeps enough of the best for heads of up to `most` rows, whatever a retrieval misses.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// assert!(zhat::estimators::Oracle::new(&model, &query, 2).is_ok());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoQuery`] or [`Error::OtherModel`] for the query.
    pub fn new(model: &Model<'_>, query: &Query, most: usize) -> Result<Self, Error> {
        query.check(model)?;
        let mut z = LogSum::new();
        let mut all = Vec::with_capacity(model.classes());
        model.rows().for_each_block(0, model.classes(), query, |first, scores| {
            z.add_all(scores);
            all.extend(scores.iter().enumerate().map(|(i, &bits)| {
                let row = first + i;
                (Candidate { class: model.class_of_row(row) as u32, score: Log2::from_bits(bits) }, row as u32)
            }));
        });
        let order = |&(candidate, _): &(Candidate, u32)| (core::cmp::Reverse(candidate.score), candidate.class);
        // Two more, to replace those that a retrieval misses.
        let kept = most.saturating_add(2).min(all.len());
        if kept < all.len() {
            all.select_nth_unstable_by_key(kept, order);
            all.truncate(kept);
        }
        all.sort_unstable_by_key(order);
        Ok(Self { z, best: all, row_bytes: model.rows().row_bytes() })
    }

    /// Returns ln Z, exactly.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// let oracle = zhat::estimators::Oracle::new(&model, &query, 1)?;
    /// assert_eq!(oracle.log_z(), zhat::exact::<1>(&model, &query)?.log_z());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn log_z(&self) -> f32 {
        self.z.ln()
    }

    /// Returns the best class and its score; `None` if there is no class.
    pub fn best(&self) -> Option<Candidate> {
        self.best.first().map(|&(candidate, _)| candidate)
    }

    /// Returns the best `k` rows without those that `error` misses; all that were kept if `k` is larger.
    pub fn head(&self, k: usize, error: RetrievalError) -> OracleHead {
        let kept = self.best.iter().enumerate().filter(|&(rank, _)| !error.misses(rank)).map(|(_, &both)| both).take(k);
        let (candidates, mut rows): (Vec<_>, Vec<_>) = kept.unzip();
        rows.sort_unstable();
        OracleHead { candidates, rows, row_bytes: self.row_bytes }
    }

    /// Returns the head as [`Oracle::head`] does, but hides the missed rows from samples as well.
    pub fn head_without_missed(&self, k: usize, error: RetrievalError) -> OracleHead {
        let mut head = self.head(k, error);
        let missed = self.best.iter().enumerate().filter(|&(rank, _)| error.misses(rank));
        head.rows.extend(missed.map(|(_, &(_, row))| row));
        head.rows.sort_unstable();
        head
    }
}

/// The true best rows.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// use zhat::estimators::{OracleHead, RetrievalError, nmimps};
///
/// let head = OracleHead::new(&model, &query, 4, RetrievalError::None)?;
/// assert_eq!(nmimps(&model, &head.head()).standard_error, Some(0.0));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OracleHead {
    candidates: Vec<Candidate>,
    /// The rows that samples exclude, in ascending order.
    rows: Vec<u32>,
    row_bytes: usize,
}

impl OracleHead {
    /// Returns the best `k` rows without those that `error` misses; all rows if `k` is larger.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// use zhat::estimators::{OracleHead, RetrievalError};
    ///
    /// let head = OracleHead::new(&model, &query, 2, RetrievalError::None)?;
    /// assert_eq!(head.head().candidates()[0].class, 2);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Oracle::new`].
    pub fn new(model: &Model<'_>, query: &Query, k: usize, error: RetrievalError) -> Result<Self, Error> {
        Ok(Oracle::new(model, query, k)?.head(k, error))
    }

    /// Returns the head in the form that estimators take.
    pub fn head(&self) -> Head<'_> {
        Head::new(&self.candidates, &self.rows, Work::of(self.candidates.len(), 0, self.row_bytes))
    }
}
