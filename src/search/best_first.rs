//! The search itself.

use core::hint::cold_path;

use super::best::BestRows;
use super::seen::masks;
use super::{Budget, Buffers, FAMILY, Frontier, Seen, Unopened, Work};
use crate::estimators::top::Offer;
use crate::format::Model;
use crate::math::{Log2, LogSum};
use crate::rows::Query;
use crate::tree::{Spread, Tree};

/// Rows or nodes that are scored at a time.
const BLOCK: usize = FAMILY;

/// What a search leaves: everything is either in `near` or in one of the unopened nodes.
pub(crate) struct Found<'a> {
    /// The sum over the rows that were scored.
    pub near: LogSum,
    /// The nodes that were not opened.
    pub frontier: Frontier<'a>,
    /// Unopened nodes that the frontier had no room for.
    pub overflow: LogSum,
    /// The rows that were scored.
    pub seen: Seen<'a>,
    /// The shape of the spread for this query.
    pub spread: Spread,
    pub work: Work,
}

/// Searches the tree within a budget; every row that is scored is offered to `top`.
pub(crate) fn best_first<'s>(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    budget: &Budget,
    buffers: Buffers<'s>,
    top: &mut impl Offer,
) -> Found<'s> {
    let mut search = Search {
        model,
        tree,
        query,
        spread: tree.spread_of(query),
        top,
        best: BestRows::new(if model.links().is_some() { budget.expand } else { 0 }),
        threshold: Log2::MIN,
        seen: Seen::new(buffers.seen),
        frontier: Frontier::new(buffers.frontier),
        near: LogSum::new(),
        far: LogSum::new(),
        overflow: LogSum::new(),
        // No sound tree takes more; a damaged one that was trusted could otherwise go round and round.
        left: (budget.cap as usize).min(model.classes() + tree.len()),
        rows: 0,
        nodes: 0,
        watch_far: budget.epsilon > 0.0,
        scores: [0; BLOCK],
    };
    search.run(budget.epsilon);
    Found {
        near: search.near,
        overflow: search.overflow,
        seen: search.seen,
        spread: search.spread,
        work: Work::of(search.rows, search.nodes, model.rows().stride()),
        frontier: search.frontier,
    }
}

struct Search<'a, 'm, 's, T> {
    model: &'a Model<'m>,
    tree: &'a Tree<'m>,
    query: &'a Query,
    spread: Spread,
    top: &'a mut T,
    best: BestRows,
    /// What a score has to reach for `best` or `top` to look at it.
    threshold: Log2,
    seen: Seen<'s>,
    frontier: Frontier<'s>,
    near: LogSum,
    /// The predicted mass of the frontier; kept only where ε asks for it.
    far: LogSum,
    overflow: LogSum,
    /// Row-equivalents that may still be spent.
    left: usize,
    rows: usize,
    nodes: usize,
    watch_far: bool,
    /// The bits of the scores of one block.
    scores: [i32; BLOCK],
}

impl<T: Offer> Search<'_, '_, '_, T> {
    fn run(&mut self, epsilon: f32) {
        if self.tree.top() > self.left {
            // Not even the top of the tree: the caller learns of it by the work, which is zero.
            return;
        }
        self.predict(0, self.tree.top());
        loop {
            while let Some(row) = self.best.next() {
                self.follow_links(row);
            }
            if self.watch_far && !self.near.is_zero() && self.near.share_of_sum(&self.far) <= epsilon {
                return;
            }
            let Some(next) = self.frontier.peek() else {
                return;
            };
            if !self.open(next) {
                return;
            }
        }
    }

    /// Opens the node on top of the frontier; false, and nothing done, if there is not enough left for it.
    fn open(&mut self, next: Unopened) -> bool {
        let span = self.tree.span(next.node);
        let new = span.rows.saturating_sub(self.seen.count(span.first_row, span.rows));
        if self.left < if span.is_leaf() { new } else { span.children } {
            return false;
        }
        self.frontier.pop();
        if self.watch_far {
            self.far.subtract(self.tree.mass_of(next.priority, next.node));
        }
        if span.is_leaf() {
            self.score_leaf(span.first_row, span.rows, new);
        } else {
            self.predict(span.first_child, span.children);
        }
        true
    }

    /// Puts nodes on the frontier.
    fn predict(&mut self, first: usize, count: usize) {
        self.left = self.left.saturating_sub(count);
        self.nodes += count;
        for (at, count) in blocks(first, count) {
            let Some(masses) = self.scores.get_mut(..count) else {
                return;
            };
            self.tree.masses(at, self.query, &self.spread, masses);
            if self.watch_far {
                self.far.add_all(masses);
            }
            self.tree.add_gains(at, masses);
            if !self.frontier.push(at, masses) {
                for (i, &priority) in masses.iter().enumerate() {
                    self.overflow.add(self.tree.mass_of(Log2::from_bits(priority), at + i));
                }
            }
        }
    }

    /// Scores the rows of a leaf, `new` of which were not reached before.
    fn score_leaf(&mut self, first: usize, count: usize, new: usize) {
        if new < count {
            let mut batch = Batch::default();
            for (word, mask) in masks(first, first.saturating_add(count).min(self.model.classes())) {
                let mut new = self.seen.insert_word(word, mask);
                while new != 0 {
                    self.gather(&mut batch, 32 * word + new.trailing_zeros() as usize);
                    new &= new - 1;
                }
            }
            return self.score(&mut batch);
        }
        // Most leaves: one sequential read.
        self.seen.insert_all(first, count);
        for (at, count) in blocks(first, count) {
            if let Some(scores) = self.scores.get_mut(..count) {
                self.model.rows().scores(at, self.query, scores);
                self.take(count, |i| at + i);
            }
        }
    }

    /// Scores the rows that a row leads to, as far as the budget goes.
    fn follow_links(&mut self, row: usize) {
        let Some(links) = self.model.links() else {
            return;
        };
        let mut batch = Batch::default();
        for linked in links.of(row) {
            if self.left == batch.len {
                break;
            }
            if self.seen.insert(linked) {
                self.gather(&mut batch, linked);
            }
        }
        self.score(&mut batch);
    }

    /// Takes a row into the batch.
    #[inline]
    fn gather(&mut self, batch: &mut Batch, row: usize) {
        if batch.len == BLOCK {
            self.score(batch);
        }
        if let Some(place) = batch.rows.get_mut(batch.len) {
            *place = row as u32;
            batch.len += 1;
        }
    }

    /// Scores the batch, two rows for each load of the query, and empties it.
    fn score(&mut self, batch: &mut Batch) {
        let rows = batch.rows.get(..batch.len).unwrap_or(&[]);
        self.model.rows().scores_of(rows, self.query, &mut self.scores);
        self.take(rows.len(), |i| rows.get(i).map_or(0, |&row| row as usize));
        batch.len = 0;
    }

    /// Counts the first scores of the block in, which are of these rows.
    #[inline]
    fn take(&mut self, count: usize, row_of: impl Fn(usize) -> usize) {
        self.left = self.left.saturating_sub(count);
        self.rows += count;
        let scores = self.scores.get(..count).unwrap_or(&[]);
        self.near.add_all(scores);
        for (i, &bits) in scores.iter().enumerate() {
            let score = Log2::from_bits(bits);
            if score >= self.threshold {
                cold_path();
                self.best.offer(row_of(i), score);
                self.top.offer(self.model, row_of(i), score);
                self.threshold = self.best.threshold().min(self.top.threshold());
            }
        }
    }
}

/// `first..first + count` in blocks: the first of each, and how many.
fn blocks(first: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = first.saturating_add(count);
    (first..end).step_by(BLOCK).map(move |at| (at, BLOCK.min(end - at)))
}

#[derive(Default)]
struct Batch {
    rows: [u32; BLOCK],
    len: usize,
}
