//! When a word is sure enough, and how often that is wrong.

/// The threshold of events, with what was measured at it.
///
/// ```
/// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
/// let thresholds = zhat::keywords::Encoder::from_bytes(bytes)?.thresholds();
/// assert!(thresholds.false_accepts <= 1.0 && thresholds.false_rejects <= 1.0);
/// # Ok::<(), zhat::keywords::EncoderError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Thresholds {
    /// A word's p, the mean of a few decisions, must not be below this.
    pub p: f32,
    /// The share of words outside of the vocabulary that are taken for one of it; of noises it is lower.
    pub false_accepts: f32,
    /// The share of words that are not recognised.
    pub false_rejects: f32,
}

impl Thresholds {
    /// Three shares, as they are stored.
    pub(super) fn of(stored: &[f32]) -> Option<Self> {
        let &[p, false_accepts, false_rejects] = stored else { return None };
        let are_shares = stored.iter().all(|share| (0.0..=1.0).contains(share));
        are_shares.then_some(Self { p, false_accepts, false_rejects })
    }
}
