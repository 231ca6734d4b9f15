//! The way down: what it takes at most from a top node to the rows of a leaf.
//!
//! Nodes come level by level, so that one pass over them is enough: no way down takes more than the largest family of each
//! level above a leaf, and the largest leaf there.

use super::Span;
use crate::hint::keep_small;

/// What no way down takes more than.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Descent {
    /// Row-equivalents: the children on the way, and the rows of the leaf.
    pub cost: u32,
    /// The children alone.
    pub nodes: u32,
    /// The families that they are from.
    pub families: u32,
    /// The rows of the largest leaf.
    pub leaf: u32,
}

impl Descent {
    /// For the nodes of a tree in their order, of which the first `top` have none above them. Of the nodes of a damaged tree
    /// the numbers may be wrong.
    #[cold]
    pub(crate) fn worst(spans: impl Iterator<Item = Span>, top: usize) -> Self {
        let mut worst = Self::default();
        // Where the level ends and the next one ends as far as it is known, and the largest family of the level.
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

#[cfg(test)]
mod tests {
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
