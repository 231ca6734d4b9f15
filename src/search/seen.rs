//! The rows that were scored: one bit each.

/// A set of rows.
pub(crate) struct Seen<'a>(&'a mut [u32]);

impl<'a> Seen<'a> {
    /// An empty set in this memory, which has a bit for each row.
    pub fn new(words: &'a mut [u32]) -> Self {
        words.fill(0);
        Self(words)
    }

    /// Adds a row; false if it was there already. A row that has no bit counts as seen: it is never scored twice.
    #[inline]
    pub fn insert(&mut self, row: usize) -> bool {
        let Some(word) = self.0.get_mut(row / 32) else {
            return false;
        };
        let bit = 1 << (row % 32);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether a row is in the set.
    pub fn contains(&self, row: usize) -> bool {
        self.0.get(row / 32).is_some_and(|word| word >> (row % 32) & 1 == 1)
    }

    /// The row at place `rank` among those of `first..first + count` that are not in the set.
    pub fn nth_unseen(&self, first: usize, count: usize, rank: usize) -> Option<usize> {
        let (mut at, end) = (first, first.saturating_add(count));
        let mut left = rank;
        // Whole words are stepped over by their count, the last one bit by bit.
        while at < end {
            let bits = (32 - at % 32).min(end - at);
            let unseen = bits - self.count(at, bits);
            if left < unseen {
                return (at..at + bits).filter(|&row| !self.contains(row)).nth(left);
            }
            left -= unseen;
            at += bits;
        }
        None
    }

    /// How many of the rows `first..first + count` are in the set.
    #[inline]
    pub fn count(&self, first: usize, count: usize) -> usize {
        let (mut at, end) = (first, first.saturating_add(count).min(32 * self.0.len()));
        let mut sum = 0;
        while at < end {
            let bits = (32 - at % 32).min(end - at);
            let mask = (u32::MAX >> (32 - bits)) << (at % 32);
            let word = self.0.get(at / 32).copied().unwrap_or(0) & mask;
            // Most words of most nodes are empty, and counting bits takes a dozen instructions.
            if word != 0 {
                sum += word.count_ones() as usize;
            }
            at += bits;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_a_plain_set() {
        let mut words = [0; 5];
        let mut seen = Seen::new(&mut words);
        let rows = [0usize, 1, 31, 32, 33, 63, 64, 100, 127, 159];
        for &row in &rows {
            assert!(seen.insert(row));
            assert!(!seen.insert(row));
        }
        for first in 0..160 {
            for count in 0..160 - first {
                let truth = rows.iter().filter(|&&row| (first..first + count).contains(&row)).count();
                assert_eq!(seen.count(first, count), truth, "{first} + {count}");
            }
        }
        for (first, count) in [(0, 160), (1, 159), (30, 5), (33, 90), (5, 0)] {
            let left: Vec<usize> = (first..first + count).filter(|row| !rows.contains(row)).collect();
            for rank in 0..=left.len() {
                assert_eq!(seen.nth_unseen(first, count, rank), left.get(rank).copied(), "{first} + {count}: {rank}");
            }
        }
        assert!(!seen.insert(160), "beyond the memory nothing is new");
        assert!(seen.contains(159) && !seen.contains(158) && !seen.contains(999));
    }
}
