//! Recognises rows that are already quantised: their weights are whole multiples of a step.
//!
//! A network that was trained in or converted to int8 has such rows. Another step would round them a second time; with
//! their own step, the int8 weights in the model file are those of the network.
//!
//! The int8 weights are exact if the row's step is above 1/100 of that of the layer's largest row. The step is stored
//! in units of a power of two that all rows share, with 13 to 16 bits for the largest row and fewer for smaller ones:
//! for a layer with one scale, all scores are multiplied by a factor that is within 6·10⁻⁵ of one. Biases are rounded
//! to 2⁻²⁰ in the base-2 logarithm.

/// The largest int8 weight.
const MOST: u32 = 127;
/// The largest distance of a weight from a whole multiple, in steps: dequantised weights are f32, rounded at 2⁻²⁴ of
/// 127 steps.
const TOLERANCE: f64 = 1e-4;

/// Returns the step of a row whose largest weight is fewer than 127 steps; `None` for any other row.
///
/// Tries every number of steps k of the largest weight from above. A row that is on no grid fails at its first weights,
/// so this costs little more than reading the row.
pub(super) fn step_of(row: &[f32], peak: f64) -> Option<f64> {
    if peak == 0.0 {
        return None;
    }
    let on_grid = |steps: &u32| {
        let per_step = f64::from(*steps) / peak;
        row.iter().all(|&weight| {
            let multiple = f64::from(weight) * per_step;
            (multiple - multiple.round()).abs() <= TOLERANCE
        })
    };
    let steps = (1..=MOST).rev().find(on_grid)?;
    // 127 steps are what any row is rounded to anyway.
    (steps < MOST).then(|| peak / f64::from(steps))
}

#[cfg(test)]
mod tests {
    use super::super::quantise::peak;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_of_multiples_is_kept_to_the_bit(ints in prop::collection::vec(-126i8..=126, 1..80), scale in 1e-6f32..1e3) {
            let row: Vec<f32> = ints.iter().map(|&int| f32::from(int) * scale).collect();
            let largest = peak(&row);
            prop_assume!(largest > 0.0);
            let step = step_of(&row, largest).unwrap_or(largest / 127.0);
            // Its own step, or one that it is a multiple of: no weight is lost.
            for &weight in &row {
                let multiple = f64::from(weight) / step;
                prop_assert!((multiple - multiple.round()).abs() < 2e-4 && multiple.abs() < 127.5);
            }
        }

        #[test]
        fn other_rows_are_on_no_grid(row in prop::collection::vec(-1f32..1.0, 12..80)) {
            prop_assert_eq!(step_of(&row, peak(&row)), None);
        }
    }
}
