//! What can be said about an answer: an interval around each probability, and whether the query is like those that were
//! measured.
//!
//! The builder asks the finished model about queries that nothing was tuned on, and compares its probabilities with those of
//! the float layer that it was given. The error of ln p is taken in units of
//!
//! ```text
//! (far share + 0.05·(1 − p) + 0.001) · max(1, ‖q‖/n₀)³        n₀ the median norm of the queries
//! ```
//!
//! because what is off is the far field, and the rounding of everything but the class itself, and both grow with the query.
//! In these units errors are alike, and one number for the first class and one for the others hold 95 % of them
//! (split conformal prediction: Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005).
//!
//! That holds for queries like those that were measured. Four numbers tell whether one is: the logarithms of ‖q‖, of Ẑ and of
//! what is least known of Ẑ, the far share or, where all rows are scored, all but the best class (in base 2 and rough,
//! straight between two powers of it); and w·q, with w the linear function that is as near to one as can be for the queries
//! of the calibration, which are seldom all around zero. The squared distance from their mean, in units of their covariance
//! (Mahalanobis), and the norm itself keep to limits that 96 to 98 % of queries held out keep to.

use crate::hint::keep_small;
use crate::math::float::rough_log2;

/// The count of numbers that tell whether a query is familiar.
pub(crate) const NUMBERS: usize = 4;

/// What was measured about the answers of a model.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// let trust = model.trust().expect("measured on enough queries");
/// println!("measured on {} queries of norms {:?}", trust.queries, trust.norms);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Trust {
    /// How many queries the intervals were measured on.
    pub queries: u32,
    /// n₀, the median norm of a query.
    pub typical_norm: f32,
    /// The least and the largest norm of a familiar query.
    pub norms: [f32; 2],
    /// Above this energy, −ln Ẑ, a query is taken for none of the classes.
    pub reject_energy: f32,
    /// The share of queries held out that are above it.
    pub reject_rate: f32,
    /// What one unit of the int8 weights of w is worth.
    pub likeness_scale: f32,
    /// Of answers within the stored budget.
    pub estimated: Answers,
    /// Of answers that score all rows: only the rounding is left.
    pub exact: Answers,
}

/// What was measured about answers of one kind.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// let trust = model.trust().expect("measured on enough queries");
/// assert!(trust.exact.margins[0] > 0.0 && trust.estimated.margins[0] > 0.0);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Answers {
    /// The mean of the four numbers.
    pub centre: [f32; NUMBERS],
    /// What whitens them: the lower triangle of a matrix, row by row.
    pub whiten: [f32; NUMBERS * (NUMBERS + 1) / 2],
    /// The largest squared distance of a familiar query.
    pub distance: f32,
    /// The margin of the first class and of all others, in units of the error.
    pub margins: [f32; 2],
}

/// A share is raised by this before its logarithm is taken: less is as good as none.
const LEAST_SHARE: f32 = 1e-4;
/// The part of 1 − p, and what is left of an error where all of p is one class.
const REST: f32 = 0.05;
const LEAST: f32 = 0.001;

impl Trust {
    /// Words of the section: f32, but the first one.
    pub(super) const WORDS: usize = 44;

    /// Words that say something; those after them are zero.
    const USED: usize = Self::OWN + 2 * Answers::WORDS;

    /// Words in front of those of the answers.
    const OWN: usize = 7;

    /// Those of them that may be below zero, a bit each: the energy, and centre and whitening of both kinds.
    const SIGNED: u64 = 1 << 4 | Answers::SIGNED << Self::OWN | Answers::SIGNED << (Self::OWN + Answers::WORDS);

    pub(super) fn from_words(words: &[f32; Self::WORDS]) -> Self {
        Self {
            queries: words[0].to_bits(),
            typical_norm: words[1],
            norms: [words[2], words[3]],
            reject_energy: words[4],
            reject_rate: words[5],
            likeness_scale: words[6],
            estimated: Answers::from_words(words, Self::OWN),
            exact: Answers::from_words(words, Self::OWN + Answers::WORDS),
        }
    }

    /// Reads the scale of w alone.
    #[inline]
    pub(super) fn likeness_scale(words: &[f32; Self::WORDS]) -> f32 {
        let &[_, _, _, _, _, _, scale, ..] = words;
        scale
    }

    /// The section as the file has it.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [f32; Self::WORDS] {
        let mut words = [0.0; Self::WORDS];
        let Self { queries, typical_norm, norms, reject_energy, reject_rate, likeness_scale, estimated, exact } = self;
        let own =
            [f32::from_bits(queries), typical_norm, norms[0], norms[1], reject_energy, reject_rate, likeness_scale];
        let floats = own.into_iter().chain(estimated.floats()).chain(exact.floats());
        words.iter_mut().zip(floats).for_each(|(word, float)| *word = float);
        words
    }

    /// Whether every word is one that can be: a number, not below zero where that makes no sense, and zero at the end.
    #[cold]
    pub(super) fn is_sound(words: &[f32; Self::WORDS]) -> bool {
        words.iter().enumerate().skip(1).all(|(at, &word)| {
            keep_small();
            word.is_finite() && (word >= 0.0 || Self::SIGNED >> at & 1 == 1) && (at < Self::USED || word.to_bits() == 0)
        })
    }
}

impl Answers {
    const WORDS: usize = NUMBERS + Self::TRIANGLE + 3;
    const TRIANGLE: usize = NUMBERS * (NUMBERS + 1) / 2;
    /// Centre and whitening.
    const SIGNED: u64 = (1 << (Self::WORDS - 3)) - 1;

    fn from_words(words: &[f32; Trust::WORDS], first: usize) -> Self {
        let float = |at: usize| words[first + at];
        Self {
            centre: core::array::from_fn(float),
            whiten: core::array::from_fn(|i| float(NUMBERS + i)),
            distance: float(Self::WORDS - 3),
            margins: [float(Self::WORDS - 2), float(Self::WORDS - 1)],
        }
    }

    #[cfg(feature = "std")]
    fn floats(&self) -> impl Iterator<Item = f32> {
        self.centre.into_iter().chain(self.whiten).chain([self.distance]).chain(self.margins)
    }
}

/// What the file says about answers of one kind, read where it stands: an answer needs little of it.
#[derive(Clone, Copy)]
pub(crate) struct Calibration<'a> {
    typical_norm: f32,
    norms: [f32; 2],
    /// Above this energy a query is rejected.
    pub reject_energy: f32,
    /// The words of [`Answers`].
    kind: &'a [f32; Answers::WORDS],
}

impl<'a> Calibration<'a> {
    /// Views the words of the section; there is always something to view.
    #[inline]
    pub fn new(words: &'a [f32; Trust::WORDS], of_exact: bool) -> Option<Self> {
        let &[_, typical_norm, least_norm, largest_norm, reject_energy, _, _, ref kinds @ ..] = words;
        let [estimated, exact] = kinds.as_chunks().0 else { return None };
        let kind = if of_exact { exact } else { estimated };
        Some(Self { typical_norm, norms: [least_norm, largest_norm], reject_energy, kind })
    }

    /// Returns whether a query is like those that were measured. `numbers` are those of its answer.
    #[inline]
    pub fn is_familiar(&self, norm: f32, mut numbers: [f32; NUMBERS]) -> bool {
        let [least, largest] = self.norms;
        let &[.., limit, _, _] = self.kind;
        let (centre, whiten) = self.kind.split_at(NUMBERS);
        // Written so that nothing that is not a number is familiar.
        least <= norm && norm <= largest && distance(&mut numbers, centre, whiten) <= limit
    }

    /// Returns the margins of the first class and of all others for a query of this norm, to be multiplied with
    /// [`error_unit`].
    #[inline]
    pub fn margins(&self, norm: f32) -> [f32; 2] {
        let growth = growth(norm, self.typical_norm);
        let &[.., first, others] = self.kind;
        [first * growth, others * growth]
    }
}

/// Returns the squared distance of numbers from their mean, once whitened. A number that is [`UNKNOWN`] is taken to be what
/// those before it let expect.
#[inline(never)]
fn distance(numbers: &mut [f32], centre: &[f32], whiten: &[f32]) -> f32 {
    let (mut whiten, mut sum) = (whiten.iter(), 0.0);
    for row in 0..numbers.len() {
        let mut white = 0.0;
        for ((number, centre), factor) in numbers.iter_mut().zip(centre).take(row + 1).zip(&mut whiten) {
            keep_small();
            if number.to_bits() == UNKNOWN {
                *number = centre - white / factor;
            }
            white += (*number - centre) * factor;
        }
        sum += white * white;
    }
    sum
}

/// The bits of a number that is not known. No arithmetic gives them.
const UNKNOWN: u32 = u32::MAX;

/// Returns the numbers that tell whether a query is familiar: from its norm, the rough log₂ of Ẑ, the share of it that is
/// least known, and w·q. Without a share that compares with the measured ones, the query is judged by the other three.
#[inline]
pub(crate) fn numbers(norm: f32, log2_z: f32, share: Option<f32>, likeness: f32) -> [f32; NUMBERS] {
    let share = share.map_or(f32::from_bits(UNKNOWN), |share| rough_log2(share + LEAST_SHARE));
    [rough_log2(norm), log2_z, share, likeness]
}

/// Returns max(1, ‖q‖/n₀)³.
pub(crate) fn growth(norm: f32, typical_norm: f32) -> f32 {
    let ratio = if norm > typical_norm { norm / typical_norm } else { 1.0 };
    ratio * ratio * ratio
}

/// Returns the part of the unit of an error that depends on the probability.
pub(crate) fn error_unit(far_share: f32, p: f32) -> f32 {
    far_share + REST * (1.0 - p) + LEAST
}
