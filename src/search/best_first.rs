//! The search itself.

use super::best::BestRows;
use super::seen::masks;
use super::{Buffers, FAMILY, Frontier, Offer, Seen, Unopened, Work};
use crate::hint::cold_path;
use crate::math::{Log2, LogSum};
use crate::model::{Budget, Model};
use crate::rows::{Indices, Query};
use crate::tree::{Spread, Tree};

/// Rows or nodes that are scored at a time.
const BLOCK: usize = FAMILY;

/// What a search leaves: everything is in `near` or in one of the unopened nodes, and rows that links reached may be in both.
pub(crate) struct SearchResult<'a> {
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
) -> SearchResult<'s> {
    let mut search = Search {
        model,
        tree,
        query,
        spread: tree.spread_of(query),
        high_scores: HighScores {
            top,
            best: BestRows::new(if model.links().is_some() { budget.expand } else { 0 }),
            threshold: Log2::MIN,
        },
        seen: Seen::new(buffers.seen),
        frontier: Frontier::new(buffers.frontier),
        near: LogSum::new(),
        far: LogSum::new(),
        overflow: LogSum::new(),
        // No sound tree takes more; a damaged one that was trusted could otherwise go round and round.
        left: (budget.cap as usize).min(model.classes() + tree.len()),
        for_a_leaf: BLOCK.min(budget.cap as usize / 8),
        rows: 0,
        nodes: 0,
        watch_far: budget.epsilon > 0.0,
        scores: [0; BLOCK],
        filled: 0,
        linked: [0; BLOCK],
    };
    search.run(budget.epsilon);
    search.add_scores();
    SearchResult {
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
    high_scores: HighScores<'a, T>,
    seen: Seen<'s>,
    frontier: Frontier<'s>,
    near: LogSum,
    /// The predicted mass of the frontier; kept only where ε asks for it.
    far: LogSum,
    overflow: LogSum,
    /// Row-equivalents that may still be spent, and how many of them are kept for a leaf until a row was scored.
    left: usize,
    for_a_leaf: usize,
    rows: usize,
    nodes: usize,
    watch_far: bool,
    /// The bits of scores, and how many of them are still to be added to `near`: many at once are cheaper.
    scores: [i32; BLOCK],
    filled: usize,
    /// The rows that links lead to.
    linked: [u32; BLOCK],
}

impl<T: Offer> Search<'_, '_, '_, T> {
    fn run(&mut self, epsilon: f32) {
        if self.tree.top() > self.left {
            // Not even the top of the tree: the caller learns of it by the work, which is zero.
            return;
        }
        self.predict(0, self.tree.top());
        loop {
            while let Some(row) = self.high_scores.best.next() {
                self.follow_links(row);
            }
            if self.watch_far {
                self.add_scores();
                if !self.near.is_zero() && self.near.share_of_sum(&self.far) <= epsilon {
                    return;
                }
            }
            let Some(next) = self.frontier.peek() else {
                return;
            };
            if !self.open(next) {
                break;
            }
        }
        if self.rows == 0 {
            self.score_any_leaf();
        }
    }

    /// For a query to which everything looks alike: inner nodes were more worth their work than any leaf, but an answer
    /// without a class is none.
    #[cold]
    fn score_any_leaf(&mut self) {
        let (tree, left) = (self.tree, self.left);
        let fits = |node| {
            let span = tree.span(node);
            span.is_leaf() && span.rows <= left
        };
        if let Some(leaf) = self.frontier.take_last(fits) {
            let span = tree.span(leaf);
            self.score_leaf(span.first_row, span.rows);
        }
    }

    /// Opens the node on top of the frontier; false, and nothing done, if there is not enough left for it.
    fn open(&mut self, next: Unopened) -> bool {
        let span = self.tree.span(next.node);
        let kept = if self.rows == 0 { self.for_a_leaf } else { 0 };
        let is_enough = if span.is_leaf() {
            // Rows that were reached before cost nothing; they are counted only where it matters.
            self.left >= span.rows || self.left >= span.rows - self.seen.count(span.first_row, span.rows).min(span.rows)
        } else {
            // Not a sum: what a file that was trusted says may be as large as a number can be.
            self.left.saturating_sub(kept) >= span.children
        };
        if !is_enough {
            return false;
        }
        self.frontier.pop();
        if self.watch_far {
            self.far.subtract(self.tree.mass_of(next.priority, next.node));
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
        let (mut at, end) = (first, first.saturating_add(count));
        while at < end {
            let (first, count) = (at, BLOCK.min(end - at));
            at += count;
            let (tree, query, spread) = (self.tree, self.query, &self.spread);
            let fill = |places: &mut [i32]| tree.priorities(first, query, spread, places);
            if !self.watch_far && self.frontier.push(first, count, fill) {
                continue;
            }
            // Their masses are of interest, too. Scores that wait make room for them.
            self.near.add_all(self.scores.get(..self.filled).unwrap_or(&[]));
            self.filled = 0;
            let priorities = self.scores.get_mut(..count).unwrap_or(&mut []);
            fill(priorities);
            let copy =
                |places: &mut [i32]| places.iter_mut().zip(&*priorities).for_each(|(place, &from)| *place = from);
            let fits = self.watch_far && self.frontier.push(first, count, copy);
            for (i, &priority) in priorities.iter().enumerate() {
                let mass = tree.mass_of(Log2::from_bits(priority), first + i);
                if self.watch_far {
                    self.far.add(mass);
                }
                if !fits {
                    self.overflow.add(mass);
                }
            }
        }
    }

    /// Scores the rows of a leaf that were not reached before: run by run, most often all of them at once.
    fn score_leaf(&mut self, first: usize, count: usize) {
        let (mut run, mut run_end) = (first, first);
        for (word, mask) in masks(first, first.saturating_add(count).min(self.model.classes())) {
            let mut new = self.seen.insert_word(word, mask);
            while new != 0 {
                let from = new.trailing_zeros();
                let len = (new >> from).trailing_ones();
                // Without its lowest run.
                new &= new.wrapping_add(1 << from);
                let start = 32 * word + from as usize;
                // A run may go on in the next word.
                if start != run_end {
                    self.score_run(run, run_end);
                    run = start;
                }
                run_end = start + len as usize;
            }
        }
        self.score_run(run, run_end);
    }

    /// Scores the rows `first..end`: one sequential read.
    #[inline(never)]
    fn score_run(&mut self, first: usize, end: usize) {
        let mut at = first;
        while at < end {
            let (first, count) = (at, BLOCK.min(end - at));
            at += count;
            self.make_room(count);
            if let Some(scores) = self.scores.get_mut(self.filled..self.filled + count) {
                self.model.rows().scores(first, self.query, scores);
                self.high_scores.offer(self.model, scores, |i| first + i);
                self.count(count);
            }
        }
    }

    /// So many scores were put behind those that are filled.
    #[inline]
    fn count(&mut self, scores: usize) {
        self.filled += scores;
        self.rows += scores;
        self.left = self.left.saturating_sub(scores);
    }

    /// Places for so many scores.
    #[inline]
    fn make_room(&mut self, scores: usize) {
        if self.filled + scores > BLOCK {
            self.add_scores();
        }
    }

    fn add_scores(&mut self) {
        self.near.add_all(self.scores.get(..self.filled).unwrap_or(&[]));
        self.filled = 0;
    }

    /// Scores the rows that a row leads to, as far as the budget goes.
    fn follow_links(&mut self, row: usize) {
        match self.model.links().map(|links| links.of(row)) {
            Some(Indices::Short(links)) => links.chunks(BLOCK).for_each(|links| self.score_links(links)),
            Some(Indices::Long(links)) => links.chunks(BLOCK).for_each(|links| self.score_links(links)),
            None => {}
        }
    }

    fn score_links<I: Copy + Into<u32>>(&mut self, links: &[I]) {
        let (mut len, most) = (0, self.left.min(BLOCK));
        for &link in links {
            let row: u32 = link.into();
            if len < most && self.seen.insert(row as usize) {
                if let Some(place) = self.linked.get_mut(len) {
                    *place = row;
                }
                len += 1;
            }
        }
        self.score_linked(len);
    }

    /// Scores the first so many of the linked rows.
    #[inline(never)]
    fn score_linked(&mut self, count: usize) {
        self.make_room(count);
        let places = self.scores.get_mut(self.filled..self.filled + count);
        if let (Some(linked), Some(scores)) = (self.linked.get(..count), places) {
            self.model.rows().scores_of(linked, self.query, scores);
            self.high_scores.offer(self.model, scores, |i| linked.get(i).map_or(0, |&row| row as usize));
            self.count(count);
        }
    }
}

/// Those who look at high scores: the list of the best classes, and the rows whose links are followed.
struct HighScores<'a, T> {
    top: &'a mut T,
    best: BestRows,
    /// What a score has to reach for one of them to look at it.
    threshold: Log2,
}

impl<T: Offer> HighScores<'_, T> {
    /// Offers scores; `row_of` says whose they are.
    #[inline]
    fn offer(&mut self, model: &Model<'_>, scores: &[i32], row_of: impl Fn(usize) -> usize) {
        for (i, &bits) in scores.iter().enumerate() {
            let score = Log2::from_bits(bits);
            if score >= self.threshold {
                cold_path();
                let row = row_of(i);
                self.best.offer(row, score);
                self.top.offer(model, row, score);
                self.threshold = self.best.threshold().min(self.top.threshold());
            }
        }
    }
}
