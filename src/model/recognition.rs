//! What tells inputs that are none of the classes, learnt from examples of them.
//!
//! ```text
//! s = a·(−ln Ẑ) + b·(1 − p₁) + c·far share + e·‖q‖ + w·q        known where s ≤ t
//! ```
//!
//! a, b and c are not below zero, so that no answer becomes more known by a lower Z, a lower p of the best class or a larger far
//! share. w is the direction in which the examples differ from the queries of the calibration, rounded as a row. The builder
//! stores one of the five alone, or their sum, whichever tells examples apart best that nothing was learnt from.

use crate::hint::keep_small;
use crate::rows::{Bits, Query};

/// Words before the row.
const HEAD: usize = 10;

/// What the section holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recognition<'a> {
    head: &'a [u32; HEAD],
    row: &'a [i16],
}

impl<'a> Recognition<'a> {
    /// Reads the section, with a row of this length or none; `None` if it is not sound. This is done when it is asked for, so
    /// that programs that do not ask have no code for it.
    #[cold]
    pub(super) fn parse(bytes: &'a [u8], row_len: usize) -> Option<Self> {
        let (head, row) = bytes.split_at_checked(HEAD * size_of::<u32>())?;
        let head: &[u32] = bytemuck::try_cast_slice(head).ok()?;
        let row: &[i16] = bytemuck::try_cast_slice(row).ok()?;
        let known = Self { head: head.first_chunk()?, row };
        let is_weight = |at: usize| {
            keep_small();
            (0.0..f32::INFINITY).contains(&known.float(at))
        };
        let is_sound = (2..6).all(is_weight)
            && known.float(6).is_finite()
            && known.float(7).is_finite()
            && known.head[9] == 0
            && (row.is_empty() || row.len() == row_len);
        is_sound.then_some(known)
    }

    fn float(&self, at: usize) -> f32 {
        f32::from_bits(self.head[at])
    }

    /// Whether an answer with this energy, p of the best class and far share is of a known class.
    #[inline]
    pub fn holds(&self, query: &Query, bits: Bits, energy: f32, p: f32, far_share: f32) -> bool {
        let mut s = self.float(2) * energy + self.float(3) * (1.0 - p) + self.float(4) * far_share;
        s += self.float(6) * query.norm();
        if !self.row.is_empty() {
            s += self.float(5) * query.times_row(self.row, bits);
        }
        s <= self.float(7)
    }

    /// The section as the file has it: of so many known and unknown queries, the weights of energy, p, far share, row and norm, the
    /// threshold, the share of pairs that were told apart, and the row.
    #[cfg(feature = "std")]
    pub(crate) fn encode(
        queries: [u32; 2],
        weights: [f32; 5],
        threshold: f32,
        auroc: f32,
        row: &[i16],
    ) -> std::vec::Vec<u8> {
        let floats = weights.into_iter().chain([threshold, auroc, 0.0]).map(f32::to_bits);
        let mut bytes: std::vec::Vec<u8> = queries.into_iter().chain(floats).flat_map(u32::to_le_bytes).collect();
        bytes.extend(row.iter().flat_map(|pair| pair.to_le_bytes()));
        bytes
    }
}
