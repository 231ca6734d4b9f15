//! The search itself.

use super::best::BestRows;
use super::frontier::Unopened;
use super::{Budget, Buffers, Frontier, Seen, Work};
use crate::estimators::top::Offer;
use crate::format::Model;
use crate::math::{Log2, LogSum};
use crate::rows::Query;
use crate::tree::{Spread, Tree};

/// Rows that are gathered before they are scored in pairs.
const BATCH: usize = 16;

/// What a search leaves: everything is either in `near` or in one of the unopened nodes.
pub(crate) struct Found<'a> {
    /// The sum over the rows that were scored.
    pub near: LogSum,
    /// The nodes that were not opened.
    pub frontier: &'a mut Frontier,
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
    buffers.frontier.clear();
    let mut search = Search {
        model,
        tree,
        query,
        spread: tree.spread_of(query),
        top,
        best: BestRows::new(if model.links().is_some() { budget.expand } else { 0 }),
        seen: Seen::new(buffers.seen),
        frontier: buffers.frontier,
        near: LogSum::new(),
        far: LogSum::new(),
        overflow: LogSum::new(),
        // No sound tree takes more; a damaged one that was trusted could otherwise go round and round.
        left: (budget.cap as usize).min(model.classes() + tree.len()),
        rows: 0,
        nodes: 0,
        watch_far: budget.epsilon > 0.0,
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
    seen: Seen<'s>,
    frontier: &'s mut Frontier,
    near: LogSum,
    /// The predicted mass of the frontier; kept only where ε asks for it.
    far: LogSum,
    overflow: LogSum,
    /// Row-equivalents that may still be spent.
    left: usize,
    rows: usize,
    nodes: usize,
    watch_far: bool,
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
            let Some(&next) = self.frontier.peek() else {
                return;
            };
            if !self.open(next) {
                return;
            }
        }
    }

    /// Opens the node on top of the frontier; false, and nothing done, if there is not enough left for it.
    fn open(&mut self, next: Unopened) -> bool {
        let span = self.tree.span(next.node as usize);
        let new = span.rows.saturating_sub(self.seen.count(span.first_row, span.rows));
        if self.left < if span.is_leaf() { new } else { span.children } {
            return false;
        }
        self.frontier.pop();
        if self.watch_far {
            self.far.subtract(self.tree.mass_of(next.priority, next.node as usize));
        }
        if span.is_leaf() {
            self.score_leaf(span.first_row, span.rows);
        } else {
            self.predict(span.first_child, span.children);
        }
        true
    }

    /// Puts nodes on the frontier.
    fn predict(&mut self, first: usize, count: usize) {
        self.left = self.left.saturating_sub(count);
        self.nodes += count;
        let Self { tree, query, spread, frontier, far, overflow, watch_far, .. } = self;
        tree.for_each_mass(first, count, query, spread, |node, mass| {
            let priority = tree.priority_of(mass, node);
            if frontier.push(Unopened { priority, node: node as u32 }).is_err() {
                overflow.add(mass);
            }
            if *watch_far {
                far.add(mass);
            }
        });
    }

    /// Scores the rows of a leaf that were not reached before.
    fn score_leaf(&mut self, first: usize, count: usize) {
        let mut batch = Batch::default();
        for row in first..first.saturating_add(count).min(self.model.classes()) {
            self.gather(&mut batch, row);
        }
        self.score(&mut batch);
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
            self.gather(&mut batch, linked);
        }
        self.score(&mut batch);
    }

    /// Takes a row into the batch, if it is new.
    #[inline]
    fn gather(&mut self, batch: &mut Batch, row: usize) {
        if self.seen.insert(row) {
            if batch.len == BATCH {
                self.score(batch);
            }
            if let Some(place) = batch.rows.get_mut(batch.len) {
                *place = row as u32;
                batch.len += 1;
            }
        }
    }

    /// Scores the batch, two rows for each load of the query, and empties it.
    fn score(&mut self, batch: &mut Batch) {
        let rows = batch.rows.get(..batch.len).unwrap_or(&[]);
        self.left = self.left.saturating_sub(rows.len());
        self.rows += rows.len();
        let mut pairs = rows.chunks_exact(2);
        for pair in &mut pairs {
            let pair = [pair[0] as usize, pair[1] as usize];
            let scores = self.model.rows().score_pair(pair, self.query);
            self.take(pair[0], scores[0]);
            self.take(pair[1], scores[1]);
        }
        if let &[row] = pairs.remainder() {
            let score = self.model.rows().score(row as usize, self.query);
            self.take(row as usize, score);
        }
        batch.len = 0;
    }

    #[inline]
    fn take(&mut self, row: usize, score: Log2) {
        self.near.add(score);
        self.best.offer(row, score);
        self.top.offer(self.model, row, score);
    }
}

#[derive(Default)]
struct Batch {
    rows: [u32; BATCH],
    len: usize,
}
