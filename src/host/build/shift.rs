//! One linear function of the query, added to what every node predicts.
//!
//! Nodes are fitted one by one; what is left of their errors has a part that is common to all that a search leaves unopened. As a
//! factor exp(c + s·q) on the far field it would cost a dot product; added to every node's vector and bias it costs nothing, and
//! no node changes places with another.
//!
//! c and s minimise Σ |ln Ẑ − ln Z| over the queries: a weighted least squares fit, in which each residual counts by one over its
//! size, repeated until the weights settle. A missed class is a large residual that no function of the query explains. Then c is chosen so
//! that the mean of the function is zero: links lead to what these very queries missed, and how much is missed of others is known from
//! the queries that the factor on the far field was fitted on.

use nalgebra::{DMatrix, DVector};

use super::predict::NodeFit;
use crate::host::measure::Outcome;
use crate::host::spectrum::Spectrum;
use crate::host::{Matrix, linear};

/// The function.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    slope: Vec<f32>,
    constant: f32,
}

/// Fits until the weights settle.
const ROUNDS: usize = 6;
/// Residuals below this count alike.
const SMALL: f64 = 0.003;
/// What the function's mean square over the queries costs: a share of what the far field's own squares do, and so much beside
/// where the far field is hardly there.
const RIDGE: f64 = 0.05;
const LEAST: f64 = 1e-4;

impl Shift {
    /// From what a search found for each query and the true ln Z; `far_factor` is the logarithm of the factor that the far field
    /// has anyway. `None` where nothing can be learned.
    pub fn fit(
        spectrum: &Spectrum,
        queries: &Matrix,
        found: &[Outcome],
        log_z: &[f32],
        far_factor: f32,
    ) -> Option<Self> {
        let p = spectrum.len();
        let queries = Matrix::new(spectrum.project(linear::with_ones(queries).data()), p)?;
        let jitter = spectrum.trace() / spectrum.dim() as f64 * 1e-4;
        let held = DVector::from_iterator(p, spectrum.directions().map(|(value, _)| value + jitter));
        let held = DMatrix::from_diagonal(&held);
        let mut theta = DVector::<f64>::zeros(p);
        for _ in 0..ROUNDS {
            let mut weighted = vec![0.0f32; queries.data().len()];
            let mut towards = DVector::<f64>::zeros(p);
            let (mut total, mut of_far) = (0.0, 0.0);
            for (i, ((outcome, truth), query)) in found.iter().zip(log_z).zip(queries.iter()).enumerate() {
                let now: f64 = query.iter().zip(theta.iter()).map(|(x, theta)| f64::from(*x) * theta).sum();
                let estimate = outcome.log_z(far_factor + now as f32);
                let share = f64::from((outcome.far + far_factor + now as f32 - estimate).exp());
                let residual = f64::from(truth - estimate);
                let weight = 1.0 / residual.abs().max(SMALL);
                let square = weight * share * share;
                (total, of_far) = (total + weight, of_far + square);
                for (j, &x) in query.iter().enumerate() {
                    weighted[i * p + j] = square as f32 * x;
                    // The function as a whole is fitted anew, not what is missing of it.
                    towards[j] += f64::from(x) * (weight * share * residual + square * now);
                }
            }
            let form = linear::transposed_times(&weighted, p, queries.data(), p);
            let form =
                DMatrix::from_fn(p, p, |i, j| f64::from(form[i * p + j])) + &held * (RIDGE * of_far + LEAST * total);
            theta = form.cholesky()?.solve(&towards);
        }
        let theta: Vec<f32> = theta.iter().map(|&x| x as f32).collect();
        let mean =
            queries.iter().map(|query| f64::from(linear::dot(query, &theta))).sum::<f64>() / queries.rows() as f64;
        // The function of the one after each query is a constant, which the mean takes out with any other.
        let mut slope = spectrum.expand(&theta);
        let constant = slope.pop()? - mean as f32;
        (constant.is_finite() && slope.iter().all(|x| x.is_finite())).then_some(Self { slope, constant })
    }

    /// Adds the function to a node.
    pub fn add_to(&self, node: &mut NodeFit) {
        node.bias += self.constant;
        node.vector.iter_mut().zip(&self.slope).for_each(|(w, s)| *w += s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Log2;

    #[test]
    fn a_common_error_of_the_far_field_is_found_beside_missed_classes() {
        let value = |i: usize, j: usize| ((i * 37 + j * 101) % 97) as f32 / 48.0 - 1.0;
        let queries = Matrix::new((0..600).flat_map(|i| [value(i, 0), value(i, 1) * 0.3]).collect(), 2).unwrap();
        let outcome = |near: f32, far: f32| Outcome { near, far, best: Log2::MIN, work: 0, frontier_words: 0 };
        let found: Vec<Outcome> = (0..600).map(|i| outcome(2.0, 1.0 + 0.5 * value(i, 2))).collect();
        let log_z: Vec<f32> = (0..600)
            .map(|i| {
                // What no function explains, for one query of twenty.
                let missed = if i % 20 == 0 { 0.7 } else { 0.0 };
                found[i].log_z(0.1 - 0.2 * value(i, 0)) + missed
            })
            .collect();
        let spectrum = Spectrum::of(&linear::with_ones(&queries));
        let shift = Shift::fit(&spectrum, &queries, &found, &log_z, 0.0).unwrap();
        assert!((shift.slope[0] + 0.2).abs() < 0.03 && shift.slope[1].abs() < 0.05, "{shift:?}");
        let shifts = queries.iter().map(|query| shift.constant + linear::dot(query, &shift.slope));
        assert!((shifts.sum::<f32>() / 600.0).abs() < 1e-4, "{shift:?}");
    }
}
