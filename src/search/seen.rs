//! The rows that were scored: one bit each.

use crate::hint::keep_small;

/// A set of rows.
pub(crate) struct Seen<'a>(&'a mut [u32]);

impl<'a> Seen<'a> {
    /// An empty set in this memory, which has a bit for each row.
    pub fn new(words: &'a mut [u32]) -> Self {
        // Eight words at a time take half the instructions of the compiler's library.
        let (eights, rest) = words.as_chunks_mut::<8>();
        for eight in eights {
            keep_small();
            *eight = [0; 8];
        }
        rest.fill(0);
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

    /// Adds rows of one word; returns those that were not there.
    #[inline]
    pub fn insert_word(&mut self, word: usize, mask: u32) -> u32 {
        let Some(word) = self.0.get_mut(word) else {
            return 0;
        };
        let new = mask & !*word;
        *word |= mask;
        new
    }

    /// Tells whether a row is in the set.
    pub fn contains(&self, row: usize) -> bool {
        self.0.get(row / 32).is_some_and(|word| word >> (row % 32) & 1 == 1)
    }

    /// The row at place `rank` among those of `first..first + count` that are not in the set.
    pub fn nth_unseen(&self, first: usize, count: usize, rank: usize) -> Option<usize> {
        let (mut at, end) = (first, first.saturating_add(count).min(self.0.len().saturating_mul(32)));
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

    /// Counts the rows `first..first + count` that are in the set.
    ///
    /// Not inlined: the search counts at many places, and a call is cheap compared with the count.
    #[inline(never)]
    pub fn count(&self, first: usize, count: usize) -> usize {
        let end = first.saturating_add(count);
        // The words from that of the first row on, with what the last one begins with, without what lies before it.
        let words = self.0.get(first / 32..end / 32).unwrap_or(&[]);
        let whole: usize = words.iter().map(|&word| ones(word)).sum();
        (whole + self.ones_below(end)).saturating_sub(self.ones_below(first))
    }

    /// Counts the rows in the set that share a word with this row and come before it.
    #[inline]
    fn ones_below(&self, row: usize) -> usize {
        let word = self.0.get(row / 32).copied().unwrap_or(0);
        ones(word & !(u32::MAX << (row % 32)))
    }
}

/// Most words are empty, and counting bits takes a dozen instructions: at one place only, since it is inlined in many.
#[inline]
fn ones(word: u32) -> usize {
    #[cold]
    #[inline(never)]
    fn count(word: u32) -> usize {
        word.count_ones() as usize
    }
    if word == 0 { 0 } else { count(word) }
}

/// The bits `first..end`, word by word: the number of the word and a mask.
#[inline]
pub(super) fn masks(first: usize, end: usize) -> impl Iterator<Item = (usize, u32)> {
    let mut at = first;
    core::iter::from_fn(move || {
        let (word, from) = (at / 32, at % 32);
        let bits = (32 - from).min(end.checked_sub(at).filter(|&left| left > 0)?);
        at += bits;
        Some((word, (u32::MAX >> (32 - bits)) << from))
    })
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
        assert_eq!(seen.nth_unseen(5, usize::MAX, usize::MAX), None, "rows that do not exist are not looked for");
        assert!(!seen.insert(160), "beyond the memory nothing is new");
        assert!(seen.contains(159) && !seen.contains(158) && !seen.contains(999));
    }
}
