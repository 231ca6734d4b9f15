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

use crate::hint::keep_small;
use crate::math::{Log2, float};
use crate::rows::{Indices, Query, RowTable, Scorer};

#[cfg(zhat_dsp)]
mod dsp;
mod spread;

pub use spread::{Spread, SpreadFunction};

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

/// The part of a tree that is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsound {
    /// The spans, or the numbers that all nodes share.
    Spans,
    /// The bounds of a node.
    Bounds,
}

/// The number of fraction bits of a stored gain.
pub(crate) const GAIN_BITS: u32 = 10;

/// The most nodes that are predicted together: five bits number them.
pub(crate) const FAMILY: usize = 32;

/// The most nodes of a tree: a search keeps a node's index in a word, with five bits to spare.
const MAX_NODES: usize = 1 << 27;

/// The number of words of the section that describes the tree.
pub(crate) const INFO_WORDS: usize = 8;
/// The number of words in use; the others are zero.
pub(crate) const INFO_USED: usize = 6;
/// The index of the word with the shift of the nodes' biases.
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
        // Only this step reads every node.
        let worst = || Descent::worst((0..len).map(|node| Span::read_slowly(&spans, node)), top);
        let descent = known.unwrap_or_else(worst);
        fits.then_some(Self { nodes, spans, spreads, gains, bounds, top, descent, spread_function })
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Tells whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the number of nodes that have no node above them. They come first: `0..top()`.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Returns a bound on the cost of any path from a top node down to the rows of a leaf.
    pub(crate) fn descent(&self) -> Descent {
        self.descent
    }

    /// Returns the smallest cap that is enough to score a class, whatever the query: the top nodes, and a path down
    /// from one of them.
    pub fn least_cap(&self) -> usize {
        self.top.saturating_add(self.descent.cost as usize)
    }

    /// Returns the vectors that predict the nodes' log-masses.
    pub fn nodes(&self) -> &RowTable<'a> {
        &self.nodes
    }

    /// Returns a node's rows and children; both are empty if there is no such node.
    #[inline]
    pub fn span(&self, node: usize) -> Span {
        Span::read(&self.spans, node)
    }

    /// Tells whether the file has certain bounds on the nodes.
    pub fn has_bounds(&self) -> bool {
        self.bounds.is_some()
    }

    /// Returns the certain bounds on a node; trivial ones if the file has none.
    pub fn bounds(&self, node: usize) -> Bounds {
        self.bounds.and_then(|bounds| bounds.get(node)).copied().map(Bounds::from_words).unwrap_or_default()
    }

    /// Computes the shape of the spread for a query.
    pub fn spread_of(&self, query: &Query) -> Spread {
        self.spread_function.of(query)
    }

    /// Computes the priorities of a family of nodes from `first` on, and returns the largest. A priority is the node's
    /// log-mass plus the gain from opening it, with the child's number in its lowest bits, see [`numbered`]. The scorer
    /// is that of [`Tree::nodes`].
    #[inline]
    pub(crate) fn priorities(
        &self,
        first: usize,
        nodes: &Scorer<'_>,
        query: &Query,
        spread: &Spread,
        words: &mut [i32],
    ) -> i32 {
        nodes.scores(first, query, words);
        let spreads = self.spreads.get(first..).unwrap_or(&[]);
        #[cfg(zhat_dsp)]
        return dsp::priorities(words, spreads, self.gains.get(first..).unwrap_or(&[]), spread);
        #[cfg(not(zhat_dsp))]
        {
            let mut best = i32::MIN;
            for (child, ((word, &numbers), gain)) in
                words.iter_mut().zip(spreads).zip(self.gains_from(first)).enumerate()
            {
                keep_small();
                let priority = Log2::from_bits(*word).saturating_add(spread.of_node(numbers)).saturating_add(gain);
                *word = numbered(priority, child);
                best = best.max(*word);
            }
            best
        }
    }

    /// Returns the gains of the nodes from `first` on: the value of opening each, beyond its mass.
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

    /// Converts a node's predicted log-mass to ½·ln(n·Σ exp(2u)), its share of the samples.
    pub(crate) fn sampling_mass(&self, node: usize, mass: Log2, spread: &Spread) -> Log2 {
        let numbers = self.spreads.get(node).copied().unwrap_or([0; 3]);
        self.score_of(mass, node, spread).saturating_add(spread.of_sampled_node(numbers))
    }

    /// Recovers the log-masses of the nodes from `first` on from their priorities.
    #[inline]
    pub(crate) fn masses_of(&self, first: usize, priorities: impl Iterator<Item = Log2>) -> impl Iterator<Item = Log2> {
        priorities.zip(self.gains_from(first)).map(|(priority, gain)| priority.saturating_sub(gain))
    }

    /// Recovers the log-mass of a node with this priority.
    #[inline]
    pub(crate) fn mass_of(&self, priority: Log2, node: usize) -> Log2 {
        Log2::from_bits(priority.to_bits().saturating_sub(self.gain(node).to_bits()))
    }

    /// Recovers the node's score, without its spread, from its log-mass.
    pub(crate) fn score_of(&self, mass: Log2, node: usize, spread: &Spread) -> Log2 {
        let numbers = self.spreads.get(node).copied().unwrap_or([0; 3]);
        Log2::from_bits(mass.to_bits().saturating_sub(spread.of_node(numbers).to_bits()))
    }

    #[inline]
    fn gain(&self, node: usize) -> Log2 {
        to_log2(self.gains.get(node).copied().unwrap_or(0))
    }

    /// Checks that every index is in range, children stand below their parents, and each node's rows are those of its
    /// children.
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

    /// Tells whether consecutive nodes cover these rows, in order and without a gap.
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

/// Puts the number of a child into the lowest five bits of its priority: 31 for the first, so that it is the best of equals.
#[inline]
pub(crate) fn numbered(priority: Log2, child: usize) -> i32 {
    const NUMBER: i32 = FAMILY as i32 - 1;
    priority.to_bits() & !NUMBER | (NUMBER - child as i32) & NUMBER
}

/// Converts a stored gain.
#[inline]
fn to_log2(gain: i16) -> Log2 {
    Log2::from_bits(i32::from(gain) << (Log2::FRACTION_BITS - GAIN_BITS))
}

// Spans: the rows and children of a node.

/// A node's rows and children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first of its rows.
    pub first_row: usize,
    /// The number of its rows.
    pub rows: usize,
    /// The first of its children.
    pub first_child: usize,
    /// The number of its children; a leaf has none.
    pub children: usize,
}

impl Span {
    /// The number of indices that a node takes in the file.
    pub(crate) const FIELDS: usize = 4;

    #[inline]
    pub(crate) fn read(spans: &Indices<'_>, node: usize) -> Self {
        let fields = match spans {
            Indices::Short(list) => list.as_chunks::<{ Self::FIELDS }>().0.get(node).map(|span| span.map(usize::from)),
            Indices::Long(list) => {
                list.as_chunks::<{ Self::FIELDS }>().0.get(node).map(|span| span.map(|n| n as usize))
            }
        };
        let [first_row, rows, first_child, children] = fields.unwrap_or_default();
        Self { first_row, rows, first_child, children }
    }

    /// Reads a span, compiled for size where time does not count.
    #[cold]
    #[inline(never)]
    pub(super) fn read_slowly(spans: &Indices<'_>, node: usize) -> Self {
        Self::read(spans, node)
    }

    /// Returns the fields in the order of the file.
    #[cfg(feature = "std")]
    pub(crate) fn fields(&self) -> [usize; Self::FIELDS] {
        [self.first_row, self.rows, self.first_child, self.children]
    }

    /// Tells whether it has rows only.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }
}

// Descent: the largest cost of a path from a top node to the rows of a leaf.
//
// Nodes come level by level, so one pass over them is enough. No path down costs more than the largest family of each
// level above a leaf, and the largest leaf there.

/// Upper limits on the cost of any path from a top node to the rows of a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Descent {
    /// Row-equivalents: the children along the path, and the rows of the leaf.
    pub cost: u32,
    /// The children alone.
    pub nodes: u32,
    /// The number of families that they belong to.
    pub families: u32,
    /// The rows of the largest leaf.
    pub leaf: u32,
}

impl Descent {
    /// Measures the nodes of a tree in their order, of which the first `top` have no parent. For a damaged tree the
    /// result may be wrong.
    #[cold]
    pub(crate) fn worst(spans: impl Iterator<Item = Span>, top: usize) -> Self {
        let mut worst = Self::default();
        // The end of this level, the end of the next as far as it is known, and the largest family of this level.
        let (mut end, mut next_end, mut largest) = (top, top, 0);
        for (node, span) in spans.enumerate() {
            keep_small();
            if node == end {
                worst.nodes = worst.nodes.saturating_add(largest);
                worst.families = worst.families.saturating_add(1);
                (end, largest) = (next_end, 0);
            }
            next_end = next_end.saturating_add(span.children);
            largest = largest.max(span.children as u32);
            if span.is_leaf() {
                worst.leaf = worst.leaf.max(span.rows as u32);
                worst.cost = worst.cost.max(worst.nodes.saturating_add(span.rows as u32));
            }
        }
        worst
    }
}

// Bounds: certain facts about the rows of a node, however good or bad its prediction is.
//
// With x̄ the mean of the node's scores, b = R·‖(q,1)‖ and s² = λ·‖(q,1)‖², R the radius of the rows (bias as a
// coordinate) about their mean and λ a bound on the largest eigenvalue of their covariance:
//
// ```text
// every score ≤ x̄ + b                                                             (ball)
// Σ exp ≥ n·exp(x̄)                                                               (Jensen)
// Σ exp ≤ n·exp(x̄) · [ b²/(b²+s²)·exp(−s²/b) + s²/(b²+s²)·exp(b) ]               (Bennett)
// ```
//
// The last is attained by two points, so nothing better follows from mean, variance and radius. The node's vector is
// not the mean of its rows but rounded, and learned: how far off it is, δ, is stored and allowed for.

/// Certain facts about one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The term that turns the node's score into `log₂ n + x̄`.
    pub centre: Log2,
    /// δ: the distance of the node's vector from the mean of the rows.
    pub offset: f32,
    /// R.
    pub radius: f32,
    /// λ.
    pub variance: f32,
}

/// The allowance in nats for rounding of scores, norms and these few float operations.
const SLACK: f32 = 1e-4;

impl Bounds {
    /// The number of 16-bit words that a node takes.
    pub(crate) const FIELDS: usize = 5;

    /// Reads a node's numbers: each float is the upper half of its bits.
    pub(crate) fn from_words([low, high, offset, radius, variance]: [u16; Self::FIELDS]) -> Self {
        let wide = |half: u16| f32::from_bits(u32::from(half) << 16);
        Self {
            centre: Log2::from_bits((u32::from(high) << 16 | u32::from(low)) as i32),
            offset: wide(offset),
            radius: wide(radius),
            variance: wide(variance),
        }
    }

    /// Returns the numbers as stored; floats are rounded up, which only widens the bounds.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u16; Self::FIELDS] {
        let up = |x: f32| (x.to_bits() >> 16) as u16 + u16::from(x.to_bits() & 0xffff != 0);
        let centre = self.centre.to_bits() as u32;
        [centre as u16, (centre >> 16) as u16, up(self.offset), up(self.radius), up(self.variance)]
    }

    pub(crate) fn is_sound(&self) -> bool {
        let natural = |x: f32| x.is_finite() && x >= 0.0;
        natural(self.offset) && natural(self.radius) && natural(self.variance)
    }

    /// Bounds ln Σ exp over the node's `rows` from below and above, given the node's score.
    pub(crate) fn log_mass(&self, score: Log2, query: &Query) -> (f32, f32) {
        let (centre, slack) = self.mean(score, query);
        (centre - slack, centre + slack + self.bennett(query))
    }

    /// Bounds every score of the node from above, given the node's score and its number of rows.
    pub(crate) fn best(&self, score: Log2, rows: usize, query: &Query) -> f32 {
        let (centre, slack) = self.mean(score, query);
        centre - float::ln(rows.max(1) as f32) + slack + self.radius * reach(query)
    }

    /// Computes ln n + x̄ and an upper limit of its error.
    fn mean(&self, score: Log2, query: &Query) -> (f32, f32) {
        let centre = score.saturating_add(self.centre).to_nats();
        let rounding = SLACK + centre.abs() * 1e-6;
        (centre, self.offset * query.norm() * (1.0 + 1e-5) + rounding)
    }

    fn bennett(&self, query: &Query) -> f32 {
        let reach = reach(query);
        let (b, s2) = (self.radius * reach, self.variance * reach * reach);
        if b <= 0.0 || s2 <= 0.0 {
            return 0.0;
        }
        // In logarithms: b may be hundreds of nats.
        let whole = b * b + s2;
        let low = float::ln(b * b / whole) - s2 / b;
        let high = float::ln(s2 / whole) + b;
        let (least, most) = if low < high { (low, high) } else { (high, low) };
        (most + float::ln(1.0 + float::exp(least - most))).max(0.0)
    }
}

/// Computes ‖(q, 1)‖, rounded up.
fn reach(query: &Query) -> f32 {
    float::sqrt(query.norm() * query.norm() + 1.0) * (1.0 + 1e-5)
}

#[cfg(test)]
mod descent_tests {
    use super::*;

    fn inner(children: usize) -> Span {
        Span { children, ..Span::default() }
    }

    fn leaf(rows: usize) -> Span {
        Span { rows, ..Span::default() }
    }

    #[test]
    fn a_way_down_takes_the_largest_family_of_each_level_and_a_leaf() {
        let flat = Descent::worst([leaf(3), leaf(9), leaf(4)].into_iter(), 3);
        assert_eq!(flat, Descent { cost: 9, nodes: 0, families: 0, leaf: 9 });
        // Two levels of families below the top, and a large leaf beside them.
        let spans = [leaf(20), inner(2), inner(3), leaf(5), inner(4), leaf(1), leaf(1), leaf(8)];
        let lowest = [leaf(2), leaf(2), leaf(7), leaf(2)];
        let deep = Descent::worst(spans.into_iter().chain(lowest), 3);
        assert_eq!(deep, Descent { cost: 20, nodes: 7, families: 2, leaf: 20 });
        let deep = Descent::worst(spans.into_iter().skip(1).chain(lowest), 2);
        assert_eq!(deep, Descent { cost: 14, nodes: 7, families: 2, leaf: 8 });
    }
}
