//! The best rows so far whose links are still to be followed.

use super::Budget;
use crate::math::Log2;

#[derive(Clone, Copy)]
struct Best {
    score: Log2,
    row: u32,
    followed: bool,
}

/// The best few rows, unordered: with eight of them a scan is cheaper than keeping order.
pub(super) struct BestRows {
    list: [Best; Budget::MAX_EXPAND as usize],
    len: usize,
    /// The place of the worst one, and what a score has to exceed to take it.
    worst: usize,
    threshold: Log2,
    waiting: bool,
}

impl BestRows {
    /// Room for `expand` rows.
    pub fn new(expand: u32) -> Self {
        let none = Best { score: Log2::MIN, row: 0, followed: true };
        let len = expand.min(Budget::MAX_EXPAND) as usize;
        let threshold = if len == 0 { Log2::MAX } else { Log2::MIN };
        Self { list: [none; Budget::MAX_EXPAND as usize], len, worst: 0, threshold, waiting: false }
    }

    /// What a score has to exceed to be among them.
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
        if let Some(place) = self.list.get_mut(self.worst) {
            *place = Best { score, row: row as u32, followed: false };
            self.waiting = true;
        }
        let mut worst = 0;
        for (place, best) in self.list.iter().enumerate().take(self.len) {
            if best.score < self.list[worst].score {
                worst = place;
            }
        }
        self.worst = worst;
        self.threshold = self.list[worst].score;
    }

    /// The best row that was not followed yet; it counts as followed from now on.
    pub fn next(&mut self) -> Option<usize> {
        if !self.waiting {
            return None;
        }
        let waiting = self.list.iter_mut().take(self.len).filter(|best| !best.followed);
        let Some(best) = waiting.max_by_key(|best| best.score) else {
            self.waiting = false;
            return None;
        };
        best.followed = true;
        Some(best.row as usize)
    }
}
