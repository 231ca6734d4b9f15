//! The search itself.

use super::best::BestRows;
use super::counts::{Count, Counts};
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
pub(super) const LINKED: usize = 12;

const TWICE: Log2 = Log2::from_bits(1 << Log2::FRACTION_BITS);

/// What a search leaves: everything is in `near` or in one of the unopened nodes, and rows that links reached may be in both.
/// There is at least one row in `near` if the cap was at least [`Tree::least_cap`] and the file is sound.
pub(crate) struct SearchResult<'a> {
    /// The sum over the rows that were scored.
    pub near: LogSum,
    /// The nodes that were not opened.
    pub frontier: Frontier<'a>,
    /// Whether nodes were left unopened because there was no room for their children.
    pub overflowed: bool,
    /// The rows that were scored.
    pub seen: Seen<'a>,
    /// The shape of the spread for this query.
    pub spread: Spread,
    pub work: Work,
    /// What was done, for a host that wants to know what it takes.
    pub counts: Counts,
}

// What keeps the time of every search within what its cap says, beside the dot products that a cap counts: see `bound`.

/// A search follows the links of so many times [`Budget::expand`] rows at most.
pub(super) const FOLLOWS: u32 = 3;

/// Scores that are high enough for a list are free up to so many, and one of so many row-equivalents of the cap. Few searches reach
/// that; from there on each counts as [`high_score_price`].
pub(super) const FREE_HIGH_SCORES: u32 = 48;
pub(super) const FREE_HIGH_SCORES_SHARE: u32 = 8;

/// The row-equivalents that a high score counts as.
pub(super) const fn high_score_price(columns: usize) -> usize {
    if columns < 32 { 4 } else { 2 }
}

/// The row-equivalents that a node counts as which is set aside: as many as take the same time with rows of this many columns.
pub(super) const fn set_aside_price(columns: usize) -> usize {
    if columns < 32 { 5 } else { 2 }
}

/// Searches the tree within a budget; every row that is scored is offered to `top`.
pub(crate) fn best_first<'s>(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    budget: &Budget,
    buffers: Buffers<'s>,
    top: impl Offer,
) -> SearchResult<'s> {
    let mut search = Search::new(model, tree, query, budget, buffers, top);
    search.start();
    while search.advance() {}
    search.add_scores();
    let (work, counts) = (search.work(), search.counts());
    let Search { near, overflowed, seen, spread, frontier, .. } = search;
    SearchResult { near, frontier, overflowed, seen, spread, work, counts }
}

/// A search that goes on node by node.
pub(crate) struct Search<'a, 'm, 's, T> {
    model: &'a Model<'m>,
    tree: &'a Tree<'m>,
    query: &'a Query,
    row_scorer: Scorer<'a>,
    node_scorer: Scorer<'a>,
    spread: Spread,
    high_scores: HighScores<T>,
    seen: Seen<'s>,
    frontier: Frontier<'s>,
    overflowed: bool,
    /// Whether only a way down to the first row is left.
    goes_down: bool,
    near: LogSum,
    rows: usize,
    nodes: usize,
    /// Rows whose links may still be followed.
    follows: u32,
    /// Whether what the next node is predicted to hold decides anything before it is opened.
    looks_ahead: bool,
    /// log₂ of ε, as roughly, as the bits of a [`Log2`]; the smallest number where there is no ε.
    enough: i32,
    /// The bits of scores, and how many of them are still to be added to `near`: many at once are cheaper.
    scores: [i32; BLOCK],
    filled: usize,
    /// The rows that links lead to.
    linked: [u32; LINKED],
    counts: Counts,
}

impl<'a, 'm, 's, T: Offer> Search<'a, 'm, 's, T> {
    /// A search that is still to be [started](Self::start).
    // Moved nowhere: that would be half a kilobyte.
    #[inline(always)]
    pub fn new(
        model: &'a Model<'m>,
        tree: &'a Tree<'m>,
        query: &'a Query,
        budget: &Budget,
        buffers: Buffers<'s>,
        top: T,
    ) -> Self {
        let expand = if model.links().is_some() { budget.expand } else { 0 };
        // No sound tree takes more; a damaged one that was trusted could otherwise go round and round.
        let left = (budget.cap as usize).min(model.classes() + tree.len());
        let free = if top.is_list() { FREE_HIGH_SCORES + budget.cap / FREE_HIGH_SCORES_SHARE } else { u32::MAX };
        Self {
            model,
            tree,
            query,
            row_scorer: model.rows().scorer(query),
            node_scorer: tree.nodes().scorer(query),
            spread: tree.spread_of(query),
            high_scores: HighScores {
                top,
                best: BestRows::new(expand),
                threshold: Log2::MIN,
                left,
                free,
                counts: Counts::default(),
            },
            seen: Seen::new(buffers.seen),
            frontier: Frontier::new(buffers.frontier),
            overflowed: false,
            goes_down: false,
            near: LogSum::new(),
            rows: 0,
            nodes: 0,
            follows: FOLLOWS * expand,
            looks_ahead: expand > 0 || budget.epsilon > 0.0,
            enough: if budget.epsilon > 0.0 {
                (float::rough_log2(budget.epsilon) * (1u32 << Log2::FRACTION_BITS) as f32) as i32
            } else {
                i32::MIN
            },
            scores: [0; BLOCK],
            filled: 0,
            linked: [0; LINKED],
            counts: Counts::default(),
        }
    }

    /// Predicts the top nodes, the children of a root that the file does not have: before anything else.
    #[inline]
    pub fn start(&mut self) {
        if self.tree.top() <= self.high_scores.left {
            self.predict(0, self.tree.top());
        }
    }

    /// Opens one node more, and follows the links of the rows that are better than it; false if there is nothing more to do.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if self.looks_ahead
            && let Some(next) = self.frontier.peek()
        {
            // Until a row alone holds twice as much as the next node is predicted to, the tree leads to better rows, and to better links.
            self.follow_links_from(next.priority.saturating_add(TWICE));
            if self.is_little(next.priority) {
                return false;
            }
        }
        let Some(span) = self.take_next() else {
            self.follow_links_from(Log2::MIN);
            return false;
        };
        if span.is_leaf() {
            self.score_leaf(span.first_row, span.rows);
        } else {
            self.predict(span.first_child, span.children);
        }
        true
    }

    /// Ends the search: what was not opened stays on the frontier.
    pub fn into_result(mut self) -> SearchResult<'s> {
        self.add_scores();
        let (work, counts) = (self.work(), self.counts());
        let Self { near, overflowed, seen, spread, frontier, .. } = self;
        SearchResult { near, frontier, overflowed, seen, spread, work, counts }
    }

    #[inline]
    fn counts(&self) -> Counts {
        self.counts.with(&self.high_scores.counts).with(&self.frontier.counts)
    }

    /// Who was shown the scores.
    pub fn top(&self) -> &T {
        &self.high_scores.top
    }

    /// What was spent so far.
    #[inline]
    pub fn work(&self) -> Work {
        Work::of(self.rows, self.nodes, self.model.rows().row_bytes())
    }

    /// Whether a node that is predicted to hold this much is not worth opening: at most ε of what was scored, by a logarithm to a
    /// tenth of a bit. ε was chosen by the same rule.
    #[inline(never)]
    fn is_little(&mut self, predicted: Log2) -> bool {
        if self.enough == i32::MIN {
            return false;
        }
        self.add_scores();
        predicted.to_bits().saturating_sub(self.near.rough_bits()) <= self.enough
    }

    /// Takes the node that is opened next off the frontier: the best one that there is room for, if there is enough left for it.
    #[inline]
    fn take_next(&mut self) -> Option<Span> {
        loop {
            let next = self.frontier.peek()?;
            let span = self.tree.span(next.node);
            // An answer without a class is none: until a row was scored, enough is kept for a way down to one.
            let goes_down = self.rows == 0 && self.goes_down(&span);
            if !self.can_pay(&span) {
                return None;
            }
            if span.is_leaf() || self.frontier.has_room(span.children, 0) {
                self.frontier.pop();
                if goes_down {
                    cold_path();
                    if span.is_leaf() { self.frontier.show_all() } else { self.frontier.hide() }
                }
                return Some(span);
            }
            self.set_aside();
        }
    }

    /// Leaves the best node unopened for good, because there is no room for its children.
    ///
    /// That takes time, so it is paid for: otherwise a search with little memory would take longer than one with enough.
    #[cold]
    #[inline(never)]
    fn set_aside(&mut self) {
        self.overflowed = true;
        self.frontier.set_aside();
        self.counts.add(Count::SetAside, 1);
        self.high_scores.pay(set_aside_price(self.query.values().len()));
    }

    /// Whether to open only the best child of a node, the best of its children, and so on: where there is not enough for a way down
    /// to a row beside the node's children, and from there on.
    #[cold]
    #[inline(never)]
    fn goes_down(&mut self, span: &Span) -> bool {
        if !self.goes_down && !span.is_leaf() {
            let descent = self.tree.descent();
            let can_pay = self.high_scores.left >= span.children.saturating_add(descent.cost as usize);
            let has_room = self.frontier.has_room(span.children, words_for_descent(&descent));
            self.overflowed |= can_pay && !has_room;
            self.goes_down = !(can_pay && has_room);
        }
        self.goes_down
    }

    /// Whether what is left is enough for opening a node.
    #[inline]
    fn can_pay(&self, span: &Span) -> bool {
        let left = self.high_scores.left;
        if !span.is_leaf() {
            return left >= span.children;
        }
        // Rows that were reached before cost nothing; they are counted only where it matters.
        left >= span.rows || left >= span.rows - self.seen.count(span.first_row, span.rows).min(span.rows)
    }

    /// Puts nodes on the frontier, which has room for them.
    #[inline(never)]
    fn predict(&mut self, first: usize, count: usize) {
        self.high_scores.pay(count);
        self.nodes += count;
        // A damaged tree that was trusted may name nodes that are not there: no place may be left without a number.
        let (mut at, end) = (first, first.saturating_add(count).min(self.tree.len()));
        while at < end {
            let (first, count) = (at, BLOCK.min(end - at));
            at += count;
            self.counts.add_rows(Count::NodesByThree, Count::NodesSingly, count);
            let (tree, query, scorer, spread) = (self.tree, self.query, &self.node_scorer, &self.spread);
            self.frontier.push(first, count, |words| tree.priorities(first, scorer, query, spread, words));
        }
    }

    /// Scores the rows of a leaf that were not reached before: run by run, most often all of them at once.
    #[inline(never)]
    fn score_leaf(&mut self, first: usize, count: usize) {
        let (mut run, mut run_end) = (first, first);
        self.counts.add(Count::Leaves, 1);
        for (word, mask) in masks(first, first.saturating_add(count).min(self.model.classes())) {
            self.counts.add(Count::Words, 1);
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
            self.counts.add(Count::Runs, 1);
            self.counts.add_rows(Count::RowsByThree, Count::RowsSingly, count);
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
        self.high_scores.pay(scores);
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
        self.counts.add(Count::Sums, usize::from(self.filled > 0));
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
        // Rows that links lead to can be among the best in their turn.
        if self.follows == 0 {
            return;
        }
        self.follows -= 1;
        self.counts.add(Count::Follows, 1);
        match self.model.links().map(|links| links.of(row)) {
            Some(Indices::Short(links)) => links.chunks(LINKED).for_each(|links| self.score_links(links)),
            Some(Indices::Long(links)) => links.chunks(LINKED).for_each(|links| self.score_links(links)),
            None => {}
        }
    }

    fn score_links<I: Copy + Into<u32>>(&mut self, links: &[I]) {
        self.counts.add(Count::Links, links.len());
        let (mut len, most) = (0, self.high_scores.left.min(LINKED));
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
        self.counts.add(Count::Linked, 1);
        self.counts.add_rows(Count::LinkedByThree, Count::LinkedSingly, count);
        let places = self.scores.get_mut(self.filled..self.filled + count);
        if let (Some(linked), Some(scores)) = (self.linked.get(..count), places) {
            self.row_scorer.scores_of(linked, self.query, scores);
            self.high_scores.offer(self.model, scores, |i| linked.get(i).map_or(0, |&row| row as usize));
            self.count(count);
        }
    }
}

/// Those who look at high scores: the list of the best classes, and the rows whose links are followed.
struct HighScores<T> {
    top: T,
    best: BestRows,
    /// What a score has to reach for one of them to look at it.
    threshold: Log2,
    /// Row-equivalents that may still be spent.
    left: usize,
    /// Scores that may be looked at before that costs anything.
    free: u32,
    counts: Counts,
}

impl<T: Offer> HighScores<T> {
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
        self.counts.add(Count::HighScores, 1);
        if self.free > 0 {
            self.free -= 1;
        } else {
            self.pay(high_score_price(model.rows().stride()));
        }
        self.best.offer(row, score);
        self.top.offer(model, row, score);
        self.threshold = self.best.threshold().min(self.top.threshold());
    }

    #[inline]
    fn pay(&mut self, row_equivalents: usize) {
        self.left = self.left.saturating_sub(row_equivalents);
    }
}
