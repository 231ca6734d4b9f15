//! The search itself.

use super::best::BestRows;
use super::choice::Choice;
use super::memory::words_for_descent;
use super::seen::masks;
use super::{Buffers, FAMILY, Frontier, Offer, Seen, Work};
use crate::hint::cold_path;
use crate::math::{Log2, LogSum, float};
use crate::model::{Budget, Model};
use crate::rows::{Indices, Query, Scorer};
use crate::tree::{Span, Spread, Tree};

/// Rows or nodes that are scored at a time.
const BLOCK: usize = FAMILY;

/// Links that are followed at a time: most often all of a row.
const LINKED: usize = 12;

const TWICE: Log2 = Log2::from_bits(1 << Log2::FRACTION_BITS);

/// The result of a search. Every row is in `near` or in one of the unopened nodes; rows that links reached may be in both.
/// There is at least one row in `near` if the cap was at least [`Tree::least_cap`] and the file is sound.
pub(crate) struct SearchResult<'a> {
    /// The sum over the rows that were scored.
    pub near: LogSum,
    /// The nodes that were not opened.
    pub frontier: Frontier<'a>,
    /// True if nodes were left unopened because there was no room for their children.
    pub overflowed: bool,
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
    let expand = if model.links().is_some() { budget.expand } else { 0 };
    let mut search = Search {
        model,
        tree,
        query,
        row_scorer: model.rows().scorer(query),
        node_scorer: tree.nodes().scorer(query),
        spread: tree.spread_of(query),
        high_scores: HighScores { top, best: BestRows::new(expand), threshold: Log2::MIN },
        seen: Seen::new(buffers.seen),
        frontier: Frontier::new(buffers.frontier),
        overflowed: false,
        near: LogSum::new(),
        // No sound tree takes more; a damaged one that was trusted could otherwise go round and round.
        left: (budget.cap as usize).min(model.classes() + tree.len()),
        rows: 0,
        nodes: 0,
        looks_ahead: expand > 0 || budget.epsilon > 0.0,
        enough: if budget.epsilon > 0.0 {
            (float::rough_log2(budget.epsilon) * (1u32 << Log2::FRACTION_BITS) as f32) as i32
        } else {
            i32::MIN
        },
        scores: [0; BLOCK],
        filled: 0,
        linked: [0; LINKED],
    };
    search.run();
    search.add_scores();
    SearchResult {
        near: search.near,
        overflowed: search.overflowed,
        seen: search.seen,
        spread: search.spread,
        work: Work::of(search.rows, search.nodes, model.rows().row_bytes()),
        frontier: search.frontier,
    }
}

struct Search<'a, 'm, 's, T> {
    model: &'a Model<'m>,
    tree: &'a Tree<'m>,
    query: &'a Query,
    row_scorer: Scorer<'a>,
    node_scorer: Scorer<'a>,
    spread: Spread,
    high_scores: HighScores<'a, T>,
    seen: Seen<'s>,
    frontier: Frontier<'s>,
    overflowed: bool,
    near: LogSum,
    /// Row-equivalents that may still be spent.
    left: usize,
    rows: usize,
    nodes: usize,
    /// True if the predicted mass of the next node decides anything before it is opened.
    looks_ahead: bool,
    /// log₂ of ε, as roughly, as the bits of a [`Log2`]; the smallest number where there is no ε.
    enough: i32,
    /// The bits of scores, and how many of them are still to be added to `near`: many at once are cheaper.
    scores: [i32; BLOCK],
    filled: usize,
    /// The rows that links lead to.
    linked: [u32; LINKED],
}

impl<T: Offer> Search<'_, '_, '_, T> {
    fn run(&mut self) {
        // The top nodes are the children of a root that the file does not have.
        let mut span = Span { children: self.tree.top(), ..Span::default() };
        if span.children > self.left {
            return;
        }
        loop {
            if span.is_leaf() {
                self.score_leaf(span.first_row, span.rows);
            } else {
                self.predict(span.first_child, span.children);
            }
            // Where memory was short and there is no heap any more, nothing is known of the next node.
            if self.looks_ahead
                && let Some(next) = self.frontier.peek()
            {
                // Until a row alone holds twice as much as the next node is predicted to, the tree leads to better rows, and to better links.
                self.follow_links_from(next.priority.saturating_add(TWICE));
                if self.is_little(next.priority) {
                    return;
                }
            }
            let Some(next) = self.take_next(&span) else {
                return self.follow_links_from(Log2::MIN);
            };
            span = next;
        }
    }

    /// Tells whether a node with this predicted mass is not worth opening: that is at most ε of what was scored, by a logarithm to a
    /// tenth of a bit. ε was chosen by the same rule.
    #[inline(never)]
    fn is_little(&mut self, predicted: Log2) -> bool {
        if self.enough == i32::MIN {
            return false;
        }
        self.add_scores();
        predicted.to_bits().saturating_sub(self.near.rough_bits()) <= self.enough
    }

    /// Takes the node that is opened next off the frontier: the best one, if there is enough left for it. Where there is no room
    /// for its children, or a way down to a row has to be kept, it is the best of those that can be opened, and others stay
    /// closed. `parent` is the node that was opened last.
    #[inline]
    fn take_next(&mut self, parent: &Span) -> Option<Span> {
        loop {
            let has_heap = self.frontier.has_heap();
            if !has_heap {
                let choice = Choice { has_row: self.rows > 0, left: self.left, parent: *parent };
                choice.choose(self.tree, &mut self.frontier);
            }
            let next = self.frontier.peek()?;
            let span = self.tree.span(next.node);
            // An answer without a class is none: until a row was scored, enough is kept for a way down to one.
            let (cost, words) = if self.rows == 0 && has_heap { self.kept_for_descent() } else { (0, 0) };
            if self.can_pay(&span, cost) {
                if span.is_leaf() || self.frontier.has_room(span.children, words) {
                    self.frontier.pop();
                    return Some(span);
                }
                self.overflowed = true;
            } else if self.rows > 0 {
                return None;
            }
            if !has_heap {
                return None;
            }
            self.frontier.drop_heap();
        }
    }

    #[cold]
    fn kept_for_descent(&self) -> (usize, usize) {
        let descent = self.tree.descent();
        (descent.cost as usize, words_for_descent(&descent))
    }

    /// Tells whether the work that is left is enough for opening a node, and for `kept` row-equivalents more.
    #[inline]
    fn can_pay(&self, span: &Span, kept: usize) -> bool {
        if !span.is_leaf() {
            return self.left >= span.children.saturating_add(kept);
        }
        // Rows that were reached before cost nothing; they are counted only where it matters.
        self.left >= span.rows || self.left >= span.rows - self.seen.count(span.first_row, span.rows).min(span.rows)
    }

    /// Puts nodes on the frontier, which has room for them.
    #[inline(never)]
    fn predict(&mut self, first: usize, count: usize) {
        self.left = self.left.saturating_sub(count);
        self.nodes += count;
        // A damaged tree that was trusted may name nodes that are not there: no place may be left without a number.
        let (mut at, end) = (first, first.saturating_add(count).min(self.tree.len()));
        while at < end {
            let (first, count) = (at, BLOCK.min(end - at));
            at += count;
            let (tree, query, scorer, spread) = (self.tree, self.query, &self.node_scorer, &self.spread);
            self.frontier.push(first, count, |words| tree.priorities(first, scorer, query, spread, words));
        }
    }

    /// Scores the rows of a leaf that were not reached before: run by run, most often all of them at once.
    #[inline(never)]
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
                self.row_scorer.scores(first, self.query, scores);
                self.high_scores.offer(self.model, scores, |i| first + i);
                self.count(count);
            }
        }
    }

    /// Counts scores that were put after those that are filled.
    #[inline]
    fn count(&mut self, scores: usize) {
        self.filled += scores;
        self.rows += scores;
        self.left = self.left.saturating_sub(scores);
    }

    /// Makes room for this many scores.
    #[inline]
    fn make_room(&mut self, scores: usize) {
        if self.filled + scores > BLOCK {
            self.add_scores();
        }
    }

    #[inline(never)]
    fn add_scores(&mut self) {
        self.near.add_all(self.scores.get(..self.filled).unwrap_or(&[]));
        self.filled = 0;
    }

    /// Follows the links of the best rows that have at least this score; of rows that they lead to as well.
    fn follow_links_from(&mut self, least: Log2) {
        while let Some(row) = self.high_scores.best.next_from(least) {
            self.follow_links(row);
        }
    }

    /// Scores the rows that a row leads to, as far as the budget goes.
    fn follow_links(&mut self, row: usize) {
        match self.model.links().map(|links| links.of(row)) {
            Some(Indices::Short(links)) => links.chunks(LINKED).for_each(|links| self.score_links(links)),
            Some(Indices::Long(links)) => links.chunks(LINKED).for_each(|links| self.score_links(links)),
            None => {}
        }
    }

    fn score_links<I: Copy + Into<u32>>(&mut self, links: &[I]) {
        let (mut len, most) = (0, self.left.min(LINKED));
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

    /// Scores the first `count` linked rows.
    #[inline(never)]
    fn score_linked(&mut self, count: usize) {
        self.make_room(count);
        let places = self.scores.get_mut(self.filled..self.filled + count);
        if let (Some(linked), Some(scores)) = (self.linked.get(..count), places) {
            self.row_scorer.scores_of(linked, self.query, scores);
            self.high_scores.offer(self.model, scores, |i| linked.get(i).map_or(0, |&row| row as usize));
            self.count(count);
        }
    }
}

/// The two receivers of high scores: the list of the best classes, and the rows whose links are followed.
struct HighScores<'a, T> {
    top: &'a mut T,
    best: BestRows,
    /// The score from which on one of them needs the row.
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
                self.show(model, row_of(i), score);
            }
        }
    }

    #[inline(never)]
    fn show(&mut self, model: &Model<'_>, row: usize, score: Log2) {
        self.best.offer(row, score);
        self.top.offer(model, row, score);
        self.threshold = self.best.threshold().min(self.top.threshold());
    }
}
