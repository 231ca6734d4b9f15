//! S_k(q): the k best rows that an index finds, which NMIMPS, MIMPS and MINCE start from.
//!
//! Best-first search over the tree with a budget, as for the default estimator, but only the k best rows are kept.

use heapless::Vec;
use heapless::vec::VecView;

use crate::Error;
use crate::hint::cold_path;
use crate::math::{Log2, LogSum};
use crate::model::{Budget, Model};
use crate::rows::Query;
use crate::search::{Buffers, Candidate, Offer, Work, best_first};

/// The rows of a head and their scores, best first.
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
    /// The rows that are no part of the tail, in ascending order.
    rows: &'a [u32],
    work: Work,
}

impl<'a> Head<'a> {
    pub(crate) fn new(candidates: &'a [Candidate], rows: &'a [u32], work: Work) -> Self {
        Self { candidates, rows, work }
    }

    /// Creates a head of no rows.
    ///
    /// ```
    /// assert!(zhat::estimators::Head::empty().candidates().is_empty());
    /// ```
    pub const fn empty() -> Self {
        Self { candidates: &[], rows: &[], work: Work { rows: 0, nodes: 0, bytes: 0 } }
    }

    /// Returns the classes and their scores, best first.
    pub fn candidates(&self) -> &'a [Candidate] {
        self.candidates
    }

    /// Returns the work that finding them took.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Returns the rows that are no part of the tail, in ascending order: those of the head, and those that an oracle
    /// hides from samples.
    pub(super) fn rows(&self) -> &'a [u32] {
        self.rows
    }

    /// Sums exp over the head.
    pub(super) fn sum(&self) -> LogSum {
        let mut sum = LogSum::new();
        self.candidates.iter().for_each(|candidate| sum.add(candidate.score));
        sum
    }
}

/// Memory for a head of `K` rows.
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
    /// Creates empty memory. Each retrieval clears it first.
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

/// Finds the best `K` rows among those that a search within the budget scores; fewer if it scores fewer.
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
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::NoIndex`] without a tree, [`Error::Budget`] if
/// the cap is too small to score a class, and [`Error::ScratchWords`] if the memory is too small.
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

/// Retrieves a head of any size, as [`retrieve`] does.
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
    sort(rows, |a, b| a < b);
    Ok(Head::new(candidates, rows, found.work))
}

// The best rows of a search for a large head: a heap with the worst of them on top.
//
// A sorted list, as used for the few best classes of an answer, moves half of its items for every insertion. For a head
// of 100 rows that took more time than scoring the rows; a heap moves at most log₂ k of them.

/// Collects as many of the best candidates as a list has room for. They are in order only once it is
/// [`finished`](Self::finish); until then a candidate's `class` holds its row.
pub(super) struct BestHeap<'a> {
    model: &'a Model<'a>,
    list: &'a mut VecView<Candidate>,
    /// The lowest score that is considered: most rows are rejected by it.
    threshold: Log2,
}

impl<'a> BestHeap<'a> {
    pub fn new(list: &'a mut VecView<Candidate>, model: &'a Model<'a>) -> Self {
        list.clear();
        let threshold = if list.capacity() == 0 { Log2::MAX } else { Log2::MIN };
        Self { model, list, threshold }
    }

    #[inline(never)]
    fn insert(&mut self, candidate: Candidate) {
        if self.list.push(candidate).is_ok() {
            // As long as there is room, no candidate has to leave and any order will do.
            if self.list.len() < self.list.capacity() {
                return;
            }
            make_heap(self.list, &|a, b| is_before(self.model, a, b));
        } else if let Some(worst) = self.list.first_mut()
            && is_before(self.model, &candidate, worst)
        {
            *worst = candidate;
            sink(self.list, &|a, b| is_before(self.model, a, b));
        }
        self.threshold = self.list.first().map_or(Log2::MAX, |worst| worst.score);
    }

    /// Sorts the candidates, best first, replaces their rows by their classes, and puts the rows into a list with room
    /// for as many.
    pub fn finish(self, rows: &mut VecView<u32>) {
        sort(self.list, |a, b| is_before(self.model, a, b));
        rows.clear();
        for candidate in self.list.iter_mut() {
            let _ = rows.push(candidate.class);
            candidate.class = self.model.class_of_row(candidate.class as usize) as u32;
        }
    }
}

/// Compares candidates, whose `class` holds their row, as [`Candidate::is_before`] does.
#[inline]
fn is_before(model: &Model<'_>, a: &Candidate, b: &Candidate) -> bool {
    if a.score == b.score {
        cold_path();
        return model.class_of_row(a.class as usize) < model.class_of_row(b.class as usize);
    }
    a.score > b.score
}

impl Offer for BestHeap<'_> {
    #[inline]
    fn offer(&mut self, _: &Model<'_>, row: usize, score: Log2) {
        if score >= self.threshold {
            cold_path();
            self.insert(Candidate { class: row as u32, score });
        }
    }

    #[inline]
    fn threshold(&self) -> Log2 {
        self.threshold
    }

    fn is_list(&self) -> bool {
        false
    }
}

// Sorting without a panic, which the standard library's sorts would leave in a firmware.
//
// Heap sort (Williams, 1964): n·log₂ n steps for any input order, and no memory.

/// Sorts the items.
fn sort<T: Copy>(items: &mut [T], is_before: impl Fn(&T, &T) -> bool) {
    make_heap(items, &is_before);
    // The top of the heap is last in the order, and moves behind the rest.
    for end in (1..items.len()).rev() {
        let Some((last, heap)) = items.get_mut(..=end).and_then(<[T]>::split_last_mut) else {
            return;
        };
        if let Some(top) = heap.first_mut() {
            core::mem::swap(top, last);
        }
        sink(heap, &is_before);
    }
}

/// Makes a heap: every item comes after its children in the order, and the last of all is on top.
fn make_heap<T: Copy>(items: &mut [T], is_before: &impl Fn(&T, &T) -> bool) {
    for at in (0..items.len() / 2).rev() {
        sink_from(items, at, is_before);
    }
}

/// Moves the item on top of a heap down to its place.
fn sink<T: Copy>(heap: &mut [T], is_before: &impl Fn(&T, &T) -> bool) {
    sink_from(heap, 0, is_before);
}

/// Moves the item at a place down past every child that comes after it.
fn sink_from<T: Copy>(heap: &mut [T], mut at: usize, is_before: &impl Fn(&T, &T) -> bool) {
    let Some(&item) = heap.get(at) else {
        return;
    };
    loop {
        let left = 2 * at + 1;
        let Some(&first) = heap.get(left) else {
            break;
        };
        let (child, later) = match heap.get(left + 1) {
            Some(&second) if is_before(&first, &second) => (left + 1, second),
            _ => (left, first),
        };
        if !is_before(&item, &later) {
            break;
        }
        put(heap, at, later);
        at = child;
    }
    put(heap, at, item);
}

fn put<T>(heap: &mut [T], at: usize, item: T) {
    if let Some(place) = heap.get_mut(at) {
        *place = item;
    }
}

#[cfg(test)]
mod sort_tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_order_of_the_standard_library(mut numbers in prop::collection::vec(0..50u32, 0..80)) {
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort(&mut numbers, |a, b| a < b);
            prop_assert_eq!(numbers, expected);
        }
    }
}
