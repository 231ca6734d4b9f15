//! Numbers that the builder stores: the settings, the figures on held-out queries, and the scale of int8 activations.

use super::Budget;
use super::check::are_finite_and_not_negative;
use crate::math::Log2;

/// The settings that a model file carries for its own use.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// let settings = model.settings().expect("an index");
/// assert_eq!((settings.budget.cap, settings.temperature), (50, 1.0));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Settings {
    /// The stored budget. All other settings were measured with it.
    pub budget: Budget,
    /// The logarithm of the factor on the far field.
    pub far_factor: Log2,
    /// Scores are divided by this before they become probabilities.
    pub temperature: f32,
    /// A quarter more words for nodes than the calibration queries took. This is no bound:
    /// [`Model::scratch_words`](super::Model::scratch_words) returns what is enough for any query.
    pub frontier_words: u32,
    /// log₂ Σ exp bias: log₂ Z of a query of zeros, which needs no prediction.
    pub log_z_of_zero: Log2,
}

impl Settings {
    /// The number of words of the section.
    pub(super) const WORDS: usize = 8;

    /// The number of words in use; those after them are zero.
    const USED: usize = 7;

    /// Reads the section; `None` if a word that must be zero is not.
    pub(super) fn from_words(words: &[u32; Self::WORDS]) -> Option<Self> {
        let settings = Self {
            budget: Budget { cap: words[0], epsilon: f32::from_bits(words[1]), expand: words[2] },
            far_factor: Log2::from_bits(words[3] as i32),
            temperature: f32::from_bits(words[4]),
            frontier_words: words[5],
            log_z_of_zero: Log2::from_bits(words[6] as i32),
        };
        (words[Self::USED..] == [0; Self::WORDS - Self::USED]).then_some(settings)
    }

    /// Encodes the section for the file.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u32; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        let Self { budget, far_factor, temperature, frontier_words, log_z_of_zero } = self;
        words[..3].copy_from_slice(&[budget.cap, budget.epsilon.to_bits(), budget.expand]);
        words[3..6].copy_from_slice(&[far_factor.to_bits() as u32, temperature.to_bits(), frontier_words]);
        words[6] = log_z_of_zero.to_bits() as u32;
        words
    }

    pub(super) fn is_sound(&self) -> bool {
        let Self { budget, far_factor, temperature, .. } = self;
        budget.expand <= Budget::MAX_EXPAND
            && far_factor.to_bits().unsigned_abs() < 64 << Log2::FRACTION_BITS
            && *temperature > 0.0
            && are_finite_and_not_negative(&[budget.epsilon, *temperature])
    }
}

/// Figures on held-out queries, for people who inspect the file. The classifier does not use them.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// let measured = model.measured().expect("figures of the build");
/// assert!(measured.error < 0.05 && measured.recall > 0.95);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Measured {
    /// The number of queries that the figures are from.
    pub queries: u32,
    /// Mean |Ẑ−Z|/Z.
    pub error: f32,
    /// The share of queries whose best class was found.
    pub recall: f32,
    /// Of the queries that have a 95 % interval, the share for which it held the float layer's probability of the best class found.
    pub coverage: f32,
    /// Mean work, as a share of N.
    pub work: f32,
    /// The largest work, as a share of N.
    pub max_work: f32,
    /// The mean probability of the best class: near 1 the layer is confident, far below it is flat.
    pub top_p: f32,
    /// The mean standard deviation of a query's scores over the classes, in nats.
    pub spread: f32,
}

impl Measured {
    /// The number of words of the section.
    pub(super) const WORDS: usize = 8;

    pub(super) fn from_words(words: &[u32; Self::WORDS]) -> Self {
        let float = |i: usize| f32::from_bits(words[i]);
        Self {
            queries: words[0],
            error: float(1),
            recall: float(2),
            coverage: float(3),
            work: float(4),
            max_work: float(5),
            top_p: float(6),
            spread: float(7),
        }
    }

    /// Encodes the section for the file.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u32; Self::WORDS] {
        let Self { queries, error, recall, coverage, work, max_work, top_p, spread } = self;
        let mut words = [queries; Self::WORDS];
        let floats = [error, recall, coverage, work, max_work, top_p, spread];
        words[1..].copy_from_slice(&floats.map(f32::to_bits));
        words
    }

    pub(super) fn is_sound(&self) -> bool {
        let Self { error, recall, coverage, work, max_work, top_p, spread, .. } = *self;
        are_finite_and_not_negative(&[error, recall, coverage, work, max_work, top_p, spread])
    }
}

/// The scale of int8 activations as the network before the layer outputs them: a value is `(activation − zero_point) ·
/// scale`.
///
/// ```
/// # let bytes = zhat::doc_file("models/import/int8_head.zhat");
/// use zhat::{Error, Model, QueryBuffer, model::InputScale};
///
/// let model = Model::from_bytes(bytes)?;
/// let InputScale { scale, zero_point } = model.input_scale().ok_or(Error::NoQuery)?;
/// let activations = [3; 6]; // of the int8 network
/// let query = QueryBuffer::<8>::from_i8(&model, &activations, scale, zero_point)?;
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct InputScale {
    /// The value of one step.
    pub scale: f32,
    /// The activation that stands for zero.
    pub zero_point: i8,
}

impl InputScale {
    /// Returns the zero point of the same activations as uint8, which are 128 higher: for [`Query::set_u8`](crate::Query::set_u8).
    ///
    /// ```
    /// use zhat::model::InputScale;
    ///
    /// let input = InputScale { scale: 0.05, zero_point: -128 };
    /// assert_eq!(input.zero_point_u8(), 0);
    /// ```
    pub const fn zero_point_u8(&self) -> u8 {
        self.zero_point.cast_unsigned() ^ 0x80
    }

    /// The number of words of the section.
    pub(super) const WORDS: usize = 2;

    /// Reads the section; `None` if the zero point is not a signed byte or the scale is not a positive number.
    pub(super) fn from_words(&[scale, zero_point]: &[u32; Self::WORDS]) -> Option<Self> {
        let scale = f32::from_bits(scale);
        let zero_point = i8::try_from(zero_point.cast_signed()).ok()?;
        (scale.is_finite() && scale > 0.0).then_some(Self { scale, zero_point })
    }

    /// Encodes the section for the file.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u32; Self::WORDS] {
        [self.scale.to_bits(), i32::from(self.zero_point).cast_unsigned()]
    }
}
