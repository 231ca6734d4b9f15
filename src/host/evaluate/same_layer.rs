//! Detects that a model was made from another layer than the given one: figures against another layer are meaningless.
//!
//! Rounding moves a score by a hundredth of the spread of the scores, and it moves rows in directions that queries do not
//! have. So a layer is a different one if both its scores and its rows are far off. A model's biases compensate for the rounding
//! of its rows: if scores differ by more than the rows explain, the biases are different ones.

use super::truth::{FloatLayer, QuantisedLayer, Rows};
use crate::Model;
use crate::host::{Matrix, linear};

/// The difference of a layer from the one that a model was made from.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// use zhat::host::evaluate::{FloatLayer, Mismatch, mismatch};
/// use zhat::host::{Layer, flat_model};
///
/// let file = flat_model(&layer.weights, &layer.biases)?;
/// let other = Layer::generate(60, 8, 2);
/// let other = FloatLayer { weights: &other.weights, biases: &other.biases, temperature: 1.0 };
/// assert!(matches!(mismatch(&file.model(), other, &queries), Some(Mismatch::Weights(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mismatch {
    /// The weights differ: the norm of the difference, as a share of theirs.
    Weights(f32),
    /// The biases differ: the root mean square difference, in nats.
    Biases(f32),
}

/// The numbers of queries and classes that are compared, at equal steps.
const QUERIES: usize = 64;
const CLASSES: usize = 4096;
/// Scores that differ by more than this share of their spread, and by more than this many nats, differ by more than
/// rounding.
const SCORES: f64 = 0.1;
const NATS: f64 = 0.05;
/// A difference of scores more than this many times that of the rows' part comes from the biases, if it exceeds the
/// rounding of floats.
const BIASES: f64 = 2.0;
const FLOATS: f64 = 2e-3;
/// Rows that differ by more than this share of their norm differ by more than rounding.
const ROWS: f64 = 0.25;
/// The bias below which a class counts as masked.
const MASKED: f32 = -1000.0;

/// Finds a difference that rounding does not explain. Layer and model must have the same sizes.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// use zhat::host::evaluate::{FloatLayer, Mismatch, mismatch};
/// use zhat::host::{Layer, flat_model};
///
/// let file = flat_model(&layer.weights, &layer.biases)?;
/// let other = Layer::generate(60, 8, 2);
/// let other = FloatLayer { weights: &other.weights, biases: &other.biases, temperature: 1.0 };
/// assert!(matches!(mismatch(&file.model(), other, &queries), Some(Mismatch::Weights(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mismatch(model: &Model<'_>, layer: FloatLayer<'_>, queries: &Matrix) -> Option<Mismatch> {
    let mut rows = Squares::default();
    let mut biases = Squares::default();
    let (mut scores, mut row_scores) = (Squares::default(), Squares::default());
    let mut masks_differ = false;
    let query_step = queries.rows().div_ceil(QUERIES).max(1);
    let picked: Vec<&[f32]> = queries.iter().step_by(query_step).collect();
    let mut spreads = vec![Spread::default(); picked.len()];
    for class in (0..model.classes()).step_by(model.classes().div_ceil(CLASSES).max(1)) {
        let given = row(&layer, class);
        let stored = row(&QuantisedLayer(model), model.row_of_class(class)?);
        if given.1 < MASKED || stored.1 < MASKED {
            masks_differ |= (given.1 < MASKED) != (stored.1 < MASKED);
            continue;
        }
        given.0.iter().zip(&stored.0).for_each(|(&a, &b)| rows.add(a, b));
        biases.add(given.1, stored.1);
        for (query, spread) in picked.iter().zip(&mut spreads) {
            let (a, b) = (linear::dot(&given.0, query), linear::dot(&stored.0, query));
            row_scores.add(a, b);
            scores.add(a + given.1, b + stored.1);
            spread.add(a + given.1);
        }
    }
    let spread = (spreads.iter().map(Spread::variance).sum::<f64>() / spreads.len().max(1) as f64).sqrt();
    let off = scores.difference();
    if off > SCORES * spread && off > NATS && rows.share() > ROWS {
        Some(Mismatch::Weights(rows.share() as f32))
    } else if masks_differ {
        Some(Mismatch::Biases(f32::INFINITY))
    } else if off > BIASES * row_scores.difference() + FLOATS {
        Some(Mismatch::Biases(biases.difference() as f32))
    } else {
        None
    }
}

/// Returns a row and its bias.
fn row(rows: &impl Rows, row: usize) -> (Vec<f32>, f32) {
    let (mut weights, mut biases) = (Vec::new(), Vec::new());
    rows.block(row, 1, &mut weights, &mut biases);
    (weights, biases.first().copied().unwrap_or(0.0))
}

/// Sums of squares of values, and of their differences from others.
#[derive(Default)]
struct Squares {
    values: f64,
    differences: f64,
    count: usize,
}

impl Squares {
    fn add(&mut self, value: f32, other: f32) {
        let (value, other) = (f64::from(value), f64::from(other));
        self.values += value * value;
        self.differences += (value - other) * (value - other);
        self.count += 1;
    }

    /// Returns the root mean square difference.
    fn difference(&self) -> f64 {
        (self.differences / self.count.max(1) as f64).sqrt()
    }

    /// Returns the norm of the difference, as a share of that of the values.
    fn share(&self) -> f64 {
        if self.differences == 0.0 { 0.0 } else { (self.differences / self.values).sqrt() }
    }
}

/// The variance of one query's scores.
#[derive(Clone, Copy, Default)]
struct Spread {
    sum: f64,
    squares: f64,
    count: f64,
}

impl Spread {
    fn add(&mut self, score: f32) {
        let score = f64::from(score);
        self.sum += score;
        self.squares += score * score;
        self.count += 1.0;
    }

    fn variance(&self) -> f64 {
        let n = self.count.max(1.0);
        (self.squares / n - (self.sum / n) * (self.sum / n)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::build::{Targets, build};
    use crate::host::{Kind, Layer};

    fn compare(made: &Layer, given: &Layer, temperature: f32) -> Option<Mismatch> {
        let calibration = made.queries(Kind::LanguageModel, 100, 1);
        let built = build(&made.weights, &made.biases, Some(&calibration), &Targets::default(), &mut |_| {});
        let layer = FloatLayer { weights: &given.weights, biases: &given.biases, temperature };
        mismatch(&built.expect("a model").model.model(), layer, &made.queries(Kind::LanguageModel, 50, 2))
    }

    #[test]
    fn a_model_is_of_its_own_layer_and_of_no_other() {
        let layer = Layer::generate(500, 12, 1);
        assert_eq!(compare(&layer, &layer, 1.0), None);
        assert!(
            matches!(compare(&layer, &Layer::generate(500, 12, 2), 1.0), Some(Mismatch::Weights(off)) if off > 0.5)
        );
        assert!(matches!(compare(&layer, &layer, 2.0), Some(Mismatch::Weights(_))));
    }

    #[test]
    fn biases_that_are_left_out_are_found() {
        let mut layer = Layer::generate(500, 12, 1);
        layer.biases.iter_mut().enumerate().for_each(|(class, bias)| *bias = (class % 7) as f32 * 0.5);
        let mut without = layer.clone();
        without.biases.fill(0.0);
        assert!(matches!(compare(&layer, &without, 1.0), Some(Mismatch::Biases(off)) if off > 1.0));
        layer.biases[3] = f32::NEG_INFINITY;
        assert_eq!(compare(&layer, &layer, 1.0), None);
        let mut unmasked = layer.clone();
        unmasked.biases[3] = 0.0;
        assert_eq!(compare(&layer, &unmasked, 1.0), Some(Mismatch::Biases(f32::INFINITY)));
    }
}
