//! A table of quantised rows: what a layer's weights and a tree's node means both are.

use crate::hint::keep_small;
use crate::kernels;
#[cfg(feature = "rows4")]
use crate::kernels::four_bit;
#[cfg(zhat_dsp)]
use crate::kernels::{Frame, Scaling};
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
    /// One for each row; where rows have theirs themselves, each a row after the one before.
    scales: &'a [u16],
    /// In units of so many of the last bit of a [`Log2`]: a power of two, multiplied rather than shifted by, since that and
    /// a sum are one instruction.
    biases: &'a [i16],
    bias_unit: i32,
    stride: usize,
    /// Numbers of a row in `stored`.
    row_len: usize,
    bits: Bits,
}

impl<'a> RowTable<'a> {
    /// The most that biases are shifted by: they then take up a quarter of the range of [`Log2`], and no sum leaves it.
    ///
    /// ```
    /// assert_eq!(i32::from(i16::MIN) << zhat::RowTable::MAX_BIAS_SHIFT, -(1 << 29));
    /// ```
    pub const MAX_BIAS_SHIFT: u32 = 14;

    /// Joins the parts; `None` unless all have the same number of rows, the stride is a multiple of four, and biases are shifted by
    /// no more than [`RowTable::MAX_BIAS_SHIFT`] bits. The weights are `stored` as in a file: int8 ones two and two, as
    /// [`kernels::pair`] makes them. 4-bit rows have their scales there, and `scales` is empty. Biases are the bits of a [`Log2`]
    /// without the last `bias_shift` ones.
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

    /// Bytes of the weights of a row, with its padding and, in 4-bit rows, its scales.
    pub(crate) fn row_bytes(&self) -> usize {
        self.row_len * size_of::<i16>()
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

    /// All rows as they are stored.
    pub(crate) fn all_stored(&self) -> impl Iterator<Item = &'a [i16]> {
        self.stored.chunks_exact(self.row_len.max(1))
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
        self.scales.get(i.wrapping_mul(self.scale_step())).copied().unwrap_or(0)
    }

    /// How far the scale of a row is behind that of the one before.
    #[inline]
    fn scale_step(&self) -> usize {
        if self.bits.has_own_scales() { self.row_len } else { 1 }
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
        Log2::from_bits(self.biases.get(i).map_or(i32::MIN, |&bias| i32::from(bias) * self.bias_unit))
    }

    /// How many bits of a [`Log2`] biases are without.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// let step = zhat::Log2::from_bits(1 << model.rows().bias_shift()); // from one bias to the next larger one
    /// # assert!(step > zhat::Log2::from_bits(0));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn bias_shift(&self) -> u32 {
        self.bias_unit.trailing_zeros()
    }

    /// Whether row `i` stands for a class that is never the answer: its weights are zero, and no bias is lower.
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

    /// [`Scorer::scores_of`], once.
    pub(crate) fn scores_of(&self, picked: &[u32], query: &Query, scores: &mut [i32]) {
        self.scorer(query).scores_of(picked, query, scores);
    }

    #[inline]
    fn finish(&self, i: usize, dot: i32, query: &Query) -> Log2 {
        Log2::from_bits(query.to_score(dot, self.scale(i), self.bias(i).to_bits()))
    }
}

/// The rows of a table, to be scored with one query: what their kernel asks for was looked at once.
pub(crate) struct Scorer<'a> {
    table: &'a RowTable<'a>,
    #[cfg(zhat_dsp)]
    frame: Option<Frame<'a>>,
}

impl Scorer<'_> {
    /// The scores of the rows from `first` on, as the bits of [`Log2`]s; nothing is done if there are fewer.
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

    /// The scores of the rows with these numbers, as the bits of [`Log2`]s.
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

    /// Makes scores of the dot products of these rows.
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
        let rows = self.table.scales.iter().zip(self.table.biases).skip(first);
        for (place, (&scale, &bias)) in scores.iter_mut().zip(rows) {
            keep_small();
            *place = query.to_score(*place, scale, i32::from(bias) * self.table.bias_unit);
        }
    }

    /// The scores of rows, row by row: for what is not aligned.
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

    /// The scores of rows, first all dot products and then the scores.
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
        // Looked up only now: the stack has less to keep.
        let Some(biases) = table.biases.get(first..end) else {
            return;
        };
        // In place: the dot product, then the score.
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
