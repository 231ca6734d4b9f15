//! Quantises f32 rows to four bits: a scale for the row, a small whole multiple of it for each group of columns, and
//! numbers.
//!
//! A group's step has to reach its largest weight, or nearly. For each row several reaches are tried, and columns not
//! yet rounded compensate for the errors; the best in the metric of the queries is kept ([`Compensation`]). Then each
//! number is rounded once more, given all others.

use super::Compensation;
use crate::kernels::four_bit::group_of;

/// The steps that are tried, as shares of one that reaches the largest weight of each group.
const REACHES: [f64; 5] = [0.5, 0.65, 0.8, 0.95, 1.1];
/// The number of passes that round numbers again.
const PASSES: usize = 2;
/// The range of numbers: −8 to 7.
const LEAST: f64 = -8.0;
const MOST: f64 = 7.0;

/// A row in four bits.
#[derive(Clone, Debug, Default)]
pub struct Rounded {
    /// A number for each column, padding included.
    pub numbers: Vec<i8>,
    /// A scale for each group of columns.
    pub scales: Vec<i8>,
    /// The scale of the row, in units.
    pub scale: u16,
    /// The bias, with the errors that the columns could not compensate for.
    pub bias: f32,
}

impl Rounded {
    /// Returns the whole weights: numbers times the scales of their groups.
    pub fn weights(&self) -> impl Iterator<Item = i8> {
        let stride = self.numbers.len();
        self.numbers.iter().enumerate().map(move |(column, number)| number * self.scales[group_of(column, stride)])
    }

    /// Returns the sum of the squares of the whole weights.
    pub fn squares(&self) -> u32 {
        self.weights().map(|weight| u32::from(weight.unsigned_abs()).pow(2)).sum()
    }
}

/// Rounds a row to `stride` columns. Scales of groups are at most `most`, which is 8 or less.
pub fn round(row: &[f32], bias: f32, unit: f64, most: f64, stride: usize, how: Option<&Compensation>) -> Rounded {
    let groups = Group::all(row, most, stride);
    let how = how.filter(|_| bias.is_finite());
    let mut best: Option<(f64, Rounded)> = None;
    for reach in REACHES {
        let needed = groups.iter().fold(0.0, |needed: f64, group| needed.max(group.step / group.most));
        let scale = (needed * reach / unit).round().clamp(if needed > 0.0 { 1.0 } else { 0.0 }, f64::from(u16::MAX));
        let scales: Vec<i8> = groups.iter().map(|group| group.scale(reach, scale * unit)).collect();
        let step = |column: usize| f64::from(scales[group_of(column, stride)]) * scale * unit;
        let steps: Vec<f64> = (0..row.len()).map(step).collect();
        let (error, mut numbers) = match how {
            Some(how) => how.round(row, bias, &steps, nearest),
            None => plainly(row, &steps),
        };
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            numbers.resize(stride, 0);
            best = Some((error, Rounded { numbers, scales, scale: scale as u16, bias }));
        }
    }
    let mut best = best.map(|(_, rounded)| rounded).unwrap_or_default();
    if let Some(how) = how {
        let step = |column: usize| f64::from(best.scales[group_of(column, stride)]) * f64::from(best.scale) * unit;
        let steps: Vec<f64> = (0..row.len()).map(step).collect();
        best.bias = how.improve(row, bias, &steps, &mut best.numbers, PASSES, nearest);
    }
    best
}

/// Columns that share a scale.
struct Group {
    /// Negative if the larger weights are positive, since numbers reach further below zero.
    sign: f64,
    /// The largest magnitude of its scale.
    most: f64,
    /// A step that reaches its largest weights.
    step: f64,
}

impl Group {
    fn all(row: &[f32], most: f64, stride: usize) -> Vec<Self> {
        let mut ends = vec![(0.0f64, 0.0f64); group_of(stride - 1, stride) + 1];
        for (column, &weight) in row.iter().enumerate() {
            let (above, below) = &mut ends[group_of(column, stride)];
            (*above, *below) = (above.max(weight.into()), below.max(-f64::from(weight)));
        }
        let group = |(above, below): (f64, f64)| {
            let (sign, most) = if above > below { (-1.0, most) } else { (1.0, most.min(MOST)) };
            Self { sign, most, step: (above.max(below) / -LEAST).max(above.min(below) / MOST) }
        };
        ends.into_iter().map(group).collect()
    }

    /// Returns the multiple of the row's step that comes nearest to the group's step times `reach`.
    fn scale(&self, reach: f64, unit: f64) -> i8 {
        if unit == 0.0 { 0 } else { (self.sign * (self.step * reach / unit).round().clamp(1.0, self.most)) as i8 }
    }
}

fn nearest(weight: f64, step: f64) -> i8 {
    if step == 0.0 { 0 } else { (weight / step).round().clamp(LEAST, MOST) as i8 }
}

/// Rounds each weight to the nearest number. Returns the sum of the squared errors, and the numbers.
fn plainly(row: &[f32], steps: &[f64]) -> (f64, Vec<i8>) {
    let numbers: Vec<i8> = row.iter().zip(steps).map(|(&weight, &step)| nearest(weight.into(), step)).collect();
    let errors = row.iter().zip(steps).zip(&numbers).map(|((&w, step), &n)| f64::from(w) - f64::from(n) * step);
    (errors.map(|error| error * error).sum(), numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::quantise::{self, scale_exponent};
    use crate::model::Bits;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_weight_is_far_from_its_own(row in prop::collection::vec(-3f32..3.0, 1..150), room in 0i32..8) {
            let stride = row.len().next_multiple_of(4);
            let unit = f64::from(scale_exponent(quantise::peak(&row), Bits::Four) + room).exp2();
            let rounded = round(&row, 0.5, unit, 8.0, stride, None);
            prop_assert_eq!((rounded.numbers.len(), rounded.bias), (stride, 0.5));
            prop_assert!(rounded.numbers.iter().chain(&rounded.scales).all(|n| (-8..=7).contains(n)));
            prop_assert!(rounded.numbers[row.len()..].iter().all(|&n| n == 0));
            // Rows of one scale for all, nearest to each weight, would be off by half a step of it.
            let peak = row.iter().fold(0.0, |most: f64, &w| most.max(f64::from(w).abs()));
            let step = f64::from(rounded.scale) * unit;
            let squares: f64 = rounded.weights().zip(&row).map(|(w, &x)| (f64::from(w) * step - f64::from(x)).powi(2)).sum();
            prop_assert!(squares.sqrt() <= peak / 7.0 * 0.5 * (row.len() as f64).sqrt() + step, "{squares} {peak}");
        }
    }

    #[test]
    fn rows_of_nothing_and_of_next_to_nothing_are_fine() {
        let zero = round(&[0.0; 20], 1.0, 1e-6, 8.0, 20, None);
        assert!(zero.scale == 0 && zero.weights().all(|weight| weight == 0));
        let tiny = round(&[1e-9; 20], 1.0, 1e-6, 8.0, 20, None);
        assert!(tiny.scale == 1 && tiny.weights().all(|weight| weight == 0));
        let huge = round(&[1e9; 20], 1.0, 1e-6, 8.0, 20, None);
        assert_eq!(huge.scale, u16::MAX);
    }
}
