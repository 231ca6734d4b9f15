//! The best rows so far whose links are still to be followed.

use crate::hint::keep_small;
use crate::math::Log2;
use crate::model::Budget;

#[derive(Clone, Copy)]
struct Best {
    score: Log2,
    row: u32,
}

/// The best few rows, the best one first.
pub(super) struct BestRows {
    list: [Best; Budget::MAX_EXPAND as usize],
    len: usize,
    /// The score that a row has to exceed to be among them.
    threshold: Log2,
    /// A bit for each place: whether the row there is still to be followed.
    waiting: u32,
}

impl BestRows {
    /// Room for `expand` rows.
    pub fn new(expand: u32) -> Self {
        let none = Best { score: Log2::MIN, row: 0 };
        let len = expand.min(Budget::MAX_EXPAND) as usize;
        let threshold = if len == 0 { Log2::MAX } else { Log2::MIN };
        Self { list: [none; Budget::MAX_EXPAND as usize], len, threshold, waiting: 0 }
    }

    /// Returns the score that a row has to exceed to be among them.
    pub fn threshold(&self) -> Log2 {
        self.threshold
    }

    #[inline]
    pub fn offer(&mut self, row: usize, score: Log2) {
        if score > self.threshold {
            self.insert(row, score);
        }
    }

    #[inline(never)]
    fn insert(&mut self, row: usize, score: Log2) {
        // Up from the last place, which is given up, past every row that is not better.
        let mut at = self.len.saturating_sub(1);
        if let Some((mut place, others)) = self.list.get_mut(..self.len).and_then(|list| list.split_last_mut()) {
            for above in others.iter_mut().rev().take_while(|above| above.score < score) {
                keep_small();
                *place = *above;
                place = above;
                at -= 1;
            }
            *place = Best { score, row: row as u32 };
        }
        let before = (1 << at) - 1;
        let moved = self.waiting & before | (self.waiting & !before) << 1 | 1 << at;
        self.waiting = moved & ((1 << self.len) - 1);
        self.threshold = self.list.get(self.len.wrapping_sub(1)).map_or(Log2::MAX, |last| last.score);
    }

    /// The best row that was not followed yet, if its score is at least this; it counts as followed from now on.
    #[inline]
    pub fn next_from(&mut self, least: Log2) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let best = self.list.get(self.waiting.trailing_zeros() as usize).filter(|best| best.score >= least)?;
        self.waiting &= self.waiting - 1;
        Some(best.row as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain sort after every step.
        #[test]
        fn the_best_that_was_not_followed_comes_next(
            expand in 0..=8u32,
            steps in prop::collection::vec((0..1000i32, prop::option::of(0..1000i32)), 0..60),
        ) {
            let mut best = BestRows::new(expand);
            // Score, row, and whether it was followed.
            let mut truth: Vec<(i32, usize, bool)> = Vec::new();
            for (row, (score, follow)) in steps.into_iter().enumerate() {
                if truth.iter().any(|known| known.0 == score) {
                    continue;
                }
                best.offer(row, Log2::from_bits(score));
                truth.push((score, row, false));
                truth.sort_by_key(|&(score, ..)| -score);
                truth.truncate(expand as usize);
                if let Some(least) = follow {
                    let next = truth.iter_mut().find(|known| !known.2).filter(|known| known.0 >= least);
                    let row = next.map(|known| (known.2 = true, known.1).1);
                    prop_assert_eq!(best.next_from(Log2::from_bits(least)), row);
                }
            }
        }
    }
}
