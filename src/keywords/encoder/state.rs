//! What an encoder remembers of a word: the past of its convolutions, the state of its GRU, and means.

use super::depthwise::{Depthwise, SPAN, WIDE_SPAN};
use super::file::STRIDED;
use super::tensor::{WIDEST, nearest};
use super::{BLOCKS, Block, Encoder, HIDDEN, NARROW, STEM_TAPS, WIDE};
use crate::Error;
use crate::keywords::BANDS;

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
    /// Of the logarithms, so far.
    sums: [f32; BANDS],
    /// The last frames, the oldest first.
    window: [f32; STEM_TAPS * BANDS],
    /// The past of each channel of each block.
    narrow: [[i16; SPAN * NARROW]; STRIDED + 1],
    wide: [i16; SPAN * WIDE],
    dilated: [[i16; WIDE_SPAN * WIDE]; 2],
    /// Steps that the strided block has taken in, and that came out of the last one.
    halved: u32,
    steps: u32,
    /// Of the last block's outputs.
    totals: [i32; WIDE],
    hidden: [f32; HIDDEN],
}

impl EncoderState {
    /// Before the first frame of a word.
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

    /// Forgets everything: the next frame is the first of a word.
    ///
    /// ```
    /// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
    /// # let encoder = zhat::keywords::Encoder::from_bytes(bytes)?;
    /// let mut state = zhat::keywords::EncoderState::new();
    /// [[1.0; 40]; 8].iter().for_each(|frame| state.push(&encoder, frame));
    /// state.clear();
    /// assert!(state.query::<128>(&encoder).is_err());
    /// # Ok::<(), zhat::keywords::EncoderError>(())
    /// ```
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

    /// Takes the logarithms of a frame's bands. Every second frame goes through the stem and two blocks, every fourth
    /// through all of them.
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

    /// The query of the word so far.
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
    /// [`Error::QueryLength`] if `D` is not the encoder's, [`Error::NoQuery`] if nothing came out yet.
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

    /// Shifts a frame into the window: its distance from the mean of all so far.
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

    /// What comes out of the last block: into the mean, and through the GRU.
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

/// A step on its way through the blocks, in units of so much.
struct Step {
    values: [i16; WIDE],
    unit: f32,
}

impl Step {
    /// The numbers, rectified and rounded.
    fn new(sums: &[f32; WIDE], unit: f32) -> Self {
        let per_unit = 1.0 / unit;
        Self { values: sums.map(|sum| nearest((sum * per_unit).clamp(0.0, f32::from(i16::MAX)))), unit }
    }

    /// Through a block whose past it is already part of, with or without a way around it.
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
