//! Uniform samples of the rows outside a head, without replacement.

use rand_core::Rng;

use super::deviation::Deviation;
use super::random;
use crate::Error;
use crate::math::{Log2, LogSum};
use crate::model::Model;
use crate::rows::Query;
use crate::search::{Seen, seen_words};

/// What the samples of a tail say.
pub(super) struct Tail {
    /// Σ over the samples, times the rows they stand for.
    pub sum: LogSum,
    /// Rows scored.
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

/// Rows that are scored at a time.
const AT_A_TIME: usize = 16;

/// Calls `each(i, score)` for the i-th sampled row, and says how many there were.
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
    // Rows that wait: together they cost less than one by one.
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
    random::distinct(rng, samples, population, Seen::new(marks), |place| {
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

/// The row at a place in the list of rows that are not skipped.
///
/// Before the i-th skipped row there are `skipped[i] − i` that are not, which grows with i: a binary search finds how
/// many are skipped before the place.
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
