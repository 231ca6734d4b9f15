//! The builder's choices: the budget, the far field's factor, the temperature.

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
