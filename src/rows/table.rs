//! A table of quantised rows: a layer's weights are one, and so are a tree's node vectors.

use crate::hint::keep_small;
use crate::kernels;
#[cfg(feature = "rows4")]
use crate::kernels::four_bit;
#[cfg(zhat_dsp)]
use crate::kernels::{Frame, Scaling};
use crate::math::Log2;
use crate::rows::{Bits, Query};

/// The number of rows that are scored at a time. A host has the memory for more. A multiple of [`LogSum::add_all`]'s
/// chunk, so that sums are the same everywhere.
///
/// [`LogSum::add_all`]: crate::math::LogSum::add_all
const BLOCK: usize = if cfg!(feature = "std") { 128 } else { 64 };

/// Rows with a scale and a bias each. The score of row i is `dot(row i, query) · scale i + bias i`.
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
    /// The scale of each row. Where rows hold their own scales, consecutive ones are a row's length apart.
    scales: &'a [u16],
    /// The biases in units of `bias_unit`.
    biases: &'a [i16],
    /// The size of one bias step in bits of a [`Log2`]; a power of two. Multiplied by rather than shifted by, since a
    /// multiplication and an addition are one instruction.
    bias_unit: i32,
    stride: usize,
    /// Numbers of a row in `stored`.
    row_len: usize,
    bits: Bits,
}

impl<'a> RowTable<'a> {
    /// The largest shift of biases. They then take up a quarter of the range of [`Log2`], and no sum leaves it.
    pub const MAX_BIAS_SHIFT: u32 = 14;

    /// Joins the parts. `None` unless all have the same number of rows, the stride is a multiple of four, and the shift
    /// of the biases is at most [`RowTable::MAX_BIAS_SHIFT`].
    ///
    /// `stored` has the weights as in a file: int8 weights in pairs made by [`kernels::pair`], 4-bit rows with their
    /// scales, in which case `scales` is empty. `biases` are the bits of [`Log2`]s without the lowest `bias_shift`
    /// bits.
    ///
    /// ```
    /// use zhat::{RowTable, model::Bits};
    ///
    /// // One row of four columns: 1, 2, 3, 4.
    /// let table = RowTable::new(&[1 + 256 * 2, 3 + 256 * 4], &[1], &[0], 7, 4, Bits::Eight).expect("parts that fit");
    /// assert!(table.weights(0).eq([1, 2, 3, 4]));
    /// assert!(RowTable::new(&[0; 3], &[1], &[0], 7, 4, Bits::Eight).is_none());
    /// ```
    pub fn new(
        stored: &'a [i16],
        scales: &'a [u16],
        biases: &'a [i16],
        bias_shift: u32,
        stride: usize,
        bits: Bits,
    ) -> Option<Self> {
        let (rows, row_len) = (biases.len(), bits.row_len(stride));
        let scales = match bits {
            Bits::Eight => (scales.len() == rows).then_some(scales)?,
            #[cfg(feature = "rows4")]
            Bits::Four => scales.is_empty().then(|| four_bit::scales(stored)).flatten()?,
        };
        let fits = stride > 0
            && stride.is_multiple_of(kernels::ROW_ALIGN)
            && bias_shift <= Self::MAX_BIAS_SHIFT
            && rows.checked_mul(row_len) == Some(stored.len());
        fits.then(|| Self { stored, scales, biases, bias_unit: 1 << bias_shift, stride, row_len, bits })
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.biases.len()
    }

    /// Returns true if the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.biases.is_empty()
    }

    /// Returns the number of columns of a row with its padding. For int8 rows this is the number of bytes from one row
    /// to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the bytes of a row's weights, with the padding and, in 4-bit rows, the scales.
    pub(crate) fn row_bytes(&self) -> usize {
        self.row_len * size_of::<i16>()
    }

    /// Returns the width of the weights.
    #[inline]
    pub fn bits(&self) -> Bits {
        self.bits
    }

    /// Returns the weights of row `i` with its padding; empty if there is no such row.
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

    /// Returns the weight of one column; zero if there is no such row or column.
    #[cfg(feature = "std")]
    pub(crate) fn weight(&self, i: usize, column: usize) -> i8 {
        self.bits.weight(self.stored(i), column, self.stride)
    }

    /// Returns all rows as they are stored.
    pub(crate) fn all_stored(&self) -> impl Iterator<Item = &'a [i16]> {
        self.stored.chunks_exact(self.row_len.max(1))
    }

    /// Returns row `i` as it is stored; empty if there is no such row.
    #[inline]
    pub(crate) fn stored(&self, i: usize) -> &'a [i16] {
        let start = i.wrapping_mul(self.row_len);
        self.stored.get(start..start.wrapping_add(self.row_len)).unwrap_or(&[])
    }

    /// Returns the scale of row `i` in units of the model's power of two; zero if there is no such row.
    #[inline]
    pub fn scale(&self, i: usize) -> u16 {
        self.scales.get(i.wrapping_mul(self.scale_step())).copied().unwrap_or(0)
    }

    /// Returns the distance from the scale of a row to that of the next.
    #[inline]
    fn scale_step(&self) -> usize {
        if self.bits.has_own_scales() { self.row_len } else { 1 }
    }

    /// Returns the bias of row `i`; [`Log2::MIN`], which is no mass, if there is no such row.
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
        Log2::from_bits(self.biases.get(i).map_or(i32::MIN, |&bias| i32::from(bias) * self.bias_unit))
    }

    /// Returns the number of low bits of a [`Log2`] that stored biases omit.
    pub fn bias_shift(&self) -> u32 {
        self.bias_unit.trailing_zeros()
    }

    /// Returns true if row `i` is a masked class, which is never the answer: its weights are zero, and its bias is the
    /// lowest.
    ///
    /// ```
    /// use zhat::host::{Matrix, flat_model};
    ///
    /// let rows = Matrix::new(vec![1.0, 0.0, 0.0, 1.0], 2).expect("two rows of two");
    /// let file = flat_model(&rows, &[0.0, f32::NEG_INFINITY])?;
    /// assert!(!file.model().rows().is_masked(0) && file.model().rows().is_masked(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_masked(&self, i: usize) -> bool {
        self.biases.get(i) == Some(&i16::MIN)
    }

    /// Computes the score of row `i`.
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

    /// Calls `each(i, scores)` for blocks of rows that together are `first..first + count`, where i is a block's first
    /// row and the scores are the bits of [`Log2`]s.
    ///
    /// Works in blocks, because every step alone needs all registers of a small processor.
    #[inline]
    pub(crate) fn for_each_block(
        &self,
        first: usize,
        count: usize,
        query: &Query,
        mut each: impl FnMut(usize, &[i32]),
    ) {
        let end = first.saturating_add(count).min(self.len());
        let scorer = self.scorer(query);
        let mut scores = [0; BLOCK];
        let mut at = first;
        while at < end {
            let rows = BLOCK.min(end - at);
            scorer.scores(at, query, &mut scores[..rows]);
            each(at, &scores[..rows]);
            at += rows;
        }
    }

    /// Prepares scoring rows with a query many times.
    #[inline]
    pub(crate) fn scorer<'s>(&'s self, query: &'s Query) -> Scorer<'s> {
        #[cfg(not(zhat_dsp))]
        let _ = query;
        Scorer {
            table: self,
            #[cfg(zhat_dsp)]
            frame: self.frame(query),
        }
    }

    #[cfg(zhat_dsp)]
    #[inline(never)]
    fn frame<'s>(&'s self, query: &'s Query) -> Option<Frame<'s>> {
        if self.bits.has_own_scales() || query.values().len() != self.stride {
            return None;
        }
        // Of a query so large that scales do not fit their words, the frame makes dot products.
        let unit = self.bias_unit as i16;
        let scaling = query.scale_shift().map(|up| Scaling { scales: self.scales, biases: self.biases, up, unit });
        Frame::new(self.stored, query.values(), scaling)
    }

    /// Scores picked rows once, see [`Scorer::scores_of`].
    pub(crate) fn scores_of(&self, picked: &[u32], query: &Query, scores: &mut [i32]) {
        self.scorer(query).scores_of(picked, query, scores);
    }

    #[inline]
    fn finish(&self, i: usize, dot: i32, query: &Query) -> Log2 {
        Log2::from_bits(query.to_score(dot, self.scale(i), self.bias(i).to_bits()))
    }
}

/// Scores rows of one table with one query. The requirements of the kernel were checked once, when it was made.
pub(crate) struct Scorer<'a> {
    table: &'a RowTable<'a>,
    #[cfg(zhat_dsp)]
    frame: Option<Frame<'a>>,
}

impl Scorer<'_> {
    /// Scores consecutive rows from `first` on, as the bits of [`Log2`]s. Does nothing if the table has fewer rows.
    #[inline]
    pub fn scores(&self, first: usize, query: &Query, scores: &mut [i32]) {
        #[cfg(zhat_dsp)]
        if let Some(frame) = &self.frame {
            if frame.of_rows(first, scores) && !frame.has_scales() {
                self.finish_from(first, query, scores);
            }
            return;
        }
        self.scores_in_steps(first, None, query, scores);
    }

    /// Scores the rows whose indices are in `picked`, as the bits of [`Log2`]s.
    #[inline(never)]
    pub fn scores_of(&self, picked: &[u32], query: &Query, scores: &mut [i32]) {
        #[cfg(zhat_dsp)]
        if let Some(frame) = &self.frame
            && frame.of_picked(picked, scores)
        {
            return self.finish_all(picked, query, scores);
        }
        self.scores_in_steps(0, Some(picked), query, scores);
    }

    /// Turns dot products of these rows into scores, in place.
    #[inline]
    fn finish_all(&self, picked: &[u32], query: &Query, scores: &mut [i32]) {
        for (place, &row) in scores.iter_mut().zip(picked) {
            keep_small();
            *place = self.table.finish(row as usize, *place, query).to_bits();
        }
    }

    /// Makes scores of the dot products of the rows from `first` on.
    #[cfg(zhat_dsp)]
    #[cold]
    #[inline(never)]
    fn finish_from(&self, first: usize, query: &Query, scores: &mut [i32]) {
        for (at, place) in scores.iter_mut().enumerate() {
            keep_small();
            *place = self.table.finish(first.wrapping_add(at), *place, query).to_bits();
        }
    }

    /// Scores rows one by one: used where rows or query are not aligned.
    #[cfg(all(zhat_dsp, not(feature = "rows4")))]
    #[cold]
    #[inline(never)]
    fn scores_in_steps(&self, first: usize, picked: Option<&[u32]>, query: &Query, scores: &mut [i32]) {
        for (at, place) in scores.iter_mut().enumerate() {
            keep_small();
            let row = picked.map_or(Some(first.wrapping_add(at)), |picked| picked.get(at).map(|&row| row as usize));
            *place = row.map_or(*place, |row| self.table.score(row, query).to_bits());
        }
    }

    /// Scores rows in two steps: first all dot products, then the scores.
    #[cfg(not(all(zhat_dsp, not(feature = "rows4"))))]
    #[inline(never)]
    fn scores_in_steps(&self, first: usize, picked: Option<&[u32]>, query: &Query, scores: &mut [i32]) {
        let table = self.table;
        if picked.is_some() {
            table.bits.dots(table.stored, picked, query.values(), scores);
            return self.finish_all(picked.unwrap_or(&[]), query, scores);
        }
        let end = first.wrapping_add(scores.len());
        if end > table.len() {
            return;
        }
        let rows = table.stored.get(first.wrapping_mul(table.row_len)..).unwrap_or(&[]);
        table.bits.dots(rows, None, query.values(), scores);
        // Looked up here and not earlier, so that less has to be kept on the stack.
        let Some(biases) = table.biases.get(first..end) else {
            return;
        };
        // Turns each dot product into a score, in place.
        let places = scores.iter_mut().zip(biases);
        let (scales, step) = (table.scales, table.scale_step());
        let mut at = first.wrapping_mul(step);
        if !table.bits.has_own_scales() {
            for ((place, &bias), &scale) in places.zip(scales.get(at..).unwrap_or(&[])) {
                keep_small();
                *place = query.to_score(*place, scale, i32::from(bias) * table.bias_unit);
            }
            return;
        }
        for (place, &bias) in places {
            keep_small();
            let bias = i32::from(bias) * table.bias_unit;
            *place = query.to_score(*place, scales.get(at).copied().unwrap_or(0), bias);
            at = at.wrapping_add(step);
        }
    }
}
