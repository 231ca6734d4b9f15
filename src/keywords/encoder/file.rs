//! The encoder's file, opened in place and checked once.
//!
//! Little-endian, everything on word boundaries:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `ZKWE` |
//! | 4 · 6 | version (1), channels before and after the second stride, GRU, embedding, number of tensors (16) |
//! | … | stem, six times depthwise and pointwise, GRU of the input, GRU of the state, embedding |
//! | 4 · 17 | what one step of int16 is worth: features, stem, depthwise and pointwise of each block, and three spare ones |
//! | 4 · 3 | [`Thresholds`] |
//!
//! A tensor is its rows and columns (u32 each), a scale and then a bias for each row (f32), and its weights, row by row:
//! the taps of a depthwise convolution as int8, all others two in one 16-bit number, as in a model. Padding to a word follows.

use super::depthwise::{Depthwise, TAPS};
use super::gru::Gru;
use super::tensor::Tensor;
use super::{BLOCKS, Block, DIM, EncoderError, HIDDEN, NARROW, STEM_TAPS, WIDE};
use crate::keywords::BANDS;
use crate::keywords::thresholds::Thresholds;

const MAGIC: [u8; 4] = *b"ZKWE";
const VERSION: u32 = 1;
const TENSORS: usize = 1 + 2 * BLOCKS + 3;
/// Scales of activations.
const STEPS: usize = 17;
/// The block whose convolution takes two steps at a time, and makes the channels more.
pub(super) const STRIDED: usize = 2;
/// No number of a sound file is larger.
const LARGEST: f32 = 1e6;

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
    pub(super) hidden: usize,
    dim: usize,
    pub(super) stem: Tensor<'a>,
    pub(super) stem_step: f32,
    pub(super) blocks: [Block<'a>; BLOCKS],
    pub(super) gru: Gru<'a>,
    pub(super) embedding: Tensor<'a>,
    thresholds: Thresholds,
}

impl<'a> Encoder<'a> {
    /// Opens the file; nothing is copied. The bytes must be word-aligned, as [`include_model!`](crate::include_model) makes
    /// them.
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
    /// [`EncoderError`], whatever is wrong with it.
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
        if !steps.iter().all(|step| (1e-12..LARGEST).contains(step)) {
            return Err(EncoderError::Content);
        }
        // Of the pointwise convolutions: the matrices in front of which numbers are rounded anew need none.
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

    /// The length of its embeddings: the dimension of the model that they are queries of.
    ///
    /// ```
    /// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
    /// assert_eq!(zhat::keywords::Encoder::from_bytes(bytes)?.dim(), 128);
    /// # Ok::<(), zhat::keywords::EncoderError>(())
    /// ```
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The thresholds that are stored with it.
    ///
    /// ```
    /// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
    /// let thresholds = zhat::keywords::Encoder::from_bytes(bytes)?.thresholds();
    /// assert!((0.0..=1.0).contains(&thresholds.p));
    /// # Ok::<(), zhat::keywords::EncoderError>(())
    /// ```
    pub fn thresholds(&self) -> Thresholds {
        self.thresholds
    }
}

/// The scales, biases and weights of a tensor.
type Stored<'a> = (&'a [f32], &'a [f32], &'a [u8]);

/// What is left to read, and how many tensors were.
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

    /// A multiple of four that is not above `most`.
    fn size(&mut self, most: usize) -> Result<usize, EncoderError> {
        let size = self.number()? as usize;
        if size == 0 || size > most || !size.is_multiple_of(4) { Err(EncoderError::Sizes) } else { Ok(size) }
    }

    fn floats(&mut self, count: usize) -> Result<&'a [f32], EncoderError> {
        bytemuck::try_cast_slice(self.take(4 * count)?).map_err(|_| EncoderError::Misaligned)
    }

    /// A tensor of these sizes.
    fn tensor(&mut self, rows: usize, columns: usize) -> Result<Stored<'a>, EncoderError> {
        let number = self.tensors;
        self.tensors += 1;
        if [self.number()?, self.number()?] != [rows as u32, columns as u32] {
            return Err(EncoderError::TensorSizes(number));
        }
        let (scales, biases) = (self.floats(rows)?, self.floats(rows)?);
        let are_sound = |values: &[f32]| values.iter().all(|value| value.abs() < LARGEST);
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
