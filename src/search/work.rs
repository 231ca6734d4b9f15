//! The cost of a search.

/// The cost of a query.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// let work = zhat::exact::<1>(&model, &query)?.work;
/// assert_eq!((work.rows, work.nodes, work.bytes), (4, 0, 16));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Work {
    /// Rows scored.
    pub rows: u32,
    /// Nodes predicted.
    pub nodes: u32,
    /// Bytes of weights read: a row of 64 columns has 64 in int8 and 36 in 4 bits.
    pub bytes: u32,
}

impl Work {
    /// Dot products of length d: what a [`Budget`](crate::Budget) limits.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
    /// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
    /// let answer = zhat::Classifier::new(model)?.classify::<1>(&query, &mut [0; 74])?;
    /// assert_eq!(answer.work.row_equivalents(), answer.work.rows + answer.work.nodes);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn row_equivalents(&self) -> u32 {
        self.rows.saturating_add(self.nodes)
    }

    /// Adds `rows` more rows of `row_bytes` bytes.
    pub(crate) fn and_rows(self, rows: usize, row_bytes: usize) -> Self {
        let more = Self::of(rows, 0, row_bytes);
        Self {
            rows: self.rows.saturating_add(more.rows),
            nodes: self.nodes,
            bytes: self.bytes.saturating_add(more.bytes),
        }
    }

    /// Counts dot products with rows of `row_bytes` bytes.
    pub(crate) fn of(rows: usize, nodes: usize, row_bytes: usize) -> Self {
        let bytes = rows.saturating_add(nodes).saturating_mul(row_bytes);
        Self { rows: rows as u32, nodes: nodes as u32, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
    }
}
