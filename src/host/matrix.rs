//! A dense row-major f32 matrix: rows of weights, or queries.

/// `rows` × `cols` values, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub(super) data: Vec<f32>,
    pub(super) cols: usize,
}

impl Matrix {
    /// Takes `data` as rows of `cols` values; `None` if it does not divide into such rows.
    pub fn new(data: Vec<f32>, cols: usize) -> Option<Self> {
        (cols > 0 && data.len().is_multiple_of(cols)).then_some(Self { data, cols })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.cols
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.cols..][..self.cols]
    }

    /// The rows in another order, or some of them: row i of the result is row `order[i]`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn reordered(&self, order: &[u32]) -> Self {
        let data = order.iter().flat_map(|&i| self.row(i as usize)).copied().collect();
        Self { data, cols: self.cols }
    }

    /// All rows in order.
    pub fn iter(&self) -> core::slice::ChunksExact<'_, f32> {
        self.data.chunks_exact(self.cols)
    }

    /// All values, row after row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// Columns as rows.
    pub fn transposed(&self) -> Self {
        let rows = self.rows();
        let data = (0..self.cols).flat_map(|col| (0..rows).map(move |row| self.data[row * self.cols + col])).collect();
        Self { data, cols: rows }
    }
}
