//! What can be said about an answer: an interval around each probability, and whether the query is like those that were
//! measured.
//!
//! The builder asks the finished model about queries that nothing was tuned on, and compares its probabilities with those of
//! the float layer that it was given. The error of ln p is taken in units of
//!
//! ```text
//! (far share + 0.05·(1 − p) + 0.001) · max(1, ‖q‖/n₀)²        n₀ the median norm of the queries
//! ```
//!
//! because what is off is the far field, and the rounding of everything but the class itself, and both grow with the query.
//! In these units errors are alike, and one number for the first class and one for the others hold 95 % of them
//! (split conformal prediction: Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005).
//!
//! That holds for queries like those that were measured. Three numbers of an answer tell whether one is: ln ‖q‖, ln Ẑ and
//! the logarithm of the far share. The squared distance from their mean, in units of their covariance (Mahalanobis), and the
//! norm itself keep to limits that about 98 % of the calibration queries keep to.

use super::check::are_finite_and_not_negative;
use crate::math::float;

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
    /// The mean of ln ‖q‖, ln Ẑ and ln(far share + 0.0001).
    pub centre: [f32; 3],
    /// What whitens them: the lower triangle of a matrix, row by row.
    pub whiten: [f32; 6],
    /// The largest squared distance of a familiar query, by all three numbers, and by the first two where all rows are
    /// scored.
    pub distances: [f32; 2],
    /// The margin of the first class and of all others, in units of the error.
    pub margins: [f32; 2],
    /// The same where all rows are scored, and only the rounding is left.
    pub exact_margins: [f32; 2],
    /// Above this energy, −ln Ẑ, a query is taken for none of the classes.
    pub reject_energy: f32,
    /// The share of the calibration queries that are above it.
    pub reject_rate: f32,
}

/// Added to the far share before its logarithm is taken: less is as good as none.
pub(crate) const LEAST_FAR_SHARE: f32 = 1e-4;
/// The part of 1 − p, and what is left of an error where all of p is one class.
const REST: f32 = 0.05;
const LEAST: f32 = 0.001;

impl Trust {
    /// Words of the section.
    pub(super) const WORDS: usize = 24;

    /// Words that say something; those after them are zero.
    const USED: usize = 21;

    /// Reads the section; `None` if a word that must be zero is not.
    pub(super) fn from_words(words: &[u32; Self::WORDS]) -> Option<Self> {
        let float = |at: usize| f32::from_bits(words[at]);
        let trust = Self {
            queries: words[0],
            typical_norm: float(1),
            norms: [float(2), float(3)],
            centre: core::array::from_fn(|i| float(4 + i)),
            whiten: core::array::from_fn(|i| float(7 + i)),
            distances: [float(13), float(14)],
            margins: [float(15), float(16)],
            exact_margins: [float(17), float(18)],
            reject_energy: float(19),
            reject_rate: float(20),
        };
        (words[Self::USED..] == [0; Self::WORDS - Self::USED]).then_some(trust)
    }

    /// The section as the file has it.
    #[cfg(feature = "std")]
    pub(crate) fn to_words(self) -> [u32; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = self.queries;
        let floats = [self.typical_norm].into_iter().chain(self.norms).chain(self.centre).chain(self.whiten);
        let floats = floats.chain(self.distances).chain(self.margins).chain(self.exact_margins);
        let floats = floats.chain([self.reject_energy, self.reject_rate]);
        words[1..].iter_mut().zip(floats).for_each(|(word, float)| *word = float.to_bits());
        words
    }

    pub(super) fn is_sound(&self) -> bool {
        let Self { norms, distances, margins, exact_margins, .. } = self;
        let signed = self.centre.iter().chain(&self.whiten).chain([&self.reject_energy]);
        are_finite_and_not_negative(&[self.typical_norm, self.reject_rate])
            && [norms, distances, margins, exact_margins].into_iter().all(|pair| are_finite_and_not_negative(pair))
            && signed.into_iter().all(|value| value.is_finite())
    }

    /// Whether a query is like those that were measured, by its norm, ln Ẑ and, unless all rows were scored, far share.
    pub(crate) fn is_familiar(&self, norm: f32, log_z: f32, far_share: Option<f32>) -> bool {
        let Self { norms, centre, whiten, distances, .. } = self;
        // Written so that nothing that is not a number is familiar.
        if !(norms[0] <= norm && norm <= norms[1]) {
            return false;
        }
        let (x, y) = (float::ln(norm) - centre[0], log_z - centre[1]);
        let (a, b) = (whiten[0] * x, whiten[1] * x + whiten[2] * y);
        match far_share {
            Some(far_share) => {
                let z = float::ln(far_share + LEAST_FAR_SHARE) - centre[2];
                let c = whiten[3] * x + whiten[4] * y + whiten[5] * z;
                a * a + b * b + c * c <= distances[0]
            }
            None => a * a + b * b <= distances[1],
        }
    }

    /// What [`unit`] is multiplied with for a query of this norm: for the first class, and for all others.
    pub(crate) fn scales(&self, norm: f32, is_exact: bool) -> [f32; 2] {
        let growth = growth(norm, self.typical_norm);
        (if is_exact { self.exact_margins } else { self.margins }).map(|margin| margin * growth)
    }
}

/// max(1, ‖q‖/n₀)².
pub(crate) fn growth(norm: f32, typical_norm: f32) -> f32 {
    let ratio = if norm > typical_norm { norm / typical_norm } else { 1.0 };
    ratio * ratio
}

/// The part of the unit of an error that depends on the probability.
pub(crate) fn unit(far_share: f32, p: f32) -> f32 {
    far_share + REST * (1.0 - p) + LEAST
}
