//! The best rows so far, in order.

use heapless::vec::VecView;

use crate::hint::cold_path;
use crate::math::Log2;
use crate::model::Model;

/// A row that was scored.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// let (top, _) = zhat::Classifier::new(model)?.certain_top::<1>(&query, &mut [0; 74])?;
/// let best: zhat::estimators::Candidate = top[0];
/// println!("class {}: score {:.3}", best.class, best.score.to_nats());
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Candidate {
    /// The class.
    pub class: u32,
    /// Its score.
    pub score: Log2,
}

impl Candidate {
    /// Higher scores first; equal scores in the order of the classes, so that ties fall the same way everywhere.
    #[inline]
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        if self.score == other.score {
            cold_path();
            return self.class < other.class;
        }
        self.score > other.score
    }
}

/// What a search shows every row that it scores.
pub(crate) trait Offer {
    fn offer(&mut self, model: &Model<'_>, row: usize, score: Log2);

    /// What a score has to reach to be looked at.
    fn threshold(&self) -> Log2;

    /// Whether it keeps a few best scores, so that few scores reach the threshold.
    fn is_list(&self) -> bool {
        true
    }
}

impl<O: Offer> Offer for &mut O {
    #[inline]
    fn offer(&mut self, model: &Model<'_>, row: usize, score: Log2) {
        (**self).offer(model, row, score);
    }

    #[inline]
    fn threshold(&self) -> Log2 {
        (**self).threshold()
    }

    #[inline]
    fn is_list(&self) -> bool {
        (**self).is_list()
    }
}

/// The best `limit` candidates of those offered.
pub(crate) struct Top<'a> {
    list: &'a mut VecView<Candidate>,
    limit: usize,
    /// What a score has to reach to be looked at: most rows stop here.
    threshold: Log2,
}

impl<'a> Top<'a> {
    /// As many as the list has room for.
    pub fn new(list: &'a mut VecView<Candidate>) -> Self {
        Self::up_to(list.capacity(), list)
    }

    /// At most `limit`, and no more than the list has room for.
    pub fn up_to(limit: usize, list: &'a mut VecView<Candidate>) -> Self {
        list.clear();
        let limit = limit.min(list.capacity());
        let threshold = if limit == 0 { Log2::MAX } else { Log2::MIN };
        Self { list, limit, threshold }
    }

    /// The best so far, best first.
    pub fn list(&self) -> &[Candidate] {
        self.list
    }

    /// Offers the rows from `first` on, with the bits of their scores.
    pub fn offer_all(&mut self, model: &Model<'_>, first: usize, scores: &[i32]) {
        // Eight at a time, because almost always none of them gets in.
        let (eights, rest) = scores.as_chunks::<8>();
        let mut at = first;
        for eight in eights {
            if eight.iter().any(|&bits| Log2::from_bits(bits) >= self.threshold) {
                cold_path();
                self.offer_each(model, at, eight);
            }
            at += eight.len();
        }
        self.offer_each(model, at, rest);
    }

    #[inline(never)]
    fn offer_each(&mut self, model: &Model<'_>, first: usize, scores: &[i32]) {
        for (i, &bits) in scores.iter().enumerate() {
            self.offer(model, first + i, Log2::from_bits(bits));
        }
    }

    #[inline(never)]
    fn insert(&mut self, model: &Model<'_>, row: usize, score: Log2) {
        let candidate = Candidate { class: model.class_of_row(row) as u32, score };
        if self.list.len() < self.limit {
            // There is room up to the limit, so this always finds some.
            let _ = self.list.push(candidate);
        } else if !self.list.last().is_some_and(|last| candidate.is_before(last)) {
            return;
        }
        // Up from the last place, past every candidate that it comes before.
        if let Some((mut place, others)) = self.list.split_last_mut() {
            for above in others.iter_mut().rev().take_while(|above| candidate.is_before(above)) {
                *place = *above;
                place = above;
            }
            *place = candidate;
        }
        if self.list.len() >= self.limit {
            self.threshold = self.list.last().map_or(Log2::MIN, |last| last.score);
        }
    }
}

impl Offer for Top<'_> {
    #[inline]
    fn offer(&mut self, model: &Model<'_>, row: usize, score: Log2) {
        if score >= self.threshold {
            cold_path();
            self.insert(model, row, score);
        }
    }

    #[inline]
    fn threshold(&self) -> Log2 {
        self.threshold
    }
}

/// For a search of which only the sums are wanted.
pub(crate) struct SumsOnly;

impl Offer for SumsOnly {
    #[inline]
    fn offer(&mut self, _: &Model<'_>, _: usize, _: Log2) {}

    fn threshold(&self) -> Log2 {
        Log2::MAX
    }
}
