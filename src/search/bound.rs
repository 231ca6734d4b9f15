//! How long a search can take: instructions and cycles that no query exceeds, whatever it is, with any memory.
//!
//! A search does a few things over and over: it predicts families of nodes, takes nodes out of the heap, scores leaves, follows
//! links, keeps the best. [`Prices`] say what each takes, on a Cortex-M4 with the DSP instructions. How often each can be done
//! follows from the tree. With a node that is opened come its time and its row-equivalents, and all of them together keep to the
//! cap: a knapsack. For any time λ of a row-equivalent
//!
//! ```text
//! time ≤ fixed + λ·(cap − top) + Σ over families of max(0, time − λ·row-equivalents)
//! ```
//!
//! where a family is taken with those of its leaves that are worth more than λ, since no leaf is opened before its family was
//! predicted. The λ for which that is least is found by halving. What a tree says nothing about, a search pays for in
//! row-equivalents from some number on (see `best_first`): λ is never below what such a payment stands for.

use super::FAMILY;
use super::best_first::{FOLLOWS, FREE_HIGH_SCORES, FREE_HIGH_SCORES_SHARE, LINKED, high_score_price, set_aside_price};
use super::counts::Count;
use crate::model::{Bits, Budget, Model};
use crate::tree::Tree;

/// What things take: a number, and so many sixteenths for each column.
#[derive(Clone, Copy)]
pub(crate) struct Prices {
    /// A query that finds nothing, with its answer.
    query: u32,
    /// Each column of a query, and of the row that tells how familiar it is.
    column: u32,
    /// The marks of 32 rows.
    marks: u32,
    /// By [`Count`].
    counts: [u32; Count::ALL],
    /// Sixteenths for each column of a row: three at a time, and singly.
    by_three: u32,
    singly: u32,
    /// A row where all are scored.
    exact: u32,
}

/// The knapsack of one model.
struct Knapsack<'a> {
    tree: &'a Tree<'a>,
    prices: &'a Prices,
    columns: u64,
    /// Levels of the heap.
    levels: u64,
    /// λ is not below this.
    least: u64,
    /// What does not depend on the cap, and what each row-equivalent of it takes besides λ.
    fixed: u64,
    per_cap: u64,
    /// Rows that links reach at most, and what each of them takes more than as a row of a leaf.
    linked: u64,
    per_linked: u64,
}

/// Rounds of halving λ.
const ROUNDS: u32 = 14;

impl Prices {
    fn of(&self, count: Count, columns: u64) -> u64 {
        let own = u64::from(self.counts.get(count as usize).copied().unwrap_or(0));
        let per_column = match count {
            Count::NodesByThree | Count::RowsByThree | Count::LinkedByThree => self.by_three,
            Count::NodesSingly | Count::RowsSingly | Count::LinkedSingly => self.singly,
            _ => 0,
        };
        u64::from(per_column) * columns / 16 + own
    }

    /// What is done once: quantising, marks, the answer.
    fn once(&self, model: &Model<'_>, columns: u64) -> u64 {
        let marks = (model.classes() / 32 + 1) as u64;
        u64::from(self.query) + u64::from(self.column) * columns / 16 + u64::from(self.marks) * marks / 16
    }
}

impl<'a> Knapsack<'a> {
    #[cold]
    fn new(model: &'a Model<'a>, tree: &'a Tree<'a>, expand: u32, prices: &'a Prices) -> Self {
        let columns = model.rows().stride() as u64;
        let price = |count| prices.of(count, columns);
        let descent = tree.descent();
        // Every inner node is a family, or several.
        let families: usize = (0..tree.len()).map(|node| tree.span(node).children.div_ceil(FAMILY)).sum();
        let levels = u64::from((families + tree.top().div_ceil(FAMILY) + 1).ilog2());
        let set_aside = price(Count::Pops)
            + price(Count::SetAside)
            + price(Count::Siblings) * FAMILY as u64
            + price(Count::Sink) * levels;
        let pays = [
            price(Count::HighScores).div_ceil(high_score_price(columns as usize) as u64),
            set_aside.div_ceil(set_aside_price(columns as usize) as u64),
            price(Count::LinkedByThree) / 3,
        ];
        let mut this = Self {
            tree,
            prices,
            columns,
            levels,
            least: pays.into_iter().max().unwrap_or(0),
            fixed: prices.once(model, columns),
            per_cap: price(Count::HighScores).div_ceil(FREE_HIGH_SCORES_SHARE.into()),
            linked: 0,
            per_linked: 0,
        };
        this.fixed += price(Count::HighScores) * u64::from(FREE_HIGH_SCORES) + price(Count::Sums);
        this.fixed += this.family(tree.top());
        // The families of a way down to the first row, which enter the heap once more.
        let held = u64::from(descent.families) + u64::from(descent.nodes) / FAMILY as u64;
        this.fixed += held * (price(Count::Held) + levels * price(Count::Rise));
        if let Some(links) = model.links() {
            let (follows, per_row) = (u64::from(FOLLOWS * expand), links.per_row() as u64);
            let reads = per_row.div_ceil(LINKED as u64);
            let single = price(Count::LinkedSingly).saturating_sub(price(Count::LinkedByThree) / 3);
            let read = price(Count::Linked) + price(Count::Sums) + 2 * single;
            this.fixed += follows * (price(Count::Follows) + per_row * price(Count::Links) + reads * read);
            // Where it is one of a leaf, that has to be read in two parts.
            this.linked = follows * per_row;
            this.per_linked = price(Count::Runs) + single;
        }
        this
    }

    /// Nodes of a family.
    fn family(&self, children: usize) -> u64 {
        let price = |count| self.prices.of(count, self.columns);
        let parts = children.div_ceil(FAMILY) as u64;
        let (whole, rest) = (children / FAMILY, children % FAMILY);
        let by_three = (whole * (FAMILY / 3) + rest / 3) as u64;
        let singly = (whole * (FAMILY % 3) + rest % 3) as u64;
        parts * (price(Count::Families) + price(Count::Rise) * self.levels)
            + by_three * price(Count::NodesByThree)
            + singly * price(Count::NodesSingly)
    }

    /// Takes a node out of the heap that has so many brothers and sisters.
    fn taking_out(&self, siblings: usize) -> u64 {
        let price = |count| self.prices.of(count, self.columns);
        price(Count::Pops) + price(Count::Siblings) * siblings.min(FAMILY) as u64 + price(Count::Sink) * self.levels
    }

    /// The rows of a leaf.
    fn leaf(&self, rows: usize) -> u64 {
        let price = |count| self.prices.of(count, self.columns);
        let (whole, rest) = (rows / FAMILY, rows % FAMILY);
        let blocks = rows.div_ceil(FAMILY) as u64;
        price(Count::Leaves)
            + price(Count::Words) * (rows as u64 / 32 + 2)
            + blocks * (price(Count::Runs) + price(Count::Sums))
            + (whole * (FAMILY / 3) + rest / 3) as u64 * price(Count::RowsByThree)
            + (whole * (FAMILY % 3) + rest % 3) as u64 * price(Count::RowsSingly)
    }

    /// What opening every family and every leaf that is worth more than λ is worth above it, and the row-equivalents of it.
    fn above(&self, lambda: u64) -> (u64, u64) {
        let (mut value, mut row_equivalents) = (0, 0);
        // The top nodes are predicted in any case.
        let mut add = |siblings, own: u64, first: usize, children: usize| {
            let (mut time, mut taken) = (own, if siblings == 0 { 0 } else { children as u64 });
            for child in first..first + children {
                let span = self.tree.span(child);
                if span.is_leaf() {
                    let leaf = self.taking_out(children) + self.leaf(span.rows);
                    let rows = span.rows as u64;
                    if leaf > lambda * rows {
                        (time, taken) = (time + leaf, taken + rows);
                    }
                }
            }
            if time > lambda * taken {
                (value, row_equivalents) = (value + time - lambda * taken, row_equivalents + taken);
            }
        };
        add(0, 0, 0, self.tree.top());
        for node in 0..self.tree.len() {
            let span = self.tree.span(node);
            if !span.is_leaf() {
                // It is not known here how many brothers and sisters it has.
                add(FAMILY, self.taking_out(FAMILY) + self.family(span.children), span.first_child, span.children);
            }
        }
        (value, row_equivalents)
    }

    /// The least of `better` over all λ; `spent` says how many row-equivalents there are for a λ and what is above it.
    fn best_of(&self, mut spent: impl FnMut(u64, u64) -> u64) {
        let (mut low, mut high) = (self.least, 4 * self.taking_out(FAMILY) + 4 * self.leaf(1) + 4 * self.least);
        for round in 0..ROUNDS {
            let lambda = if round == 0 { low } else { low.midpoint(high) };
            let (value, row_equivalents) = self.above(lambda);
            if row_equivalents > spent(lambda, value) { low = lambda } else { high = lambda }
        }
    }

    /// The most that a search with this cap takes.
    fn time(&self, cap: u64) -> u64 {
        let left = cap.saturating_sub(self.tree.top() as u64);
        let fixed = self.fixed + cap * self.per_cap + self.linked.min(left) * self.per_linked;
        let mut least = u64::MAX;
        self.best_of(|lambda, value| {
            least = least.min(fixed + lambda * left + value);
            left
        });
        least
    }

    /// The largest cap with which no search takes more than `limit`.
    fn cap(&self, limit: u64) -> u64 {
        let (top, mut most) = (self.tree.top() as u64, 0);
        self.best_of(|lambda, value| {
            // Either all rows that links can reach are in it, or every row-equivalent is one.
            let fixed = self.fixed + value + self.per_cap * top;
            let with_all = (fixed + self.linked * self.per_linked, lambda + self.per_cap);
            let with_each = (fixed, lambda + self.per_cap + self.per_linked);
            let left =
                [with_all, with_each].map(|(fixed, each)| limit.checked_sub(fixed).map(|left| left / each.max(1)));
            let left = left.into_iter().flatten().max();
            most = most.max(left.map_or(0, |left| left + top));
            left.unwrap_or(0)
        });
        most
    }
}

/// The most that a query of a model takes within a budget.
#[cold]
pub(crate) fn time(model: &Model<'_>, budget: &Budget, prices: [&Prices; 2]) -> u64 {
    let prices = prices_of(model, prices);
    let Some(tree) = model.tree() else {
        let columns = model.rows().stride() as u64;
        let row = prices.of(Count::RowsByThree, columns) / 3 + u64::from(prices.exact);
        return prices.once(model, columns) + row * model.classes() as u64;
    };
    // No search spends more.
    let cap = u64::from(budget.cap).min((model.classes() + tree.len()) as u64);
    Knapsack::new(model, tree, budget.expand, prices).time(cap)
}

/// The largest cap with which no query of a model takes more than `limit`; zero if there is none.
#[cold]
pub(crate) fn cap(model: &Model<'_>, expand: u32, limit: u64, prices: [&Prices; 2]) -> u32 {
    match model.tree() {
        Some(tree) => {
            let most = (model.classes() + tree.len()) as u64;
            Knapsack::new(model, tree, expand, prices_of(model, prices)).cap(limit).min(most) as u32
        }
        None if time(model, &Budget::new(u32::MAX), prices) <= limit => model.classes() as u32,
        None => 0,
    }
}

/// What a search with these counts takes.
#[cfg(feature = "std")]
pub(crate) fn of_counts(model: &Model<'_>, counts: &[u32; Count::ALL], prices: [&Prices; 2]) -> u64 {
    let (prices, columns) = (prices_of(model, prices), model.rows().stride() as u64);
    let each = Count::EACH.iter().zip(counts).map(|(&count, &times)| prices.of(count, columns) * u64::from(times));
    prices.once(model, columns) + each.sum::<u64>()
}

fn prices_of<'p>(model: &Model<'_>, [eight, four]: [&'p Prices; 2]) -> &'p Prices {
    if model.bits() == Bits::Eight { eight } else { four }
}

// Measured from above, by the example `bound`: int8 rows, and 4-bit ones.

/// Instructions.
pub(crate) const INSTRUCTIONS: [&Prices; 2] = [
    &Prices {
        query: 2987,
        column: 589,
        marks: 14,
        counts: [271, 52, 208, 9, 37, 299, 9, 181, 73, 90, 15, 105, 119, 37, 109, 145, 19, 278, 102, 70, 247],
        by_three: 62,
        singly: 25,
        exact: 186,
    },
    &Prices {
        query: 2987,
        column: 589,
        marks: 14,
        counts: [421, 112, 288, 9, 37, 299, 9, 181, 73, 90, 15, 185, 269, 97, 109, 145, 19, 358, 252, 130, 247],
        by_three: 108,
        singly: 47,
        exact: 186,
    },
];

/// Cycles without wait states.
pub(crate) const CYCLES: [&Prices; 2] = [
    &Prices {
        query: 4516,
        column: 779,
        marks: 13,
        counts: [356, 166, 470, 12, 32, 387, 11, 232, 93, 140, 19, 134, 178, 47, 78, 186, 24, 356, 232, 131, 428],
        by_three: 64,
        singly: 31,
        exact: 258,
    },
    &Prices {
        query: 4516,
        column: 779,
        marks: 13,
        counts: [506, 226, 550, 12, 32, 387, 11, 232, 93, 140, 19, 214, 328, 107, 78, 186, 24, 436, 382, 191, 428],
        by_three: 112,
        singly: 58,
        exact: 258,
    },
];
