//! What is true of the label, not only of the layer: maps from scores to probabilities that labels ask for, sets of classes that
//! hold the true one, and how often they do.

mod map;
mod sets;
mod unknown;

pub use map::{MapFigures, TriedMap};
pub(super) use map::{Mapped, fit_map, shifted};
pub use sets::{GroupFigures, SetFigures, SetsError, set_figures, with_sets};
pub(super) use unknown::with_known;
pub use unknown::{KnownFigures, TriedScore};

use super::Matrix;

/// Queries with the true class of each.
///
/// ```
/// use zhat::host::{Kind, Layer, label::Labelled};
///
/// let layer = Layer::generate(60, 8, 1);
/// let queries = layer.queries(Kind::Classifier, 3, 2);
/// let labelled = Labelled { queries: &queries, labels: &[4, 0, 17] };
/// assert_eq!(labelled.labels.len(), labelled.queries.rows());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// The queries.
    pub queries: &'a Matrix,
    /// The true class of each.
    pub labels: &'a [usize],
}

/// Returns a 95 % confidence interval for a share of which `hits` of `count` were seen (Wilson, 1927).
///
/// ```
/// let (low, high) = zhat::host::label::confidence(90, 100);
/// assert!(low > 0.82 && low < 0.83 && high > 0.94 && high < 0.95);
/// assert_eq!(zhat::host::label::confidence(0, 0), (0.0, 1.0));
/// ```
pub fn confidence(hits: usize, count: usize) -> (f32, f32) {
    const Z: f64 = 1.959_964;
    if count == 0 {
        return (0.0, 1.0);
    }
    let n = count as f64;
    let share = hits as f64 / n;
    let middle = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 / (1.0 + Z * Z / n);
    (((middle - spread) * scale).max(0.0) as f32, ((middle + spread) * scale).min(1.0) as f32)
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::{FloatLayer, scores};
    use super::super::{Layer, Matrix};

    /// Draws labels from the layer's own p, at a temperature that the layer does not know.
    pub fn drawn(layer: &Layer, queries: &Matrix, temperature: f32) -> Vec<usize> {
        let mut state = 12_345_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature };
        let mut draw = |query: &[f32]| {
            let scores = scores(&float, query);
            let most = scores.iter().fold(f32::MIN, |a, &b| a.max(b));
            let all: Vec<f64> = scores.iter().map(|score| f64::from(score - most).exp()).collect();
            let mut left = uniform() * all.iter().sum::<f64>();
            let is_it = |p: &f64| {
                left -= p;
                left <= 0.0
            };
            all.iter().position(is_it).unwrap_or(0)
        };
        queries.iter().map(&mut draw).collect()
    }
}
