//! A dense row-major f32 matrix: rows of weights, or queries.

/// `rows` × `cols` values, row after row.
///
/// ```
/// use zhat::host::Matrix;
///
/// let matrix = Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3).expect("rows of three");
/// assert_eq!((matrix.rows(), matrix.cols(), matrix.row(1)), (2, 3, &[4.0, 5.0, 6.0][..]));
/// assert_eq!(matrix.transposed().row(0), [1.0, 4.0]);
/// assert_eq!(matrix.reordered(&[1, 0]).data()[0], 4.0);
/// assert_eq!(matrix.iter().map(|row| row[2]).sum::<f32>(), 9.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub(super) data: Vec<f32>,
    pub(super) cols: usize,
}

impl Matrix {
    /// Makes a matrix of `data` as rows of `cols` values; `None` if it does not divide into such rows.
    ///
    /// ```
    /// use zhat::host::Matrix;
    ///
    /// assert!(Matrix::new(vec![0.0; 6], 3).is_some());
    /// assert!(Matrix::new(vec![0.0; 7], 3).is_none());
    /// ```
    pub fn new(data: Vec<f32>, cols: usize) -> Option<Self> {
        (cols > 0 && data.len().is_multiple_of(cols)).then_some(Self { data, cols })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.cols
    }

    /// Returns the number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.cols..][..self.cols]
    }

    /// Copies rows in another order, or some of them: row i of the result is row `order[i]`.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// ```
    /// # let matrix = zhat::host::Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3).unwrap();
    /// assert_eq!(matrix.reordered(&[1]).row(0), [4.0, 5.0, 6.0]);
    /// ```
    pub fn reordered(&self, order: &[u32]) -> Self {
        let data = order.iter().flat_map(|&i| self.row(i as usize)).copied().collect();
        Self { data, cols: self.cols }
    }

    /// Iterates over the rows.
    pub fn iter(&self) -> core::slice::ChunksExact<'_, f32> {
        self.data.chunks_exact(self.cols)
    }

    /// Returns all values, row after row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// Returns the transposed matrix.
    ///
    /// ```
    /// # let matrix = zhat::host::Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3).unwrap();
    /// assert_eq!(matrix.transposed().row(0), [1.0, 4.0]);
    /// ```
    pub fn transposed(&self) -> Self {
        let rows = self.rows();
        let data = (0..self.cols).flat_map(|col| (0..rows).map(move |row| self.data[row * self.cols + col])).collect();
        Self { data, cols: rows }
    }
}
