//! The mean of a word's probability over the decisions since it fell silent.

use heapless::Vec;

use crate::estimators::Prediction;

/// Classes that are followed.
const FOLLOWED: usize = 8;

/// Sums of probabilities of a few classes.
#[derive(Clone, Debug)]
pub struct Smoothing {
    decisions: u32,
    sums: Vec<(u32, f32), FOLLOWED>,
}

impl Smoothing {
    pub const fn new() -> Self {
        Self { decisions: 0, sums: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.decisions = 0;
        self.sums.clear();
    }

    pub fn decisions(&self) -> u32 {
        self.decisions
    }

    /// Adds a decision. A class that finds no place takes that of the one with the least sum, if that has less.
    pub fn add<const K: usize>(&mut self, prediction: &Prediction<K>) {
        self.decisions = self.decisions.saturating_add(1);
        for best in &prediction.top {
            if let Some((_, sum)) = self.sums.iter_mut().find(|(class, _)| *class == best.class) {
                *sum += best.p;
            } else if self.sums.push((best.class, best.p)).is_err()
                && let Some(least) = self.sums.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1))
                && least.1 < best.p
            {
                *least = (best.class, best.p);
            }
        }
    }

    /// The class with the highest mean, and the mean.
    pub fn best(&self) -> Option<(u32, f32)> {
        let &(class, sum) = self.sums.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((class, sum / self.decisions.max(1) as f32))
    }
}
