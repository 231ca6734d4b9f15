//! The best rows of a search for a large head: a heap with the worst of them on top.
//!
//! A list in order, as the few best classes of an answer are kept in, moves half of itself for every row that gets in. With a
//! head of 100 rows that took more time than the rows themselves; a heap moves at most log₂ k of them.

use heapless::vec::VecView;

use super::sort;
use crate::hint::cold_path;
use crate::math::Log2;
use crate::model::Model;
use crate::search::{Candidate, Offer};

/// As many of the best candidates as a list has room for; in order only once it is [`finished`](Self::finish). Until then
/// each has its row in the place of its class.
pub(super) struct BestHeap<'a> {
    model: &'a Model<'a>,
    list: &'a mut VecView<Candidate>,
    /// What a score has to reach to be looked at: most rows stop here.
    threshold: Log2,
}

impl<'a> BestHeap<'a> {
    pub fn new(list: &'a mut VecView<Candidate>, model: &'a Model<'a>) -> Self {
        list.clear();
        let threshold = if list.capacity() == 0 { Log2::MAX } else { Log2::MIN };
        Self { model, list, threshold }
    }

    #[inline(never)]
    fn insert(&mut self, candidate: Candidate) {
        if self.list.push(candidate).is_ok() {
            // Before it is full nothing has to leave, and any order will do.
            if self.list.len() < self.list.capacity() {
                return;
            }
            sort::heap(self.list, &|a, b| is_before(self.model, a, b));
        } else if let Some(worst) = self.list.first_mut()
            && is_before(self.model, &candidate, worst)
        {
            *worst = candidate;
            sort::sink(self.list, &|a, b| is_before(self.model, a, b));
        }
        self.threshold = self.list.first().map_or(Log2::MAX, |worst| worst.score);
    }

    /// Puts them in order, best first, and their rows into a list that has room for as many.
    pub fn finish(self, rows: &mut VecView<u32>) {
        sort::sort(self.list, |a, b| is_before(self.model, a, b));
        rows.clear();
        for candidate in self.list.iter_mut() {
            let _ = rows.push(candidate.class);
            candidate.class = self.model.class_of_row(candidate.class as usize) as u32;
        }
    }
}

/// [`Candidate::is_before`] of candidates with their rows in the place of their classes.
#[inline]
fn is_before(model: &Model<'_>, a: &Candidate, b: &Candidate) -> bool {
    if a.score == b.score {
        cold_path();
        return model.class_of_row(a.class as usize) < model.class_of_row(b.class as usize);
    }
    a.score > b.score
}

impl Offer for BestHeap<'_> {
    #[inline]
    fn offer(&mut self, _: &Model<'_>, row: usize, score: Log2) {
        if score >= self.threshold {
            cold_path();
            self.insert(Candidate { class: row as u32, score });
        }
    }

    #[inline]
    fn threshold(&self) -> Log2 {
        self.threshold
    }
}
