//! The table of FMBE: Σ_i exp(b_i)·φ_j(v_i) for every random feature φ_j.
//!
//! | words | content |
//! |---|---|
//! | 0 | [`FmbeKind`] |
//! | 1 | p, the base of the geometric distribution of degrees: 2 |
//! | 2, 3 | seed, lower word first |
//! | 4 | P, the number of features |
//! | 5 | the logarithm of Σ exp(b_i), as a [`Log2`] |
//! | 6, 7 | zero |
//! | 8 … 39 | how many features there are of each degree, 0 to 31 |
//! | then P | λ̃_j, in the order of the degrees: the [`Log2`] of its magnitude, the last bit replaced by its sign |
//! | then d | centred only: μ, the mean of the rows weighted by exp(b_i), f32 |
//! | then d·(d+1)/2 | centred only: their covariance, the lower triangle by rows, f32 |

use super::check::are_finite;
use crate::math::Log2;

/// The kind of random features in a table.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/centred.zhat"))?;
///
/// use zhat::model::FmbeKind;
///
/// assert_eq!(model.fmbe().map(|table| table.kind()), Some(FmbeKind::Centred));
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u32)]
#[non_exhaustive]
pub enum FmbeKind {
    /// Random Maclaurin features, as in the paper.
    Maclaurin = 0,
    /// Exact terms of degrees up to two about the mean row, random Maclaurin features above.
    Centred = 1,
    /// Positive random features, exp(ω·v − ‖v‖²/2).
    Positive = 2,
}

/// The number of degrees, which start at zero.
pub(crate) const FMBE_DEGREES: usize = 32;
const COUNTS_AT: usize = 8;
/// The number of words before the table.
const HEAD: usize = COUNTS_AT + FMBE_DEGREES;

/// The table of a model file.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/centred.zhat"))?;
///
/// let table = model.fmbe().expect("a table of features");
/// println!("{} features of kind {:?}, from seed {}", table.features(), table.kind(), table.seed());
/// # assert!(table.features() > 0);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fmbe<'a> {
    kind: FmbeKind,
    head: &'a [u32; HEAD],
    table: &'a [u32],
    mean: &'a [f32],
    covariance: &'a [f32],
}

impl<'a> Fmbe<'a> {
    /// p.
    pub(crate) const BASE: u32 = 2;

    /// Reads the section of a model of this dimension; `None` if its words do not add up.
    #[cold]
    pub(super) fn parse(words: &'a [u32], dim: usize) -> Option<Self> {
        let (head, rest) = words.split_first_chunk::<HEAD>()?;
        let kind = match head[0] {
            0 => FmbeKind::Maclaurin,
            1 => FmbeKind::Centred,
            2 => FmbeKind::Positive,
            _ => return None,
        };
        let (table, rest) = rest.split_at_checked(head[4] as usize)?;
        let dim = if kind == FmbeKind::Centred { dim } else { 0 };
        let (mean, covariance) = bytemuck::try_cast_slice(rest).ok()?.split_at_checked(dim)?;
        let fits = covariance.len() == dim * (dim + 1) / 2
            && head[1] == Self::BASE
            && head[6..8] == [0; 2]
            && head[COUNTS_AT..].iter().try_fold(0, |sum: u32, &count| sum.checked_add(count)) == Some(head[4]);
        fits.then_some(Self { kind, head, table, mean, covariance })
    }

    /// Returns the kind of the features.
    pub fn kind(&self) -> FmbeKind {
        self.kind
    }

    /// Returns P, the number of features.
    pub fn features(&self) -> usize {
        self.table.len()
    }

    /// Returns the seed that the features are generated from.
    pub fn seed(&self) -> u64 {
        u64::from(self.head[2]) | u64::from(self.head[3]) << 32
    }

    /// Returns the logarithm of Σ exp(b_i).
    pub(crate) fn log_weight(&self) -> Log2 {
        Log2::from_bits(self.head[5] as i32)
    }

    /// Iterates over the features: the degree, the logarithm of the magnitude of λ̃, and true if λ̃ is negative.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, Log2, bool)> + 'a {
        let degrees = self.head[COUNTS_AT..].iter().enumerate();
        let degrees = degrees.flat_map(|(degree, &count)| core::iter::repeat_n(degree, count as usize));
        degrees.zip(self.table).map(|(degree, &word)| (degree, Log2::from_bits((word & !1) as i32), word & 1 == 1))
    }

    pub(crate) fn mean(&self) -> &'a [f32] {
        self.mean
    }

    /// Returns the lower triangle of the covariance, row after row.
    pub(crate) fn covariance(&self) -> &'a [f32] {
        self.covariance
    }

    pub(super) fn is_sound(&self) -> bool {
        are_finite(self.mean) && are_finite(self.covariance)
    }

    /// Returns the number of bytes that a query reads.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<u32>() * (self.table.len() + self.mean.len() + self.covariance.len())
    }
}
