//! A table of quantised rows: what a layer's weights and a tree's node means both are.

use crate::hint::keep_small;
use crate::kernels::{self, four_bit};
use crate::math::Log2;
use crate::rows::{Bits, Query};

/// Rows that are scored at a time: more pay on a host, where they cost nothing. A multiple of what [`LogSum::add_all`]
/// takes at a time, so that sums are the same everywhere.
///
/// [`LogSum::add_all`]: crate::math::LogSum::add_all
const BLOCK: usize = if cfg!(feature = "std") { 128 } else { 64 };

/// Rows with a scale and a bias each. Row i's score is `dot(row i, query) · scale i + bias i`.
///
/// ```
/// # let bytes = zhat::doc_example();
/// # let model = zhat::Model::from_bytes(&bytes)?;
/// let rows = model.rows();
/// let first: Vec<f32> = rows.weights(0).map(|weight| f32::from(weight) * model.row_scale(0)).collect();
/// assert!((first[0] - 1.0).abs() < 0.01); // and the padding after the three columns
/// assert_eq!(first.len(), rows.stride());
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RowTable<'a> {
    /// The weights as the kernels take them, see [`kernels`].
    stored: &'a [i16],
    /// Each so many after the one before: 4-bit rows have theirs themselves.
    scales: &'a [u16],
    scale_step: usize,
    biases: &'a [i32],
    stride: usize,
    /// Numbers of a row in `stored`.
    row_len: usize,
    bits: Bits,
}

impl<'a> RowTable<'a> {
    /// Joins the parts; `None` unless all have the same number of rows and the stride is a multiple of four. The weights
    /// are `stored` as in a file: int8 ones two and two, as [`kernels::pair`] makes them. 4-bit rows have their scales there,
    /// and `scales` is empty.
    ///
    /// ```
    /// use zhat::{RowTable, model::Bits};
    ///
    /// // One row of four columns: 1, 2, 3, 4.
    /// let table = RowTable::new(&[1 + 256 * 2, 3 + 256 * 4], &[1], &[0], 4, Bits::Eight).expect("parts that fit");
    /// assert!(table.weights(0).eq([1, 2, 3, 4]));
    /// assert!(RowTable::new(&[0; 3], &[1], &[0], 4, Bits::Eight).is_none());
    /// ```
    pub fn new(stored: &'a [i16], scales: &'a [u16], biases: &'a [i32], stride: usize, bits: Bits) -> Option<Self> {
        let (rows, row_len) = (biases.len(), bits.row_len(stride));
        let (scales, scale_step) = match bits {
            Bits::Eight if scales.len() == rows => (scales, 1),
            Bits::Four if scales.is_empty() => (four_bit::scales(stored)?, row_len),
            _ => return None,
        };
        let fits =
            stride > 0 && stride.is_multiple_of(kernels::ROW_ALIGN) && rows.checked_mul(row_len) == Some(stored.len());
        fits.then_some(Self { stored, scales, scale_step, biases, stride, row_len, bits })
    }

    /// The number of rows.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.rows().len(), model.classes());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.biases.len()
    }

    /// Whether there are no rows.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert!(!model.rows().is_empty());
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.biases.is_empty()
    }

    /// Columns of a row with its padding: bytes from one row to the next where the weights are int8.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!((model.dim(), model.rows().stride()), (3, 4));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How wide the weights are.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.rows().bits().count(), 8);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline]
    pub fn bits(&self) -> Bits {
        self.bits
    }

    /// Row `i`'s weights with their padding; none where there is no such row.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert!(model.rows().weights(1).eq([0, 127, 0, 0]));
    /// assert_eq!(model.rows().weights(99).count(), 0);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline]
    pub fn weights(&self, i: usize) -> impl Iterator<Item = i8> + Clone + 'a {
        let (row, stride, bits) = (self.stored(i), self.stride, self.bits);
        let columns = if row.is_empty() { 0 } else { stride };
        (0..columns).map(move |column| bits.weight(row, column, stride))
    }

    /// The weight of one column; zero where there is no such row or column.
    #[cfg(feature = "std")]
    pub(crate) fn weight(&self, i: usize, column: usize) -> i8 {
        self.bits.weight(self.stored(i), column, self.stride)
    }

    /// The row as it is stored.
    #[inline]
    pub(crate) fn stored(&self, i: usize) -> &'a [i16] {
        let start = i.wrapping_mul(self.row_len);
        self.stored.get(start..start.wrapping_add(self.row_len)).unwrap_or(&[])
    }

    /// Row `i`'s scale in units of the model's power of two; zero where there is no such row.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// let step = f32::from(model.rows().scale(0)) * (model.scale_exponent() as f32).exp2();
    /// assert_eq!(step, model.row_scale(0));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline]
    pub fn scale(&self, i: usize) -> u16 {
        self.scales.get(i.wrapping_mul(self.scale_step)).copied().unwrap_or(0)
    }

    /// Row `i`'s bias; no mass where there is no such row.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// assert_eq!(model.rows().bias(0), zhat::Log2::of(1)); // biases of zero
    /// assert_eq!(model.rows().bias(99), zhat::Log2::MIN);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline]
    pub fn bias(&self, i: usize) -> Log2 {
        Log2::from_bits(self.biases.get(i).copied().unwrap_or(i32::MIN))
    }

    /// Row `i`'s score.
    #[inline]
    pub(crate) fn score(&self, i: usize, query: &Query) -> Log2 {
        self.finish(i, self.bits.dot(self.stored(i), query.values()), query)
    }

    /// Calls `each(i, score)` for rows `first..first + count`, in order.
    #[inline]
    pub(crate) fn for_each_score(&self, first: usize, count: usize, query: &Query, mut each: impl FnMut(usize, Log2)) {
        self.for_each_block(first, count, query, |at, scores| {
            scores.iter().enumerate().for_each(|(i, &bits)| each(at + i, Log2::from_bits(bits)));
        });
    }

    /// Calls `each(i, scores)` for blocks of rows that together are `first..first + count`: i is a block's first row,
    /// and the scores are the bits of [`Log2`]s.
    ///
    /// In blocks, because every step alone needs all registers of a small processor.
    #[inline]
    pub(crate) fn for_each_block(
        &self,
        first: usize,
        count: usize,
        query: &Query,
        mut each: impl FnMut(usize, &[i32]),
    ) {
        let end = first.saturating_add(count).min(self.len());
        let mut scores = [0; BLOCK];
        let mut at = first;
        while at < end {
            let rows = BLOCK.min(end - at);
            self.scores(at, query, &mut scores[..rows]);
            each(at, &scores[..rows]);
            at += rows;
        }
    }

    /// The scores of the rows from `first` on, as the bits of [`Log2`]s; nothing is done if there are fewer.
    #[inline(never)]
    pub(crate) fn scores(&self, first: usize, query: &Query, scores: &mut [i32]) {
        let end = first.wrapping_add(scores.len());
        let rows = self.stored.get(first.wrapping_mul(self.row_len)..).unwrap_or(&[]);
        let Some(biases) = self.biases.get(first..end) else {
            return;
        };
        self.bits.dots(rows, None, query.values(), scores);
        // In place: the dot product, then the score.
        let places = scores.iter_mut().zip(biases);
        let (scales, step) = (self.scales, self.scale_step);
        let mut at = first.wrapping_mul(step);
        if step == 1 {
            for ((place, &bias), &scale) in places.zip(scales.get(at..).unwrap_or(&[])) {
                keep_small();
                *place = query.to_score(*place, scale, bias);
            }
            return;
        }
        for (place, &bias) in places {
            keep_small();
            *place = query.to_score(*place, scales.get(at).copied().unwrap_or(0), bias);
            at = at.wrapping_add(step);
        }
    }

    /// The scores of the rows with these numbers, as the bits of [`Log2`]s.
    pub(crate) fn scores_of(&self, picked: &[u32], query: &Query, scores: &mut [i32]) {
        self.bits.dots(self.stored, Some(picked), query.values(), scores);
        for (place, &row) in scores.iter_mut().zip(picked) {
            *place = self.finish(row as usize, *place, query).to_bits();
        }
    }

    #[inline]
    fn finish(&self, i: usize, dot: i32, query: &Query) -> Log2 {
        Log2::from_bits(query.to_score(dot, self.scale(i), self.bias(i).to_bits()))
    }
}
