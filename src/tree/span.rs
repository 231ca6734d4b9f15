//! What a node stands for.

use crate::rows::Indices;

/// A node's rows and children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first of its rows.
    pub first_row: usize,
    /// How many rows it stands for.
    pub rows: usize,
    /// The first of its children.
    pub first_child: usize,
    /// How many children it has; a leaf has none.
    pub children: usize,
}

impl Span {
    /// Indices that a node takes up in the file.
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

    /// The same where time does not count.
    #[cold]
    #[inline(never)]
    pub(super) fn read_slowly(spans: &Indices<'_>, node: usize) -> Self {
        Self::read(spans, node)
    }

    /// The fields in the order of the file.
    #[cfg(feature = "std")]
    pub(crate) fn fields(&self) -> [usize; Self::FIELDS] {
        [self.first_row, self.rows, self.first_child, self.children]
    }

    /// Whether a node is one of its children.
    pub(crate) fn has_child(&self, node: usize) -> bool {
        node.checked_sub(self.first_child).is_some_and(|place| place < self.children)
    }

    /// Whether it has rows only.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }
}
