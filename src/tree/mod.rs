//! The static tree over the rows: how much mass a node holds for a query, without opening it.
//!
//! A node stands for consecutive rows. Its log-mass is predicted by one dot product and two numbers:
//!
//! ```text
//! ln n + m + σ²/2        where σ² ≤ 2 ln n       m = w·q + b,  σ² = t·F(q)
//! m + σ·sqrt(2 ln n)     where σ² > 2 ln n       F(q) = f₀ + f₁·‖q‖²
//! ```
//!
//! The first line is the second-order cumulant expansion of ln Σ exp. The second is its freezing point (the random
//! energy model): n draws of a Gaussian do not reach further out than sqrt(2 ln n) deviations, so no mass can sit
//! there. w and b are the mean of the rows, or the linear function of the query that fits the true log-mass best on
//! the calibration queries: it costs the same dot product.

mod bounds;
mod descent;
mod span;
mod spread;

pub use bounds::Bounds;
pub(crate) use descent::Descent;
pub use span::Span;
pub use spread::{Spread, SpreadFunction};

use crate::hint::keep_small;
use crate::math::Log2;
use crate::rows::{Indices, Query, RowTable};

/// The tree of a model.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    nodes: RowTable<'a>,
    spans: Indices<'a>,
    spreads: &'a [[u16; 3]],
    gains: &'a [i16],
    bounds: Option<&'a [[u16; Bounds::FIELDS]]>,
    top: usize,
    descent: Descent,
    spread_function: SpreadFunction,
}

/// What is wrong with a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsound {
    /// The spans, or what all nodes share.
    Spans,
    /// The bounds of a node.
    Bounds,
}

/// Fraction bits of a stored gain.
pub(crate) const GAIN_BITS: u32 = 10;

/// No tree has more nodes: their numbers leave five bits of a word to a search.
const MAX_NODES: usize = 1 << 27;

/// Words of the section that describes the tree.
pub(crate) const INFO_WORDS: usize = 8;
/// Those of them that say something; the others are zero.
pub(crate) const INFO_USED: usize = 6;
/// The one that says what the nodes' biases are shifted by.
pub(crate) const INFO_BIAS_SHIFT: usize = 5;

impl<'a> Tree<'a> {
    pub(crate) fn new(
        nodes: RowTable<'a>,
        spans: Indices<'a>,
        spreads: &'a [[u16; 3]],
        gains: &'a [i16],
        bounds: Option<&'a [[u16; Bounds::FIELDS]]>,
        info: &[u32; INFO_WORDS],
        known: Option<Descent>,
    ) -> Option<Self> {
        let spread_function = SpreadFunction::from_words([info[1], info[2], info[3], info[4]]);
        let len = nodes.len();
        let fits = len <= MAX_NODES && spans.len() == len * Span::FIELDS && spreads.len() == len && gains.len() == len;
        let top = info[0] as usize;
        // The one thing here that looks at every node.
        let worst = || Descent::worst((0..len).map(|node| Span::read_slowly(&spans, node)), top);
        let descent = known.unwrap_or_else(worst);
        fits.then_some(Self { nodes, spans, spreads, gains, bounds, top, descent, spread_function })
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The first nodes, `0..top()`, are those that no other node is above.
    pub fn top(&self) -> usize {
        self.top
    }

    /// What no way from a top node down to the rows of a leaf costs more than.
    pub(crate) fn descent(&self) -> Descent {
        self.descent
    }

    /// The least cap that is enough for a class, whatever the query: the top nodes, and a way down from one of them.
    pub fn least_cap(&self) -> usize {
        self.top.saturating_add(self.descent.cost as usize)
    }

    /// The vectors that predict the nodes' log-masses.
    pub fn nodes(&self) -> &RowTable<'a> {
        &self.nodes
    }

    /// What a node stands for; no rows and no children where there is no such node.
    #[inline]
    pub fn span(&self, node: usize) -> Span {
        Span::read(&self.spans, node)
    }

    /// Whether the file says what is certain about the nodes.
    pub fn has_bounds(&self) -> bool {
        self.bounds.is_some()
    }

    /// What is certain about a node; nothing useful where the file does not say.
    pub fn bounds(&self, node: usize) -> Bounds {
        self.bounds.and_then(|bounds| bounds.get(node)).copied().map(Bounds::from_words).unwrap_or_default()
    }

    /// The shape of the spread for a query.
    pub fn spread_of(&self, query: &Query) -> Spread {
        self.spread_function.of(query)
    }

    /// The priorities of the nodes from `first` on, as `finish` makes words of them: their log-masses, and what their
    /// uncertainty makes opening them worth.
    #[inline]
    pub(crate) fn priorities(
        &self,
        first: usize,
        query: &Query,
        spread: &Spread,
        priorities: &mut [i32],
        mut finish: impl FnMut(Log2) -> i32,
    ) {
        self.nodes.scores(first, query, priorities);
        let spreads = self.spreads.get(first..).unwrap_or(&[]);
        for ((place, &numbers), gain) in priorities.iter_mut().zip(spreads).zip(self.gains_from(first)) {
            keep_small();
            *place = finish(Log2::from_bits(*place).saturating_add(spread.of_node(numbers)).saturating_add(gain));
        }
    }

    /// What uncertainty adds to the places of the nodes from `first` on.
    #[inline]
    pub(crate) fn gains_from(&self, first: usize) -> impl Iterator<Item = Log2> {
        self.gains.get(first..).unwrap_or(&[]).iter().map(|&gain| to_log2(gain))
    }

    /// Calls `each(node, log-mass)` for nodes `first..first + count`, in order.
    #[inline]
    pub(crate) fn for_each_mass(
        &self,
        first: usize,
        count: usize,
        query: &Query,
        spread: &Spread,
        mut each: impl FnMut(usize, Log2),
    ) {
        self.nodes.for_each_score(first, count, query, |node, score| {
            let numbers = self.spreads.get(node).copied().unwrap_or([0; 3]);
            each(node, score.saturating_add(spread.of_node(numbers)));
        });
    }

    /// From a node's predicted log-mass to ½·ln(n·Σ exp(2u)): how much of a sample it should have.
    pub(crate) fn sampling_mass(&self, node: usize, mass: Log2, spread: &Spread) -> Log2 {
        let numbers = self.spreads.get(node).copied().unwrap_or([0; 3]);
        self.score_of(mass, node, spread).saturating_add(spread.of_sampled_node(numbers))
    }

    /// The log-masses of the nodes from `first` on, from their priorities.
    #[inline]
    pub(crate) fn masses_of(&self, first: usize, priorities: impl Iterator<Item = Log2>) -> impl Iterator<Item = Log2> {
        priorities.zip(self.gains_from(first)).map(|(priority, gain)| priority.saturating_sub(gain))
    }

    /// The log-mass of a node with this priority.
    #[inline]
    pub(crate) fn mass_of(&self, priority: Log2, node: usize) -> Log2 {
        Log2::from_bits(priority.to_bits().saturating_sub(self.gain(node).to_bits()))
    }

    /// The node's score, without its spread, from its log-mass.
    pub(crate) fn score_of(&self, mass: Log2, node: usize, spread: &Spread) -> Log2 {
        let numbers = self.spreads.get(node).copied().unwrap_or([0; 3]);
        Log2::from_bits(mass.to_bits().saturating_sub(spread.of_node(numbers).to_bits()))
    }

    #[inline]
    fn gain(&self, node: usize) -> Log2 {
        to_log2(self.gains.get(node).copied().unwrap_or(0))
    }

    /// Every index in range, children below their parents, and each node's rows exactly those of its children.
    #[cold]
    pub(crate) fn check(&self, rows: usize) -> Result<(), Unsound> {
        let wrong = Err(Unsound::Spans);
        if self.top == 0 || self.top > self.len() || !self.spread_function.is_sound() {
            return wrong;
        }
        if (0..self.len()).any(|node| !self.bounds(node).is_sound()) {
            return Err(Unsound::Bounds);
        }
        // The children of all nodes, one family after the other, are exactly the nodes after the top ones.
        let mut next_child = self.top;
        for node in 0..self.len() {
            let span = Span::read_slowly(&self.spans, node);
            let inside = span.rows > 0 && span.first_row.checked_add(span.rows).is_some_and(|end| end <= rows);
            let family = span.is_leaf() || (span.first_child == next_child && span.first_child > node);
            if !inside || !family {
                return wrong;
            }
            next_child = next_child.saturating_add(span.children);
            if !span.is_leaf() && !self.covers(span.first_child, span.children, span.first_row, span.rows) {
                return wrong;
            }
        }
        if next_child != self.len() || !self.covers(0, self.top, 0, rows) { wrong } else { Ok(()) }
    }

    /// Whether consecutive nodes take up these rows, in order and without a gap.
    fn covers(&self, first: usize, count: usize, first_row: usize, rows: usize) -> bool {
        let mut at = first_row;
        for node in first..first.saturating_add(count).min(self.len()) {
            let span = Span::read_slowly(&self.spans, node);
            if span.first_row != at {
                return false;
            }
            at = at.saturating_add(span.rows);
        }
        at == first_row.saturating_add(rows) && first.saturating_add(count) <= self.len()
    }
}

/// A stored gain.
#[inline]
fn to_log2(gain: i16) -> Log2 {
    Log2::from_bits(i32::from(gain) << (Log2::FRACTION_BITS - GAIN_BITS))
}
