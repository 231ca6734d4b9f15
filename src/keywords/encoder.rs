//! The encoder: a small convolutional and recurrent network that turns frames into a query and processes every frame
//! once.
//!
//! ```text
//! frames, each 10 ms → less the mean so far → stem 5 × 40 → c, every second one → ReLU
//!   → six blocks: nine taps of each channel, ReLU, a matrix, plus the block's input, ReLU; the third halves the rate
//!   → GRU → (its state, mean of its inputs so far) → matrix → query
//! ```
//!
//! Weights are int8 and stay in flash; activations between the blocks are int16, sums are int32; scales, gates and
//! biases are f32, a few operations for each number. A second of sound takes 4.3 M multiply-accumulates.

use core::fmt;

use super::{BANDS, spotter::Thresholds};
use crate::{Error, hint::keep_small, kernels, math::sqrt};

/// The number of frames that the stem sees.
const STEM_TAPS: usize = 5;
/// The number of blocks of a depthwise and a pointwise convolution.
const BLOCKS: usize = 6;
/// The largest sizes that the state has memory for: channels before and after the second stride, of the GRU, of the
/// query.
const NARROW: usize = 80;
const WIDE: usize = 112;
const HIDDEN: usize = 96;
pub(super) const DIM: usize = 128;

/// One block, and the value of a step of its int16 output.
#[derive(Clone, Copy, Debug)]
struct Block<'a> {
    depthwise: Depthwise<'a>,
    pointwise: Tensor<'a>,
    step: f32,
}

impl Block<'_> {
    const EMPTY: Self =
        Self { depthwise: Depthwise { scales: &[], biases: &[], taps: &[] }, pointwise: Tensor::EMPTY, step: 1.0 };
}

#[cfg(test)]
mod tests;

// The state of an encoder within a word: the past of its convolutions, the state of its GRU, and means.

/// Frames are divided by this, and cut off at that, after their mean is subtracted.
const SPREAD: f32 = 2.5;
const LARGEST_FEATURE: f32 = 4.0;

/// The memory of an encoder, for one stream of frames.
///
/// ```
/// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
/// use zhat::keywords::{BANDS, Encoder, EncoderState};
///
/// let encoder = Encoder::from_bytes(bytes)?;
/// let mut state = EncoderState::new();
/// for t in 0..40 {
///     state.push(&encoder, &[t as f32 / 10.0; BANDS]);
/// }
/// let query = state.query::<128>(&encoder).expect("sizes that fit, and frames");
/// assert!(query.iter().all(|value| value.is_finite()));
/// # Ok::<(), zhat::keywords::EncoderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EncoderState {
    frames: u32,
    /// The mean of the logarithms so far.
    sums: [f32; BANDS],
    /// The last frames, the oldest first.
    window: [f32; STEM_TAPS * BANDS],
    /// The past of each channel of each block.
    narrow: [[i16; SPAN * NARROW]; STRIDED + 1],
    wide: [i16; SPAN * WIDE],
    dilated: [[i16; WIDE_SPAN * WIDE]; 2],
    /// The number of steps that the strided block has taken in, and that came out of the last one.
    halved: u32,
    steps: u32,
    /// The mean of the last block's outputs.
    totals: [i32; WIDE],
    hidden: [f32; HIDDEN],
}

impl EncoderState {
    /// Creates the state before the first frame of a word.
    ///
    /// ```
    /// assert!(size_of_val(&zhat::keywords::EncoderState::new()) < 20_000);
    /// ```
    pub const fn new() -> Self {
        Self {
            frames: 0,
            sums: [0.0; BANDS],
            window: [0.0; STEM_TAPS * BANDS],
            narrow: [[0; SPAN * NARROW]; STRIDED + 1],
            wide: [0; SPAN * WIDE],
            dilated: [[0; WIDE_SPAN * WIDE]; 2],
            halved: 0,
            steps: 0,
            totals: [0; WIDE],
            hidden: [0.0; HIDDEN],
        }
    }

    /// Clears the state: the next frame is the first of a word.
    pub fn clear(&mut self) {
        self.frames = 0;
        self.sums.fill(0.0);
        self.window.fill(0.0);
        self.narrow.iter_mut().for_each(|past| past.fill(0));
        self.wide.fill(0);
        self.dilated.iter_mut().for_each(|past| past.fill(0));
        (self.halved, self.steps) = (0, 0);
        self.totals.fill(0);
        self.hidden.fill(0.0);
    }

    /// Processes the logarithms of a frame's bands. Every second frame goes through the stem and two blocks, every
    /// fourth through all of them.
    ///
    /// ```
    /// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
    /// # let encoder = zhat::keywords::Encoder::from_bytes(bytes)?;
    /// let mut state = zhat::keywords::EncoderState::new();
    /// [[1.0; 40]; 3].iter().for_each(|frame| state.push(&encoder, frame));
    /// assert!(state.query::<128>(&encoder).is_err()); // nothing came out yet
    /// state.push(&encoder, &[1.0; 40]);
    /// assert!(state.query::<128>(&encoder).is_ok());
    /// # Ok::<(), zhat::keywords::EncoderError>(())
    /// ```
    pub fn push(&mut self, encoder: &Encoder<'_>, bands: &[f32; BANDS]) {
        self.normalise(bands);
        if !self.frames.is_multiple_of(2) {
            return;
        }
        let mut sums = [0.0; WIDE];
        encoder.stem.times(&self.window, &mut sums);
        let mut step = Step::new(&sums, encoder.stem_step);
        let (narrow, wide) = encoder.blocks.split_at(STRIDED);
        for (block, past) in narrow.iter().zip(&mut self.narrow) {
            Depthwise::push::<SPAN>(past, &step.values);
            step.through::<SPAN>(block, past, true);
        }
        let ([strided, fourth, fifth, sixth], [.., past]) = (wide, &mut self.narrow) else { return };
        Depthwise::push::<SPAN>(past, &step.values);
        self.halved = self.halved.wrapping_add(1);
        if !self.halved.is_multiple_of(2) {
            return;
        }
        step.through::<SPAN>(strided, past, false);
        Depthwise::push::<SPAN>(&mut self.wide, &step.values);
        step.through::<SPAN>(fourth, &self.wide, true);
        for (block, past) in [fifth, sixth].into_iter().zip(&mut self.dilated) {
            Depthwise::push::<WIDE_SPAN>(past, &step.values);
            step.through::<WIDE_SPAN>(block, past, true);
        }
        self.finish(encoder, &step);
    }

    /// Returns the query of the word so far.
    ///
    /// ```
    /// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
    /// # let encoder = zhat::keywords::Encoder::from_bytes(bytes)?;
    /// let mut state = zhat::keywords::EncoderState::new();
    /// [[1.0; 40]; 8].iter().for_each(|frame| state.push(&encoder, frame));
    /// let query: [f32; 128] = state.query(&encoder).expect("of 128 dimensions");
    /// assert_eq!(state.query::<64>(&encoder).unwrap_err(), zhat::Error::QueryLength);
    /// # Ok::<(), zhat::keywords::EncoderError>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::QueryLength`] if `D` is not the encoder's, [`Error::NoQuery`] if there were too few frames for a first
    /// output.
    pub fn query<const D: usize>(&self, encoder: &Encoder<'_>) -> Result<[f32; D], Error> {
        if D != encoder.dim() {
            return Err(Error::QueryLength);
        }
        if self.steps == 0 {
            return Err(Error::NoQuery);
        }
        let mut both = [0.0; WIDEST];
        let (state, means) = both.split_at_mut_checked(encoder.hidden).ok_or(Error::QueryLength)?;
        state.iter_mut().zip(&self.hidden).for_each(|(place, value)| *place = *value);
        let unit = encoder.blocks[BLOCKS - 1].step / self.steps as f32;
        means.iter_mut().zip(&self.totals).for_each(|(place, &total)| *place = total as f32 * unit);
        let mut query = [0.0; D];
        encoder.embedding.times(&both, &mut query);
        Ok(query)
    }

    /// Shifts a frame into the window, as its distance from the mean of all frames so far.
    fn normalise(&mut self, bands: &[f32; BANDS]) {
        self.frames = self.frames.saturating_add(1);
        let share = 1.0 / self.frames as f32;
        self.window.copy_within(BANDS.., 0);
        let newest = self.window.iter_mut().skip((STEM_TAPS - 1) * BANDS);
        for ((place, sum), band) in newest.zip(&mut self.sums).zip(bands) {
            *sum += band;
            let distance = (band - *sum * share) * (1.0 / SPREAD);
            *place = distance.clamp(-LARGEST_FEATURE, LARGEST_FEATURE);
        }
    }

    /// Adds the output of the last block to the mean, and runs the GRU with it.
    fn finish(&mut self, encoder: &Encoder<'_>, step: &Step) {
        self.steps = self.steps.saturating_add(1);
        let mut input = [0.0; WIDE];
        for ((place, total), &value) in input.iter_mut().zip(&mut self.totals).zip(&step.values) {
            *total = total.saturating_add(i32::from(value));
            *place = f32::from(value) * step.unit;
        }
        if let Some(hidden) = self.hidden.get_mut(..encoder.hidden) {
            encoder.gru.step(&input, hidden);
        }
    }
}

impl Default for EncoderState {
    fn default() -> Self {
        Self::new()
    }
}

/// A step on its way through the blocks, as int16 in steps of `unit`.
struct Step {
    values: [i16; WIDE],
    unit: f32,
}

impl Step {
    /// Makes a step of sums, rectified and rounded.
    fn new(sums: &[f32; WIDE], unit: f32) -> Self {
        let per_unit = 1.0 / unit;
        Self { values: sums.map(|sum| nearest((sum * per_unit).clamp(0.0, f32::from(i16::MAX)))), unit }
    }

    /// Runs a block whose past already includes the frame, with or without a residual connection.
    fn through<const S: usize>(&mut self, block: &Block<'_>, past: &[i16], around: bool) {
        let (mut taps, mut sums) = ([0.0; WIDE], [0.0; WIDE]);
        block.depthwise.sums::<S>(past, self.unit, &mut taps);
        block.pointwise.times(&taps, &mut sums);
        if around {
            sums.iter_mut().zip(&self.values).for_each(|(sum, &value)| *sum += f32::from(value) * self.unit);
        }
        *self = Self::new(&sums, block.step);
    }
}

// A depthwise convolution over time: nine taps for each channel, on consecutive frames or on every second one.
//
// The past of each channel is contiguous, so that a step is a shift of a few words and nine products, in integers.

/// Taps of a channel.
pub const TAPS: usize = 9;
/// The frames that the taps span, consecutive or every second one.
pub const SPAN: usize = TAPS;
pub const WIDE_SPAN: usize = 2 * TAPS - 1;

/// The taps of each channel, the oldest first, with their scale and bias.
#[derive(Clone, Copy, Debug)]
pub struct Depthwise<'a> {
    pub scales: &'a [f32],
    pub biases: &'a [f32],
    pub taps: &'a [i8],
}

impl Depthwise<'_> {
    /// Shifts a step into the past of each channel.
    pub fn push<const S: usize>(past: &mut [i16], step: &[i16]) {
        for (past, &new) in past.as_chunks_mut::<S>().0.iter_mut().zip(step) {
            // Copies number by number: `memmove` is slowest with 16-bit numbers.
            let mut later = new;
            for place in past.iter_mut().rev() {
                later = core::mem::replace(place, later);
            }
        }
    }

    /// Computes the rectified sums over the channels' pasts, whose numbers are in steps of `unit`.
    pub fn sums<const S: usize>(&self, past: &[i16], unit: f32, out: &mut [f32]) {
        let channels = past.as_chunks::<S>().0.iter().zip(self.taps.as_chunks::<TAPS>().0);
        let scales = self.scales.iter().zip(self.biases);
        for (((past, taps), (scale, bias)), place) in channels.zip(scales).zip(out) {
            keep_small();
            let every = (S - 1) / (TAPS - 1);
            let mut sum = 0;
            for tap in 0..TAPS {
                sum += i32::from(past[tap * every]) * i32::from(taps[tap]);
            }
            *place = (sum as f32 * (unit * scale) + bias).max(0.0);
        }
    }
}

// The gated recurrent unit, as PyTorch defines it (after Cho et al. 2014):
//
// ```text
// r = σ(W_r x + b_r + U_r h + c_r)        z = σ(W_z x + b_z + U_z h + c_z)
// n = tanh(W_n x + b_n + r∘(U_n h + c_n))        h ← (1 − z)∘n + z∘h
// ```

/// The weights of the input and of the state: the rows of r, then of z, then of n.
#[derive(Clone, Copy, Debug)]
pub struct Gru<'a> {
    pub input: Tensor<'a>,
    pub hidden: Tensor<'a>,
}

impl Gru<'_> {
    /// Advances `state` by one step.
    pub fn step(&self, input: &[f32], state: &mut [f32]) {
        let size = state.len();
        let (mut of_input, mut of_state) = ([0.0; 3 * HIDDEN], [0.0; 3 * HIDDEN]);
        self.input.times(input, &mut of_input);
        self.hidden.times(state, &mut of_state);
        let mut of_input = of_input.chunks_exact(size.max(1));
        let mut of_state = of_state.chunks_exact(size.max(1));
        let mut gate = || of_input.next().unwrap_or(&[]).iter().zip(of_state.next().unwrap_or(&[]));
        let (reset, update, new) = (gate(), gate(), gate());
        for (((state, (r_x, r_h)), (z_x, z_h)), (n_x, n_h)) in state.iter_mut().zip(reset).zip(update).zip(new) {
            keep_small();
            let (r, z) = (sigmoid(r_x + r_h), sigmoid(z_x + z_h));
            let n = tanh(n_x + r * n_h);
            *state = n + z * (*state - n);
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-x))
}

fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (1.0 + libm::expf(2.0 * x))
}

// A matrix of int8 weights in flash, multiplied by a vector.
//
// Rows are stored as in a model and multiplied by its kernels: a vector is rounded to int16 once for all rows. Its step
// is the smallest with which no dot product overflows: by Cauchy and Schwarz none is above 256·‖row‖·‖vector‖, in whole
// numbers.

/// Columns of the widest matrix, the stem's or the embedding's.
pub const WIDEST: usize = 208;
/// Rows whose dot products are computed together.
const TOGETHER: usize = 48;
/// The limit of ‖row‖·‖vector‖: 2²³, less the effect of rounding.
const LARGEST_DOT: f32 = 8_380_000.0;
/// The limit of each number, which leaves room for the odd column's part in the even one.
const LARGEST: f32 = 32_000.0;
/// The norm below which a vector counts as zero.
const SMALLEST_NORM: f32 = 1e-20;

/// Rows, each with its scale and bias.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    columns: usize,
    scales: &'a [f32],
    biases: &'a [f32],
    pairs: &'a [i16],
    /// The norm of the longest row, in whole numbers.
    longest: f32,
}

/// A vector, rounded.
#[repr(align(4))]
struct Rounded([i16; WIDEST]);

impl<'a> Tensor<'a> {
    pub const EMPTY: Self = Self { columns: 0, scales: &[], biases: &[], pairs: &[], longest: 1.0 };

    /// Makes a matrix. `pairs` has a row of `columns` weights for each scale; the number of columns is even and at most
    /// [`WIDEST`].
    pub fn new(columns: usize, scales: &'a [f32], biases: &'a [f32], pairs: &'a [i16]) -> Self {
        let square = |weight: i8| u32::from(weight.unsigned_abs()).pow(2);
        let of_row =
            |row: &[i16]| row.iter().fold(0, |sum, &pair| sum + kernels::weights(pair).map(square).iter().sum::<u32>());
        let longest = pairs.chunks_exact((columns / 2).max(1)).fold(1, |longest, row| longest.max(of_row(row)));
        Self { columns, scales, biases, pairs, longest: sqrt(longest as f32) }
    }

    /// Computes each row's dot product with the vector, times its scale, plus its bias.
    pub fn times(&self, vector: &[f32], out: &mut [f32]) {
        let mut rounded = Rounded([0; WIDEST]);
        let Some(query) = rounded.0.get_mut(..self.columns) else { return };
        let unit = round(vector, self.longest, query);
        let rows = self.pairs.chunks((self.columns / 2).max(1) * TOGETHER);
        let scales = self.scales.chunks(TOGETHER).zip(self.biases.chunks(TOGETHER));
        for ((rows, (scales, biases)), out) in rows.zip(scales).zip(out.chunks_mut(TOGETHER)) {
            let mut dots = [0; TOGETHER];
            kernels::dot_rows(rows, query, &mut dots);
            for (((place, dot), scale), bias) in out.iter_mut().zip(dots).zip(scales).zip(biases) {
                keep_small();
                *place = dot as f32 * (unit * scale) + bias;
            }
        }
    }
}

/// Rounds the vector for rows whose norm is at most `longest`. Returns the value of one unit of a dot product.
fn round(vector: &[f32], longest: f32, query: &mut [i16]) -> f32 {
    let norm = sqrt(vector.iter().fold(0.0, |sum, value| sum + value * value));
    // A vector with NaN or an infinity gives zeros.
    if !(SMALLEST_NORM..f32::INFINITY).contains(&norm) {
        return 0.0;
    }
    let largest = (LARGEST_DOT / longest).min(LARGEST);
    let per_step = largest / norm;
    let mut pairs = vector.as_chunks().0.iter();
    kernels::for_each_pair(query, |even, odd| {
        let &[first, second] = pairs.next().unwrap_or(&[0.0; 2]);
        let second = nearest(second * per_step);
        // The even weight is multiplied with a 256th of the odd value as well: see `kernels`.
        *even = nearest(first * per_step - f32::from(second) * (1.0 / 256.0));
        *odd = second;
    });
    norm / (largest * 256.0)
}

/// Rounds a number of at most 2¹⁶ to the nearest whole one, halves to the even one.
#[inline]
pub fn nearest(x: f32) -> i16 {
    // Above 2²³ floats are whole numbers.
    const WHOLE: f32 = 12_582_912.0;
    (x + WHOLE).to_bits() as i16
}

// The encoder's file, opened in place and checked once.
//
// Little-endian, everything on word boundaries:
//
// | bytes | content |
// |---|---|
// | 4 | `ZKWE` |
// | 4 · 6 | version (1), channels before and after the second stride, GRU, embedding, number of tensors (16) |
// | … | stem, six times depthwise and pointwise, GRU of the input, GRU of the state, embedding |
// | 4 · 17 | the value of one step of int16: features, stem, depthwise and pointwise of each block, and three spare
// ones |
// | 4 · 3 | [`Thresholds`] |
//
// A tensor is its rows and columns (u32 each), a scale and then a bias for each row (f32), and its weights, row by row:
// the taps of a depthwise convolution as int8, all others two in one 16-bit number, as in a model. Padding to a word
// follows.

const MAGIC: [u8; 4] = *b"ZKWE";
const VERSION: u32 = 1;
const TENSORS: usize = 1 + 2 * BLOCKS + 3;
/// Scales of activations.
const STEPS: usize = 17;
/// The block whose convolution takes two steps at a time and has more output channels.
const STRIDED: usize = 2;
/// The largest number that a file may hold.
const LARGEST_VALUE: f32 = 1e6;

/// The weights of a streaming encoder, in flash.
///
/// ```
/// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
/// use zhat::keywords::Encoder;
///
/// let encoder = Encoder::from_bytes(bytes)?;
/// assert_eq!(encoder.dim(), 128);
/// # Ok::<(), zhat::keywords::EncoderError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Encoder<'a> {
    hidden: usize,
    dim: usize,
    stem: Tensor<'a>,
    stem_step: f32,
    blocks: [Block<'a>; BLOCKS],
    gru: Gru<'a>,
    embedding: Tensor<'a>,
    thresholds: Thresholds,
}

impl<'a> Encoder<'a> {
    /// Opens the file; nothing is copied. The bytes must be word-aligned, as [`include_model!`](crate::include_model)
    /// makes them.
    ///
    /// ```
    /// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
    /// use zhat::keywords::{Encoder, EncoderError};
    ///
    /// assert!(Encoder::from_bytes(bytes).is_ok());
    /// assert_eq!(Encoder::from_bytes(&bytes[..1000]).unwrap_err(), EncoderError::Truncated);
    /// ```
    ///
    /// # Errors
    /// [`EncoderError`] with the reason, if the file is not valid.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, EncoderError> {
        if !bytes.as_ptr().addr().is_multiple_of(4) {
            return Err(EncoderError::Misaligned);
        }
        let mut reader = Reader { rest: bytes, tensors: 0 };
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(EncoderError::NotAnEncoder);
        }
        let version = reader.number()?;
        if version != VERSION {
            return Err(EncoderError::Version(version));
        }
        let (narrow, wide) = (reader.size(NARROW)?, reader.size(WIDE)?);
        let (hidden, dim) = (reader.size(HIDDEN)?, reader.size(DIM)?);
        if reader.number()? != TENSORS as u32 {
            return Err(EncoderError::Sizes);
        }
        let stem = reader.matrix(narrow, STEM_TAPS * BANDS)?;
        let mut blocks = [Block::EMPTY; BLOCKS];
        for (i, block) in blocks.iter_mut().enumerate() {
            let (from, to) = (if i > STRIDED { wide } else { narrow }, if i < STRIDED { narrow } else { wide });
            *block = Block { depthwise: reader.depthwise(from)?, pointwise: reader.matrix(to, from)?, step: 0.0 };
        }
        let gru = Gru { input: reader.matrix(3 * hidden, wide)?, hidden: reader.matrix(3 * hidden, hidden)? };
        let embedding = reader.matrix(dim, hidden + wide)?;
        let steps = reader.floats(STEPS)?;
        if !steps.iter().all(|step| (1e-12..LARGEST_VALUE).contains(step)) {
            return Err(EncoderError::Content);
        }
        // Pointwise convolutions only: the matrices whose inputs are rounded anew need none.
        for (block, step) in blocks.iter_mut().zip(steps.iter().skip(3).step_by(2)) {
            block.step = *step;
        }
        let stem_step = steps.get(1).copied().unwrap_or(1.0);
        let thresholds = Thresholds::of(reader.floats(3)?).ok_or(EncoderError::Content)?;
        if !reader.rest.is_empty() {
            return Err(EncoderError::TrailingBytes);
        }
        Ok(Self { hidden, dim, stem, stem_step, blocks, gru, embedding, thresholds })
    }

    /// Returns the length of its embeddings: the dimension of the model that they are queries of.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the thresholds that are stored in the file.
    pub fn thresholds(&self) -> Thresholds {
        self.thresholds
    }
}

/// The scales, biases and weights of a tensor.
type Stored<'a> = (&'a [f32], &'a [f32], &'a [u8]);

/// The bytes left to read, and the number of tensors read.
struct Reader<'a> {
    rest: &'a [u8],
    tensors: u32,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], EncoderError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(EncoderError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, EncoderError> {
        let bytes = self.take(4)?.try_into().map_err(|_| EncoderError::Truncated)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads a multiple of four that is not above `most`.
    fn size(&mut self, most: usize) -> Result<usize, EncoderError> {
        let size = self.number()? as usize;
        if size == 0 || size > most || !size.is_multiple_of(4) { Err(EncoderError::Sizes) } else { Ok(size) }
    }

    fn floats(&mut self, count: usize) -> Result<&'a [f32], EncoderError> {
        bytemuck::try_cast_slice(self.take(4 * count)?).map_err(|_| EncoderError::Misaligned)
    }

    /// Reads a tensor of these sizes.
    fn tensor(&mut self, rows: usize, columns: usize) -> Result<Stored<'a>, EncoderError> {
        let number = self.tensors;
        self.tensors += 1;
        if [self.number()?, self.number()?] != [rows as u32, columns as u32] {
            return Err(EncoderError::TensorSizes(number));
        }
        let (scales, biases) = (self.floats(rows)?, self.floats(rows)?);
        let are_sound = |values: &[f32]| values.iter().all(|value| value.abs() < LARGEST_VALUE);
        if !are_sound(scales) || !are_sound(biases) {
            return Err(EncoderError::TensorContent(number));
        }
        let weights = self.take(rows * columns)?;
        self.take((rows * columns).next_multiple_of(4) - rows * columns)?;
        Ok((scales, biases, weights))
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Result<Tensor<'a>, EncoderError> {
        let (scales, biases, weights) = self.tensor(rows, columns)?;
        let pairs = bytemuck::try_cast_slice(weights).map_err(|_| EncoderError::Misaligned)?;
        Ok(Tensor::new(columns, scales, biases, pairs))
    }

    fn depthwise(&mut self, channels: usize) -> Result<Depthwise<'a>, EncoderError> {
        let (scales, biases, weights) = self.tensor(channels, TAPS)?;
        Ok(Depthwise { scales, biases, taps: bytemuck::cast_slice(weights) })
    }
}

// The reasons to refuse an encoder's file.

/// Says why bytes are not a valid encoder.
///
/// ```
/// use zhat::keywords::{Encoder, EncoderError};
/// use zhat::model::Aligned;
///
/// static BYTES: Aligned<[u8; 40]> = Aligned([0; 40]);
/// let error = Encoder::from_bytes(&BYTES.0).unwrap_err();
/// assert_eq!(error, EncoderError::NotAnEncoder);
/// assert_eq!(error.to_string(), "not an encoder of keywords (wrong magic)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum EncoderError {
    /// The bytes do not start on a word boundary: use [`include_model!`](crate::include_model).
    Misaligned,
    /// The bytes end before the encoder does.
    Truncated,
    /// There are bytes after the end of the encoder.
    TrailingBytes,
    /// The file does not start with the magic bytes of an encoder.
    NotAnEncoder,
    /// The file is of a version that this library does not read.
    Version(u32),
    /// A size in the header is zero, no multiple of four, or above the limit of the state's memory.
    Sizes,
    /// The tensor of this number does not have the sizes in the header.
    TensorSizes(u32),
    /// The tensor of this number has a scale or a bias that is out of range.
    TensorContent(u32),
    /// A scale of activations, or a threshold, is out of range.
    Content,
}

impl fmt::Display for EncoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Misaligned => f.write_str("the encoder's bytes are not word-aligned"),
            Self::Truncated => f.write_str("the encoder's file is cut short"),
            Self::TrailingBytes => f.write_str("there are bytes after the end of the encoder"),
            Self::NotAnEncoder => f.write_str("not an encoder of keywords (wrong magic)"),
            Self::Version(version) => write!(f, "version {version} of the encoder's file is not supported"),
            Self::Sizes => f.write_str("the encoder's sizes are zero, no multiples of four, or too large"),
            Self::TensorSizes(tensor) => {
                write!(f, "tensor {tensor} of the encoder has other sizes than its header says")
            }
            Self::TensorContent(tensor) => write!(f, "tensor {tensor} of the encoder holds an invalid number"),
            Self::Content => f.write_str("the encoder's scales or thresholds are invalid"),
        }
    }
}

impl core::error::Error for EncoderError {}

#[cfg(test)]
mod parts_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gates_are_those_of_f64_and_end_where_they_should() {
        for i in -400..=400 {
            let x = i as f32 / 20.0;
            let exact = f64::from(x);
            assert!((f64::from(sigmoid(x)) - 1.0 / (1.0 + (-exact).exp())).abs() < 2e-7);
            assert!((f64::from(tanh(x)) - exact.tanh()).abs() < 3e-7);
        }
        assert_eq!([sigmoid(1e9), sigmoid(-1e9), tanh(1e9), tanh(-1e9)], [1.0, 0.0, 1.0, -1.0]);
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest() {
        for (x, expected) in [(0.0, 0), (0.5, 0), (0.51, 1), (-0.5, 0), (-1.5, -2), (32_000.4, 32_000), (-7.6, -8)] {
            assert_eq!(nearest(x), expected, "{x}");
        }
    }

    proptest! {
        #[test]
        fn products_are_those_of_floats(
            pairs in 2usize..104,
            rows in 1usize..100,
            amplitude in 1e-6_f32..1e6,
            seed in any::<u64>(),
        ) {
            let columns = 4 * pairs.div_ceil(2);
            let mut state = seed | 1;
            let mut next = || { state = state.wrapping_mul(6364136223846793005).wrapping_add(1); (state >> 40) as i32 - (1 << 23) };
            let weights: Vec<i8> = (0..columns * rows).map(|_| (next() % 128) as i8).collect();
            let vector: Vec<f32> = (0..columns).map(|_| next() as f32 * amplitude).collect();
            let (scales, biases) = (vec![0.5; rows], vec![3.0; rows]);
            let stored: Vec<i16> = weights.as_chunks().0.iter().map(|&[even, odd]| kernels::pair(even, odd)).collect();
            let tensor = Tensor::new(columns, &scales, &biases, &stored);
            let mut out = vec![0.0; rows];
            tensor.times(&vector, &mut out);
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            for (row, &product) in weights.chunks(columns).zip(&out) {
                let truth: f64 = row.iter().zip(&vector).map(|(&w, &x)| f64::from(w) * f64::from(x)).sum();
                let length = row.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>().sqrt();
                // Half a step a column: a step is ‖x‖·‖longest row‖/2²³.
                let bound = length * f64::from(norm) * f64::from(tensor.longest) / 8e6 * (columns as f64).sqrt() * 0.6;
                prop_assert!((f64::from(product) - 3.0 - 0.5 * truth).abs() <= 0.5 * bound + 1e-5 * truth.abs() + 1e-3, "{product} {truth}");
            }
        }
    }
}
