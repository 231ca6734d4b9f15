//! Uniform samples of the rows outside a head, without replacement.

use rand_core::Rng;

use crate::Error;
use crate::math::{Log2, LogSum, float};
use crate::model::Model;
use crate::rows::Query;
use crate::search::{Seen, seen_words};

/// The result of sampling a tail.
pub(super) struct Tail {
    /// Σ over the samples, scaled to the number of rows that they stand for.
    pub sum: LogSum,
    /// The number of rows scored.
    pub rows: usize,
    /// The relative standard error of the sum.
    pub error: Option<f32>,
}

/// Samples `samples` of the rows that are not in `skipped` (in ascending order); all of them if there are no more.
pub(super) fn sample(
    model: &Model<'_>,
    query: &Query,
    samples: usize,
    skipped: &[u32],
    rng: &mut impl Rng,
    marks: &mut [u32],
) -> Result<Tail, Error> {
    let population = model.classes().saturating_sub(skipped.len());
    let mut sum = LogSum::new();
    let mut deviation = Deviation::new();
    let rows = scores(model, query, samples, skipped, rng, marks, |_, score| {
        sum.add(score);
        deviation.add(score);
    })?;
    let error = if population == 0 { Some(0.0) } else { deviation.of_sample(population as u32) };
    Ok(Tail { sum: sum.scaled(population as u32, rows as u32), rows, error })
}

/// The number of rows that are scored at a time.
const AT_A_TIME: usize = 16;

/// Calls `each(i, score)` for the i-th sampled row. Returns the number of rows.
pub(super) fn scores(
    model: &Model<'_>,
    query: &Query,
    samples: usize,
    skipped: &[u32],
    rng: &mut impl Rng,
    marks: &mut [u32],
    mut each: impl FnMut(usize, Log2),
) -> Result<usize, Error> {
    query.check(model)?;
    let needed = seen_words(model.classes());
    let Some(marks) = marks.get_mut(..needed) else {
        return Err(Error::MarkWords(needed as u32));
    };
    let population = model.classes().saturating_sub(skipped.len());
    let mut count = 0;
    // Rows wait here until there are enough: scored together they cost less.
    let mut rows = [0; AT_A_TIME];
    let mut waiting = 0;
    let mut score = |rows: &[u32]| {
        let mut scores = [0; AT_A_TIME];
        model.rows().scores_of(rows, query, &mut scores);
        for &bits in scores.iter().take(rows.len()) {
            each(count, Log2::from_bits(bits));
            count += 1;
        }
    };
    distinct(rng, samples, population, Seen::new(marks), |place| {
        if let Some(waits) = rows.get_mut(waiting) {
            *waits = row_at(place, skipped) as u32;
            waiting += 1;
        }
        if waiting == AT_A_TIME {
            score(&rows);
            waiting = 0;
        }
    });
    score(rows.get(..waiting).unwrap_or(&[]));
    Ok(count)
}

/// Returns the row at a place in the list of rows that are not skipped.
///
/// Before the i-th skipped row there are `skipped[i] − i` rows that are not skipped, a number that grows with i. So a
/// binary search finds how many are skipped before the place.
fn row_at(place: usize, skipped: &[u32]) -> usize {
    let (mut low, mut high) = (0, skipped.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if skipped.get(middle).is_some_and(|&row| (row as usize).saturating_sub(middle) <= place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    place + low
}

// The standard error of a mean of exponentials, with their magnitude kept apart.
//
// Samples are stored as 2^(term − largest), in f32, and rescaled when a larger one comes: nothing overflows, and a
// sample that is 2⁻¹²⁶ of the largest one becomes zero, which does not change the error. Equal samples have an error of
// exactly zero.

/// Mean and squared deviations of samples (Welford), and squared differences of neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deviation {
    count: u32,
    /// The value of 1.0.
    unit: Log2,
    mean: f32,
    /// Σ (x − mean)².
    squares: f32,
    last: f32,
    /// Σ (xᵢ − xᵢ₋₁)².
    steps: f32,
}

impl Deviation {
    pub const fn new() -> Self {
        Self { count: 0, unit: Log2::MIN, mean: 0.0, squares: 0.0, last: 0.0, steps: 0.0 }
    }

    pub fn add(&mut self, term: Log2) {
        if term > self.unit {
            // Before the first sample there is nothing to rescale, and the difference would saturate.
            let shrink = if self.count == 0 { 0.0 } else { self.unit.saturating_sub(term).exp2() };
            self.unit = term;
            self.mean *= shrink;
            self.last *= shrink;
            self.squares *= shrink * shrink;
            self.steps *= shrink * shrink;
        }
        self.add_size(term.saturating_sub(self.unit).exp2());
    }

    /// Adds a sample that is zero.
    pub fn add_zero(&mut self) {
        self.add_size(0.0);
    }

    fn add_size(&mut self, size: f32) {
        self.count += 1;
        let before = size - self.mean;
        self.mean += before / self.count as f32;
        self.squares += before * (size - self.mean);
        if self.count > 1 {
            self.steps += (size - self.last) * (size - self.last);
        }
        self.last = size;
    }

    /// Returns the relative standard error of the mean of samples drawn without replacement from `population`: the last
    /// factor is the finite-population correction. `None` with fewer than two samples.
    pub fn of_sample(&self, population: u32) -> Option<f32> {
        if self.count >= population {
            return Some(0.0);
        }
        let rest = 1.0 - self.count as f32 / population as f32;
        self.relative(self.squares / (self.count as f32 - 1.0) * rest)
    }

    /// Returns the relative standard error of the mean of samples drawn one from each of equal strata, in order.
    /// Assumes that neighbouring strata have the same mean, which errs on the safe side.
    pub fn of_strata(&self) -> Option<f32> {
        self.relative(self.steps / (2.0 * (self.count as f32 - 1.0)))
    }

    fn relative(&self, variance: f32) -> Option<f32> {
        if self.count < 2 {
            return None;
        }
        let error = float::sqrt(variance.max(0.0) / self.count as f32);
        Some(if self.mean > 0.0 { error / self.mean } else { 0.0 })
    }
}

// Random whole numbers in a fixed number of steps.

/// Draws a number below `limit` (zero for a limit of zero). Multiplies and shifts: one number always takes one draw,
/// and no outcome's probability is off by more than limit·2⁻⁶⁴.
pub(super) fn below(rng: &mut impl Rng, limit: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// Draws `count` different numbers below `limit`, with each set of them equally likely (Floyd's algorithm: one draw and
/// one mark for each, however many they are). If `count` is `limit` or more, it calls `each` for all numbers without
/// drawing.
///
/// Bentley, Floyd, "Programming Pearls: a sample of brilliance", 1987.
pub(super) fn distinct(
    rng: &mut impl Rng,
    count: usize,
    limit: usize,
    mut marks: crate::search::Seen<'_>,
    mut each: impl FnMut(usize),
) {
    if count >= limit {
        (0..limit).for_each(each);
        return;
    }
    for last in limit - count..limit {
        let drawn = below(rng, last as u64 + 1) as usize;
        if marks.insert(drawn) {
            each(drawn);
        } else {
            marks.insert(last);
            each(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_rows_that_are_left() {
        for skipped in [&[][..], &[0], &[9], &[0, 1, 2], &[3, 4, 8], &[0, 2, 4, 6, 8], &[0, 1, 2, 3, 4, 5, 6, 7, 8]] {
            let left: Vec<usize> = (0..10).filter(|&row| !skipped.contains(&(row as u32))).collect();
            for (place, &row) in left.iter().enumerate() {
                assert_eq!(row_at(place, skipped), row, "{skipped:?}");
            }
        }
    }
}

#[cfg(test)]
mod deviation_tests {
    use super::*;

    fn of(nats: &[f32]) -> Deviation {
        let mut deviation = Deviation::new();
        nats.iter().for_each(|&term| deviation.add(Log2::from_nats(term)));
        deviation
    }

    #[test]
    fn it_is_the_textbook_formula_in_any_order_and_at_any_size() {
        let terms = [0.3_f32, -2.0, 1.9, 0.0, -0.4, 2.2, -7.0];
        let sizes: Vec<f64> = terms.iter().map(|&t| f64::from(t).exp()).collect();
        let mean = sizes.iter().sum::<f64>() / 7.0;
        let variance = sizes.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 6.0;
        let truth = (variance / 7.0 * (1.0 - 7.0 / 50.0)).sqrt() / mean;
        for shift in [-3000.0, 0.0, 3000.0] {
            let mut shifted = terms.map(|t| t + shift);
            for _ in 0..7 {
                shifted.rotate_left(1);
                let error = of(&shifted).of_sample(50).expect("seven samples");
                assert!((f64::from(error) / truth - 1.0).abs() < 2e-3, "{error} {truth}");
            }
        }
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!(of(&[]).of_sample(9), None);
        assert_eq!(of(&[1.0]).of_sample(9), None);
        assert_eq!(of(&[1.0]).of_strata(), None);
        assert_eq!(of(&[1.0]).of_sample(1), Some(0.0));
        assert_eq!(of(&[3.3; 40]).of_sample(100), Some(0.0));
        assert_eq!(of(&[3.3; 40]).of_strata(), Some(0.0));
        let mut zeros = Deviation::new();
        zeros.add_zero();
        zeros.add_zero();
        assert_eq!(zeros.of_strata(), Some(0.0));
    }
}

#[cfg(test)]
mod random_tests {
    use rand_pcg::Pcg32;

    use super::*;
    use crate::search::Seen;

    #[test]
    fn every_subset_is_equally_likely() {
        let mut rng = Pcg32::new(7, 1);
        let mut counts = [0u32; 32];
        let trials = 40_000;
        for _ in 0..trials {
            let mut set = 0;
            distinct(&mut rng, 3, 5, Seen::new(&mut [0]), |drawn| set |= 1 << drawn);
            counts[set] += 1;
        }
        for (set, &count) in counts.iter().enumerate() {
            if set.count_ones() == 3 {
                // Ten subsets: 4 000 each, give or take a standard deviation of 60.
                assert!((3700..4300).contains(&count), "{set:#b}: {count}");
            } else {
                assert_eq!(count, 0);
            }
        }
    }

    #[test]
    fn all_of_them_are_all_of_them() {
        for count in [6, 7, 100] {
            let mut drawn = Vec::new();
            distinct(&mut Pcg32::new(1, 1), count, 6, Seen::new(&mut [0]), |number| drawn.push(number));
            assert_eq!(drawn, [0, 1, 2, 3, 4, 5]);
        }
        distinct(&mut Pcg32::new(1, 1), 0, 6, Seen::new(&mut [0]), |_| panic!("asked for none"));
        assert_eq!(below(&mut Pcg32::new(1, 1), 0), 0);
    }
}
