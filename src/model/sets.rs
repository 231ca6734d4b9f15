//! What makes sets of classes that hold the true class for a share of the inputs that the builder was asked for.
//!
//! The classes of an answer are taken from the first on, while the sum of what came before keeps to a threshold:
//!
//! ```text
//! class at place r, from zero on, is in the set     if  s(r) ≤ τ        s(r) = Σ_{j<r} p_j + λ·max(0, r − k)
//! ```
//!
//! These are adaptive prediction sets (APS: Romano, Sesia, Candès, "Classification with Valid and Adaptive Coverage", 2020),
//! with the penalty λ on long ones of Angelopoulos, Bates, Jordan, Malik, "Uncertainty Sets for Image Classifiers using
//! Conformal Prediction", 2021 (RAPS). The first class is always in the set. τ is an order statistic of s at the place of the
//! true class, over inputs with labels that nothing else was made from (split conformal prediction). p is the p of the answer,
//! estimated or exact, and each kind has a threshold of its own, so nothing about the estimate has to hold for the promise.
//!
//! A class that the search did not score, or one that is behind the end of the list, has s of the end. So where s of the end is
//! within the threshold the set goes on beyond the list: there are more classes than these.

use crate::hint::keep_small;

/// The sets that a model file makes promises about.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
/// // `zhat build --labels labels.npy --sets 80%,90%` stores two levels.
/// if let Some(sets) = model.sets() {
///     for level in sets.levels() {
///         println!("a set that holds the true class for {} of the inputs", level);
///     }
/// }
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sets<'a> {
    head: &'a [u32; HEAD],
    levels: &'a [[u32; LEVEL]],
}

/// Words before those of the levels: labels, k, λ, and zero.
const HEAD: usize = 4;

/// Words of a level: the share, and τ for estimated and for exact answers.
const LEVEL: usize = 3;

/// A level may be asked for as 0.9 or as 90.0 / 100.0.
const SAME_LEVEL: f32 = 1e-4;

impl<'a> Sets<'a> {
    /// The most levels of a file.
    ///
    /// ```
    /// assert_eq!(zhat::model::Sets::MOST_LEVELS, 8);
    /// ```
    pub const MOST_LEVELS: usize = 8;

    /// Reads the section; `None` if it is not sound. This is done when a set is asked for, so that programs that ask for none
    /// have no code for it.
    #[cold]
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let words: &[u32] = bytemuck::try_cast_slice(bytes).ok()?;
        let (head, levels) = words.split_first_chunk::<HEAD>()?;
        let (levels, rest) = levels.as_chunks::<LEVEL>();
        let sets = Self { head, levels };
        let is_threshold = |word: u32| {
            keep_small();
            (0.0..f32::INFINITY).contains(&f32::from_bits(word))
        };
        let is_sound = rest.is_empty()
            && (1..=Self::MOST_LEVELS).contains(&levels.len())
            && is_threshold(head[2])
            && head[3] == 0
            && levels.iter().all(|&[level, estimated, exact]| {
                (0.0..1.0).contains(&f32::from_bits(level)) && is_threshold(estimated) && is_threshold(exact)
            });
        is_sound.then_some(sets)
    }

    /// Returns how many labels the thresholds were taken from.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// assert!(model.sets().is_none_or(|sets| sets.labels() > 0));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn labels(&self) -> u32 {
        self.head[0]
    }

    /// Returns the shares of the inputs for which there are sets that hold the true class.
    ///
    /// ```
    /// # let model = zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?;
    /// assert!(model.sets().is_none_or(|sets| sets.levels().all(|level| level < 1.0)));
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn levels(&self) -> impl Iterator<Item = f32> + 'a {
        self.levels.iter().map(|&[level, _, _]| f32::from_bits(level))
    }

    /// Returns the rule of the least level that is not below this one.
    pub(crate) fn rule(&self, level: f32, of_exact: bool) -> Option<SetRule> {
        let mut found: Option<&[u32; LEVEL]> = None;
        for candidate in self.levels {
            let own = f32::from_bits(candidate[0]);
            if own + SAME_LEVEL >= level && found.is_none_or(|best| own < f32::from_bits(best[0])) {
                found = Some(candidate);
            }
        }
        let &[_, estimated, exact] = found?;
        let threshold = f32::from_bits(if of_exact { exact } else { estimated });
        Some(SetRule { free: self.head[1], penalty: f32::from_bits(self.head[2]), threshold })
    }

    /// The section as the file has it; `levels` are shares with their thresholds for estimated and for exact answers.
    #[cfg(feature = "std")]
    pub(crate) fn encode(labels: u32, (free, penalty): (u32, f32), levels: &[[f32; LEVEL]]) -> alloc::vec::Vec<u32> {
        let head = [labels, free, penalty.to_bits(), 0];
        head.into_iter().chain(levels.iter().flatten().map(|word| word.to_bits())).collect()
    }
}

/// Which places of a list are in the set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SetRule {
    /// k, the places without a penalty.
    pub free: u32,
    /// λ, the penalty of each place behind them.
    pub penalty: f32,
    /// τ.
    pub threshold: f32,
}

impl SetRule {
    /// How many of these probabilities, best first, are in the set, and s of what follows.
    #[inline]
    pub fn walk(&self, all: impl Iterator<Item = f32>) -> (usize, f32) {
        let (mut sum, mut len) = (0.0, 0);
        for p in all {
            if sum > self.threshold {
                break;
            }
            len += 1;
            sum += p;
            if len > self.free as usize {
                sum += self.penalty;
            }
        }
        (len, sum)
    }

    /// Whether what has this s is in the set.
    #[inline]
    pub fn holds(&self, s: f32) -> bool {
        s <= self.threshold
    }
}
