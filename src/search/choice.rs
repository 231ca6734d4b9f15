//! Chooses the next node to open where that cannot be the best node of all.

use super::Frontier;
use crate::tree::{Span, Tree};

/// The state that a choice depends on.
pub(super) struct Choice {
    /// True if a row was scored.
    pub has_row: bool,
    /// The row-equivalents that are left.
    pub left: usize,
    /// The node that was opened last, and first of all the root.
    pub parent: Span,
}

/// The nodes among which the best is looked for.
#[derive(Clone, Copy)]
enum Among {
    Leaves,
    /// Leaves, and nodes that leave enough for one.
    Affordable,
    /// The children of the node that was opened last.
    Children,
}

impl Choice {
    /// Puts the best node that can be opened on top of the frontier.
    ///
    /// As long as no row was scored, what it leaves is enough for a leaf. If there is no leaf yet, the way down goes on from the
    /// node that was opened last to its best child.
    #[cold]
    #[inline(never)]
    pub fn choose(&self, tree: &Tree<'_>, frontier: &mut Frontier<'_>) {
        let mut choose = |among| frontier.choose(|frontier, node| self.wants(among, node, tree, frontier));
        let among = if self.has_row || choose(Among::Leaves) { Among::Affordable } else { Among::Children };
        choose(among);
    }

    #[inline(never)]
    fn wants(&self, among: Among, node: usize, tree: &Tree<'_>, frontier: &Frontier<'_>) -> bool {
        let span = tree.span(node);
        let for_a_leaf = tree.descent().leaf as usize;
        match among {
            Among::Children => self.parent.has_child(node),
            _ if span.is_leaf() => self.has_row || span.rows <= self.left,
            Among::Leaves => false,
            Among::Affordable => {
                (self.has_row || span.children.saturating_add(for_a_leaf) <= self.left)
                    && frontier.has_room(span.children, 0)
            }
        }
    }
}
