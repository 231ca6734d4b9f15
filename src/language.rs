//! Queries of a log-bilinear language model, made of the previous words. Its input vectors are its rows.
//!
//! ```text
//! s = Σ_j c_j ∘ [v_{w_j} … v_{w_j}]      one copy of the word's row for each map
//! q = M s
//! ```
//!
//! This is the model of Mnih & Hinton (2007), with the rows shared by input and output and a small matrix that tells
//! the two apart. The rows are those of the model file, so that a device stores every word once; c and M are in a small
//! file beside it, which the example `train_lm` writes. All arithmetic is plain f32 in a fixed order, so the bits are
//! the same everywhere. For a context of n words and m maps it costs (n + d)·m·d multiplications.
//!
//! | bytes | content of the file, little-endian |
//! |---|---|
//! | 4 | n, the number of words of a context |
//! | 4 | m·d, the length of s |
//! | 4·n·m·d | c, f32, the oldest word first |
//! | 4·d·m·d | M, f32, row by row |

use crate::model::Names;
use crate::{Error, Model};

/// The word for the places before the first word of a sentence, and the prediction after its last.
pub const END: &str = "</s>";
/// The word that replaces every word that the model does not know.
pub const UNKNOWN: &str = "<unk>";

/// Computes queries from the previous words.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// # let bytes = zhat::doc_file("models/next_word.context");
///
/// use zhat::{Classifier, QueryBuffer, Scratch, language::Context};
///
/// let names = model.names().expect("words");
/// let context = Context::from_bytes(bytes, model.dim())?;
/// let words = Context::words::<9>(names, "the president of the united")?;
/// let query = context.query::<64, 128>(&model, &words)?;
/// let query = QueryBuffer::<64>::new(&model, &query)?;
/// let answer = Classifier::new(model)?.classify::<1>(&query, &mut Scratch::<591>::new())?;
/// assert_eq!(names.get(answer.top[0].class as usize), Some("states"));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    positions: usize,
    width: usize,
    weights: &'a [f32],
    map: &'a [f32],
}

impl<'a> Context<'a> {
    /// Opens the file for models of dimension `dim`. The bytes must be word-aligned, as
    /// [`include_model!`](crate::include_model) makes them.
    ///
    /// ```
    /// # let bytes = zhat::doc_file("models/next_word.context");
    ///
    /// let context = zhat::language::Context::from_bytes(bytes, 64)?;
    /// assert_eq!(context.positions(), 9);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misaligned`], [`Error::Truncated`], [`Error::Header`] or [`Error::QueryNotFinite`].
    pub fn from_bytes(bytes: &'a [u8], dim: usize) -> Result<Self, Error> {
        let (head, rest) = bytes.split_first_chunk::<8>().ok_or(Error::Truncated)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let (positions, width) = (word(0), word(4));
        let values: &[f32] = bytemuck::try_cast_slice(rest).map_err(|_| Error::Misaligned)?;
        let weights = positions.checked_mul(width).ok_or(Error::Header)?;
        let (weights, map) = values.split_at_checked(weights).ok_or(Error::Truncated)?;
        if positions == 0 || dim == 0 || width == 0 || width % dim != 0 || Some(map.len()) != dim.checked_mul(width) {
            return Err(Error::Header);
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err(Error::QueryNotFinite);
        }
        Ok(Self { positions, width, weights, map })
    }

    /// Returns the number of words of a context.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Returns the length of the sums, which is the `WIDTH` of [`Context::query`].
    pub fn width(&self) -> usize {
        self.width
    }

    /// Finds the last `N` words of a text, between white space, as classes, the oldest first. Uses [`END`] for missing
    /// words if the text has fewer, and [`UNKNOWN`] for a word that has no name. `N` is [`Context::positions`].
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// use zhat::language::{Context, END, UNKNOWN};
    ///
    /// let names = model.names().expect("words");
    /// let words = Context::words::<3>(names, "my blorp")?;
    /// assert_eq!(words.map(|word| names.get(word)), [Some(END), Some("my"), Some(UNKNOWN)]);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchClass`] if the model has no name for [`END`] or [`UNKNOWN`].
    pub fn words<const N: usize>(names: &Names<'_>, text: &str) -> Result<[usize; N], Error> {
        let unknown = names.find(UNKNOWN).ok_or(Error::NoSuchClass)?;
        let mut context = [names.find(END).ok_or(Error::NoSuchClass)?; N];
        for (place, word) in context.iter_mut().rev().zip(text.split_whitespace().rev()) {
            *place = names.find(word).unwrap_or(unknown);
        }
        Ok(context)
    }

    /// Computes the query of a context: classes of `model`, the oldest word first.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// # let bytes = zhat::doc_file("models/next_word.context");
    ///
    /// use zhat::language::Context;
    ///
    /// let context = Context::from_bytes(bytes, model.dim())?;
    /// let words = Context::words::<9>(model.names().expect("words"), "ladies and")?;
    /// let query: [f32; 64] = context.query::<64, 128>(&model, &words)?;
    /// assert!(query.iter().all(|value| value.is_finite()));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::QueryLength`] if the model, `DIM`, `WIDTH` or the number of words do not fit the file,
    /// [`Error::NoSuchClass`] if a word is not one of the model's.
    pub fn query<const DIM: usize, const WIDTH: usize>(
        &self,
        model: &Model<'_>,
        words: &[usize],
    ) -> Result<[f32; DIM], Error> {
        if model.dim() != DIM || self.width != WIDTH || words.len() != self.positions {
            return Err(Error::QueryLength);
        }
        let mut sums = [0.0; WIDTH];
        for (&word, weights) in words.iter().zip(self.weights.chunks_exact(WIDTH.max(1))) {
            let row = model.row_of_class(word).ok_or(Error::NoSuchClass)?;
            // Rows are stored divided by the temperature; as inputs they need it undone.
            let scale = model.row_scale(row) * model.settings().map_or(1.0, |settings| settings.temperature);
            let mut values = [0.0; DIM];
            values.iter_mut().zip(model.rows().weights(row)).for_each(|(value, w)| *value = f32::from(w) * scale);
            for (sums, weights) in sums.chunks_exact_mut(DIM.max(1)).zip(weights.chunks_exact(DIM.max(1))) {
                for ((sum, weight), value) in sums.iter_mut().zip(weights).zip(values) {
                    *sum += weight * value;
                }
            }
        }
        let mut query = [0.0; DIM];
        for (place, map) in query.iter_mut().zip(self.map.chunks_exact(WIDTH.max(1))) {
            *place = map.iter().zip(&sums).fold(0.0, |dot, (weight, sum)| dot + weight * sum);
        }
        Ok(query)
    }

    /// Writes the file for these weights and this map.
    ///
    /// ```
    /// use zhat::language::Context;
    /// use zhat::model::Aligned;
    ///
    /// // Two words before, one map, one dimension.
    /// let file: [u8; 20] = Context::encode(2, &[0.5, 1.0], &[2.0]).try_into().expect("20 bytes");
    /// let file = Aligned(file);
    /// assert_eq!(Context::from_bytes(&file.0, 1)?.positions(), 2);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn encode(positions: usize, weights: &[f32], map: &[f32]) -> alloc::vec::Vec<u8> {
        let width = weights.len() / positions.max(1);
        let head = [positions as u32, width as u32];
        let mut file: alloc::vec::Vec<u8> = bytemuck::cast_slice(&head).to_vec();
        file.extend_from_slice(bytemuck::cast_slice(weights));
        file.extend_from_slice(bytemuck::cast_slice(map));
        file
    }
}
