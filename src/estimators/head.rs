//! S_k(q): the k best rows that an index finds, which NMIMPS, MIMPS and MINCE start from.
//!
//! Best-first search over the tree with a budget, as for the default estimator, but only the k best rows are kept.

use heapless::Vec;
use heapless::vec::VecView;

use super::best_heap::BestHeap;
use super::sort;
use crate::Error;
use crate::math::LogSum;
use crate::model::{Budget, Model};
use crate::rows::Query;
use crate::search::{Buffers, Candidate, Work, best_first};

/// The rows of a head: their scores, best first, and which they are.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::Budget;
/// use zhat::estimators::{HeadBuffer, retrieve};
///
/// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
/// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
///
/// assert_eq!(head.candidates().len(), 10);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    candidates: &'a [Candidate],
    /// Those that are no part of the tail, in ascending order.
    rows: &'a [u32],
    work: Work,
}

impl<'a> Head<'a> {
    pub(crate) fn new(candidates: &'a [Candidate], rows: &'a [u32], work: Work) -> Self {
        Self { candidates, rows, work }
    }

    /// A head of no rows.
    ///
    /// ```
    /// assert!(zhat::estimators::Head::empty().candidates().is_empty());
    /// ```
    pub const fn empty() -> Self {
        Self { candidates: &[], rows: &[], work: Work { rows: 0, nodes: 0, bytes: 0 } }
    }

    /// The classes and their scores, best first.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// use zhat::Budget;
    /// use zhat::estimators::{HeadBuffer, retrieve};
    ///
    /// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
    /// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
    ///
    /// assert!(head.candidates().is_sorted_by(|a, b| a.score >= b.score));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn candidates(&self) -> &'a [Candidate] {
        self.candidates
    }

    /// What it cost to find them.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// use zhat::Budget;
    /// use zhat::estimators::{HeadBuffer, retrieve};
    ///
    /// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
    /// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
    ///
    /// assert!(head.work().row_equivalents() <= 60);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn work(&self) -> Work {
        self.work
    }

    /// Which rows are no part of the tail, in ascending order: those of the head.
    pub(super) fn rows(&self) -> &'a [u32] {
        self.rows
    }

    /// Σ exp over the head.
    pub(super) fn sum(&self) -> LogSum {
        let mut sum = LogSum::new();
        self.candidates.iter().for_each(|candidate| sum.add(candidate.score));
        sum
    }
}

/// Room for a head of `K` rows.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::Budget;
/// use zhat::estimators::{HeadBuffer, retrieve};
///
/// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
/// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HeadBuffer<const K: usize> {
    candidates: Vec<Candidate, K>,
    rows: Vec<u32, K>,
}

impl<const K: usize> HeadBuffer<K> {
    /// Empty; each retrieval starts by clearing it.
    ///
    /// ```
    /// let mut buffer = zhat::estimators::HeadBuffer::<10>::new();
    /// ```
    pub const fn new() -> Self {
        Self { candidates: Vec::new(), rows: Vec::new() }
    }
}

impl<const K: usize> Default for HeadBuffer<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// The best `K` rows that a search within the budget finds; fewer if it scores fewer.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::Budget;
/// use zhat::estimators::{HeadBuffer, retrieve};
///
/// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
/// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
///
/// let best = head.candidates()[0];
/// println!("class {}: score {:.3}", best.class, best.score.to_nats());
/// # Ok::<(), zhat::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::NoIndex`] without a tree, [`Error::Budget`] if the
/// cap is not enough for a class, and [`Error::ScratchWords`] if the memory is not.
pub fn retrieve<'h, const K: usize>(
    model: &Model<'_>,
    query: &Query,
    budget: &Budget,
    scratch: &mut [u32],
    buffer: &'h mut HeadBuffer<K>,
) -> Result<Head<'h>, Error> {
    let HeadBuffer { candidates, rows } = buffer;
    retrieve_into(model, query, budget, scratch, candidates, rows)
}

/// [`retrieve`] for a head of any size.
pub(crate) fn retrieve_into<'h>(
    model: &Model<'_>,
    query: &Query,
    budget: &Budget,
    scratch: &mut [u32],
    candidates: &'h mut VecView<Candidate>,
    rows: &'h mut VecView<u32>,
) -> Result<Head<'h>, Error> {
    query.check(model)?;
    let tree = model.tree().ok_or(Error::NoIndex)?;
    budget.check(tree.least_cap())?;
    let buffers = Buffers::new(scratch, model, tree)?;
    let mut best = BestHeap::new(candidates, model);
    let found = best_first(model, tree, query, budget, buffers, &mut best);
    best.finish(rows);
    sort::sort(rows, |a, b| a < b);
    Ok(Head::new(candidates, rows, found.work))
}
