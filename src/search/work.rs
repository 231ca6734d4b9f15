//! What a search spent.

/// What a query cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Work {
    /// Rows scored.
    pub rows: u32,
    /// Nodes predicted.
    pub nodes: u32,
    /// Bytes of weights read.
    pub bytes: u32,
}

impl Work {
    /// Dot products of length d: what a [`Budget`](crate::Budget) limits.
    pub fn row_equivalents(&self) -> u32 {
        self.rows.saturating_add(self.nodes)
    }

    /// This and `rows` more rows of `stride` bytes.
    pub(crate) fn and_rows(self, rows: usize, stride: usize) -> Self {
        let more = Self::of(rows, 0, stride);
        Self {
            rows: self.rows.saturating_add(more.rows),
            nodes: self.nodes,
            bytes: self.bytes.saturating_add(more.bytes),
        }
    }

    /// Counts dot products with rows of `stride` bytes.
    pub(crate) fn of(rows: usize, nodes: usize, stride: usize) -> Self {
        let bytes = rows.saturating_add(nodes).saturating_mul(stride);
        Self { rows: rows as u32, nodes: nodes as u32, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
    }
}
