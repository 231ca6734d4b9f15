//! The figures that the builder measured on held-out queries.

use super::check::are_finite_and_not_negative;

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
    /// The share of queries whose 95 % interval held the exact probability of the best class found.
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
