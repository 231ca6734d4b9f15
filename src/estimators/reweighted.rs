//! Probabilities for other shares of the classes than the model was built for.

use core::cell::Cell;

use heapless::Vec;

use super::{Prediction, Ranked};

impl<const K: usize> Prediction<K> {
    /// Returns the list with the probabilities that its classes have where they are more or less frequent than in training,
    /// best first: a class is `weight(class)` times as frequent, those that are not listed `others` times in the mean.
    ///
    /// It takes no dot product and no other model file: for a menu in which some words make no sense (a weight of zero), or a
    /// group of classes that a place or a time of day makes likelier. Weights below zero count as zero. Scores are as they
    /// were, and a class that was not listed is not found by its weight. Where the shares are known when the model is built,
    /// `zhat build --priors` makes the search look for them.
    ///
    /// ```
    /// # let bytes = zhat::doc_example();
    /// # let model = zhat::Model::from_bytes(&bytes)?;
    /// # let query = zhat::QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
    /// let answer = zhat::exact::<4>(&model, &query)?;
    /// let best = answer.top[0].class;
    /// let without = answer.reweighted(|class| if class == best { 0.0 } else { 1.0 }, 1.0);
    /// assert_eq!(without[0].class, answer.top[1].class);
    /// assert!((without.iter().map(|ranked| ranked.p).sum::<f32>() - 1.0).abs() < 1e-5);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    pub fn reweighted(&self, weight: impl Fn(u32) -> f32, others: f32) -> Vec<Ranked, K> {
        let (mut list, mut sum, mut rest) = (Vec::<Ranked, K>::new(), 0.0, 1.0);
        for ranked in &self.top {
            let p = ranked.p * weight(ranked.class).max(0.0);
            sum += p;
            rest -= ranked.p;
            // It has the room that the list has.
            let _ = list.push(Ranked { p, ..*ranked });
        }
        sum += rest.max(0.0) * others.max(0.0);
        for ranked in &mut list {
            ranked.p = if sum > 0.0 { ranked.p / sum } else { 0.0 };
        }
        // Few places, and nothing that could panic.
        let cells = Cell::from_mut(list.as_mut_slice()).as_slice_of_cells();
        for _ in cells {
            for pair in cells.windows(2) {
                if let [a, b] = pair
                    && b.get().p > a.get().p
                {
                    b.set(a.replace(b.get()));
                }
            }
        }
        list
    }
}
