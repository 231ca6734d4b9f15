//! What each node says of its mass: the moments of its rows, and the linear correction that the queries teach.
//!
//! For node and query the true log-mass T is known on the calibration queries. The moments predict
//! `ln n + m + σ²/2` (frozen where need be). The residual is fitted by ridge on the whitened query,
//! `T − prediction ≈ θ₀ + θ·x(q)`. A query counts as far as the node matters to it: a line through queries for which the node
//! holds a millionth of Z would be bent for nothing. Being linear in q, the correction goes into the node's vector and bias:
//! it costs nothing at query time.

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::Tunables;
use super::cluster::Hierarchy;
use super::links::Tops;
use crate::host::measure::Outcome;
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::{self, Spectrum};
use crate::host::{Matrix, linear};
use crate::tree::{Span, SpreadFunction};

/// How one node predicts its log-mass.
#[derive(Clone, Debug)]
pub struct NodeFit {
    /// w.
    pub vector: Vec<f32>,
    /// b with ln n, in nats.
    pub bias: f32,
    /// t: the variance of the scores in units of F(q).
    pub variance: f32,
    /// n.
    pub rows: usize,
    /// ln of what opening the node is worth, per unit of mass.
    pub gain: f32,
}

impl NodeFit {
    /// Opening a node takes its error out of the sum: mass²·(relative variance of the mass) of squared error, for its cost.
    /// The node with the largest ratio comes first; in logarithms, and for the root of it, that is mass + gain.
    pub(super) fn gain(variance: f32, span: &Span) -> f32 {
        0.5 * (relative_variance(variance, span.rows) / cost(span).max(1) as f32).ln()
    }
}

/// The relative variance of a node's mass: that of the mean of n exponentials of a Gaussian is (exp σ² − 1)/n. What a correction
/// leaves unexplained is no better measure: it is small on the many queries to which the node does not matter.
fn relative_variance(variance: f32, rows: usize) -> f32 {
    (variance.min(4.0).exp_m1() / rows as f32).clamp(1e-4, 1.0)
}

/// Holds the correction that the queries teach one node.
#[derive(Clone, Debug)]
pub struct Learned {
    slope: Vec<f32>,
    offset: f32,
}

impl Learned {
    /// Moves a prediction. `power` is that of the relative variance in the priority of a node, which is a half without a correction:
    /// its mass is known better than by the moments alone.
    pub fn correct(&self, node: &mut NodeFit, power: f32) {
        node.bias += self.offset;
        node.gain += (power - 0.5) * relative_variance(node.variance, node.rows).ln();
        node.vector.iter_mut().zip(&self.slope).for_each(|(w, s)| *w += s);
    }
}

/// The queries, prepared to learn from: in their coordinates along the directions in which they vary.
pub struct Lesson<'a> {
    spectrum: &'a Spectrum,
    tunables: &'a Tunables,
    /// The queries with a one after each.
    queries: Matrix,
    /// ln Z of each query.
    log_z: Vec<f32>,
    /// Features of each query: one, then the whitened coordinates.
    features: Vec<f32>,
    /// (XᵀX + λ)⁻¹.
    inverse: Vec<f32>,
    /// Whitening, and the mean of the coordinates.
    whiten: Vec<f32>,
    mean: Vec<f32>,
}

impl<'a> Lesson<'a> {
    /// Prepares the queries for fitting; `tops` are the best class and ln Z of each.
    pub fn new(spectrum: &'a Spectrum, queries: &Matrix, tops: &[Tops], tunables: &'a Tunables) -> Option<Self> {
        let (m, r) = (queries.rows(), spectrum.len());
        let queries = linear::with_ones(queries);
        let mut coordinates = Matrix::new(spectrum.project(queries.data()), r)?;
        let mean: Vec<f32> = (0..r).map(|c| coordinates.iter().map(|q| q[c]).sum::<f32>() / m as f32).collect();
        coordinates.data.chunks_exact_mut(r).for_each(|q| q.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean));
        let covariance = spectrum::second_moment(&coordinates);
        let lift = (covariance.trace() / r as f64 * tunables.whiten_floor).max(f64::MIN_POSITIVE);
        let whiten = spectrum::power(&(covariance + DMatrix::identity(r, r) * lift), -0.5);
        let white = linear::times(coordinates.data(), &whiten, r);
        let features: Vec<f32> =
            white.chunks_exact(r).flat_map(|x| [1.0].into_iter().chain(x.iter().copied())).collect();
        let inverse = inverse(&features, r + 1, f64::from(tunables.ridge) * m as f64)?;
        let log_z = tops.iter().map(|top| top.log_z).collect();
        Some(Self { spectrum, tunables, queries, log_z, features, inverse, whiten, mean })
    }

    /// F(q) of each query.
    fn spreads(&self, function: &SpreadFunction) -> Vec<f32> {
        let norm = |q: &[f32]| (linear::dot(q, q) - 1.0).max(0.0).sqrt();
        self.queries.iter().map(|q| function.value(norm(q))).collect()
    }

    /// Learns about a family of nodes: `masses` are their true log-masses, a column for each node.
    fn learn(&self, family: &[NodeFit], spreads: &[f32], masses: &[f32]) -> Vec<Learned> {
        let (k, r, p) = (family.len(), self.mean.len(), self.mean.len() + 1);
        let vectors: Vec<f32> =
            family.iter().flat_map(|node| node.vector.iter().chain([&node.bias])).copied().collect();
        let mut residual = linear::times_transposed(self.queries.data(), &vectors, self.queries.cols());
        for (q, line) in residual.chunks_exact_mut(k).enumerate() {
            for (j, (value, node)) in line.iter_mut().zip(family).enumerate() {
                let moments = *value + spread(node, spreads[q]);
                *value = masses[q * k + j] - moments;
            }
        }
        let products = linear::transposed_times(&self.features, p, &residual, k);
        let mut theta = linear::times(&self.inverse, &products, p);
        let weights = self.weights(masses, k);
        let ridge = [self.tunables.ridge, self.tunables.ridge_queries];
        let design = Design { features: &self.features, inverse: &self.inverse, columns: p, ridge };
        design.refine(&residual, &weights, &mut theta);
        // A line of coordinates for each node; whitening is symmetric.
        let of_nodes: Vec<f32> = (0..k).flat_map(|j| (1..p).map(move |c| c * k + j)).map(|at| theta[at]).collect();
        let coordinates = linear::times(&of_nodes, &self.whiten, r);
        let slopes = self.spectrum.expand(&coordinates);
        let learned = |j: usize| {
            let dim = self.spectrum.dim();
            let (&of_one, slope) = slopes[j * dim..][..dim].split_last().expect("a column of ones");
            let offset = theta[j] + of_one - linear::dot(&coordinates[j * r..][..r], &self.mean);
            Learned { slope: slope.to_vec(), offset }
        };
        (0..k).map(learned).collect()
    }

    /// How much each query counts for each node.
    fn weights(&self, masses: &[f32], k: usize) -> Vec<f32> {
        let weight = |(mass, log_z): (&f32, &f32)| {
            let share = (self.tunables.share_power * (mass - log_z - self.tunables.half_share.ln())).exp();
            share / (1.0 + share)
        };
        let lines = masses.chunks_exact(k).zip(&self.log_z);
        lines.flat_map(|(line, log_z)| line.iter().map(move |mass| weight((mass, log_z)))).collect()
    }
}

/// (XᵀX + λ)⁻¹; the constant is not penalised.
fn inverse(features: &[f32], p: usize, ridge: f64) -> Option<Vec<f32>> {
    let gram = linear::transposed_times(features, p, features, p);
    let mut gram = DMatrix::from_fn(p, p, |i, j| f64::from(gram[i * p + j]));
    (1..p).for_each(|i| gram[(i, i)] += ridge);
    let inverse = gram.cholesky()?.inverse();
    Some((0..p * p).map(|at| inverse[(at / p, at % p)] as f32).collect())
}

/// Dot products that opening a node takes.
fn cost(span: &Span) -> usize {
    if span.is_leaf() { span.rows } else { span.children }
}

/// σ²/2 or its frozen form, on top of ln n + m.
fn spread(node: &NodeFit, value: f32) -> f32 {
    let (half, count) = (0.5 * node.variance * value, (node.rows as f32).ln());
    if half <= count { half } else { 2.0 * (half * count).sqrt() - count }
}

/// Learns the corrections of all nodes from the queries.
pub fn learn(
    rows: &QuantisedRows,
    hierarchy: &Hierarchy,
    lesson: &Lesson<'_>,
    function: &SpreadFunction,
    fits: &[NodeFit],
) -> Vec<Learned> {
    let school = School { rows, hierarchy, lesson, spreads: &lesson.spreads(function), fits };
    let mut learned: Vec<(usize, Learned)> = (0..hierarchy.top)
        .into_par_iter()
        .flat_map_iter(|node| {
            let mut learned = Vec::new();
            let masses = school.subtree(node, &mut learned);
            learned.extend(lesson.learn(&fits[node..=node], school.spreads, &masses).pop().map(|own| (node, own)));
            learned
        })
        .collect();
    learned.sort_by_key(|&(node, _)| node);
    learned.into_iter().map(|(_, learned)| learned).collect()
}

/// Holds what learning goes over.
struct School<'a> {
    rows: &'a QuantisedRows,
    hierarchy: &'a Hierarchy,
    lesson: &'a Lesson<'a>,
    /// F(q) of each query.
    spreads: &'a [f32],
    fits: &'a [NodeFit],
}

impl School<'_> {
    /// The true log-masses of a node; what is learned about the nodes below it goes to `learned`. The recursion is as deep
    /// as the tree.
    fn subtree(&self, node: usize, learned: &mut Vec<(usize, Learned)>) -> Vec<f32> {
        let Self { rows, hierarchy, lesson, spreads, fits } = *self;
        let span = hierarchy.spans[node];
        if span.is_leaf() {
            let own = rows.augmented(span.first_row, span.rows);
            let scores = linear::times_transposed(lesson.queries.data(), &own, rows.dim + 1);
            return scores.chunks_exact(span.rows).map(linear::log_sum_exp).collect();
        }
        let children = span.first_child..span.first_child + span.children;
        let mut masses = vec![0.0; spreads.len() * span.children];
        for (j, child) in children.clone().enumerate() {
            let column = self.subtree(child, learned);
            column.iter().enumerate().for_each(|(q, &mass)| masses[q * span.children + j] = mass);
        }
        learned.extend(children.clone().zip(lesson.learn(&fits[children], spreads, &masses)));
        masses.chunks_exact(span.children).map(linear::log_sum_exp).collect()
    }
}

// Every column minimises Σ w·(y − x·θ)² + λ·‖θ‖². With one weight for all queries there is one solve for all columns; with weights
// there would be a matrix to factor for each. Conjugate gradients start from the solution without weights, and take the
// inverse of that problem as their preconditioner: a few steps are enough, and a step is two matrix products for all columns.

/// Steps of the conjugate gradients: more change nothing that other queries would show.
const STEPS: usize = 3;
/// Weights of all queries that are none: beside λ they move nothing.
const NOTHING: f32 = 1e-3;
/// Penalty of the constant, which has no other.
const LEAST_OF_CONSTANT: f32 = 1.0;

/// Holds what all columns share: `columns` features of each query, the first of them one, and (XᵀX + λ)⁻¹ without weights.
struct Design<'a> {
    features: &'a [f32],
    inverse: &'a [f32],
    columns: usize,
    /// λ: a share of the weights, and this many more, so that few queries that count teach little.
    ridge: [f32; 2],
}

impl Design<'_> {
    /// Moves `theta`, which solves the problem without weights, to where the weights want it. All matrices have a column for each
    /// problem.
    fn refine(&self, values: &[f32], weights: &[f32], theta: &mut [f32]) {
        let k = theta.len() / self.columns;
        let queries = self.features.len() / self.columns;
        let mut totals = vec![0.0f32; k];
        for line in weights.chunks_exact(k) {
            totals.iter_mut().zip(line).for_each(|(total, weight)| *total += weight);
        }
        // To a node that holds next to nothing of any query there is nothing to learn.
        for line in theta.chunks_exact_mut(k) {
            line.iter_mut().zip(&totals).filter(|(_, total)| **total < NOTHING).for_each(|(theta, _)| *theta = 0.0);
        }
        let towards: Vec<f32> = values.iter().zip(weights).map(|(value, weight)| value * weight).collect();
        let towards = linear::transposed_times(self.features, self.columns, &towards, k);
        let now = self.times(theta, weights, &totals);
        let mut rest: Vec<f32> = towards.iter().zip(&now).map(|(towards, now)| towards - now).collect();
        let precondition = |rest: &[f32]| -> Vec<f32> {
            let mut moved = linear::times(self.inverse, rest, self.columns);
            for line in moved.chunks_exact_mut(k) {
                line.iter_mut().zip(&totals).for_each(|(x, total)| *x *= queries as f32 / total.max(NOTHING));
            }
            moved
        };
        let mut direction = precondition(&rest);
        let mut size = products(&rest, &direction, k);
        for _ in 0..STEPS {
            let image = self.times(&direction, weights, &totals);
            let curvature = products(&direction, &image, k);
            let step: Vec<f32> = size.iter().zip(&curvature).map(|(&size, &curve)| ratio(size, curve)).collect();
            for (at, (theta, rest)) in theta.iter_mut().zip(&mut rest).enumerate() {
                *theta += step[at % k] * direction[at];
                *rest -= step[at % k] * image[at];
            }
            let moved = precondition(&rest);
            let next = products(&rest, &moved, k);
            for (at, (direction, moved)) in direction.iter_mut().zip(&moved).enumerate() {
                *direction = moved + ratio(next[at % k], size[at % k]) * *direction;
            }
            size = next;
        }
    }

    /// (XᵀWX + λ)·θ, column by column.
    fn times(&self, theta: &[f32], weights: &[f32], totals: &[f32]) -> Vec<f32> {
        let k = totals.len();
        let mut values = linear::times(self.features, theta, self.columns);
        values.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
        let mut image = linear::transposed_times(self.features, self.columns, &values, k);
        for (at, (image, theta)) in image.iter_mut().zip(theta).enumerate() {
            *image += theta * if at < k { LEAST_OF_CONSTANT } else { self.ridge[0] * totals[at % k] + self.ridge[1] };
        }
        image
    }
}

/// Σ a·b of each column.
fn products(a: &[f32], b: &[f32], k: usize) -> Vec<f64> {
    let mut sums = vec![0.0; k];
    for (a, b) in a.chunks_exact(k).zip(b.chunks_exact(k)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += f64::from(a * b));
    }
    sums
}

/// Zero where there is nothing left to divide.
fn ratio(a: f64, b: f64) -> f32 {
    if b > f64::MIN_POSITIVE { (a / b) as f32 } else { 0.0 }
}

/// One linear function of the query, added to what every node predicts.
///
/// Nodes are fitted one by one; what is left of their errors has a part that is common to all that a search leaves unopened. As a
/// factor exp(c + s·q) on the far field it would cost a dot product; added to every node's vector and bias it costs nothing, and
/// no node changes places with another.
///
/// c and s minimise Σ |ln Ẑ − ln Z| over the queries: a weighted least squares fit, in which each residual counts by one over its
/// size, repeated until the weights settle. A missed class is a large residual that no function of the query explains. Then c is
/// chosen so that the mean of the function is zero: links lead to what these very queries missed, and how much is missed of others is
/// known from the queries that the factor on the far field was fitted on.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalCorrection {
    slope: Vec<f32>,
    constant: f32,
}

/// Fits until the weights settle.
const ROUNDS: usize = 6;
/// Residuals below this count alike.
const SMALL: f64 = 0.003;
/// The least that the function's mean square costs, where the far field is hardly there.
const LEAST: f64 = 1e-4;

impl GlobalCorrection {
    /// From what a search found for each query and the true ln Z; `far_factor` is the logarithm of the factor that the far field
    /// has anyway. `None` where nothing can be learned.
    pub fn fit(
        spectrum: &Spectrum,
        queries: &Matrix,
        found: &[Outcome],
        log_z: &[f32],
        far_factor: f32,
        ridge: f64,
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
                DMatrix::from_fn(p, p, |i, j| f64::from(form[i * p + j])) + &held * (ridge * of_far + LEAST * total);
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

    /// Numbers that look random, between −1 and 1.
    fn noise(n: usize, seed: u32) -> Vec<f32> {
        let word = |i: usize| (i as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
        (0..n).map(|i| (word(i).wrapping_mul(word(i) >> 15 | 1) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    #[test]
    fn a_few_steps_come_close_to_the_solution_of_each_column() {
        let (queries, columns, k) = (400, 6, 3);
        let mut features = noise(queries * columns, 1);
        features.iter_mut().step_by(columns).for_each(|x| *x = 1.0);
        let values = noise(queries * k, 2);
        let weights: Vec<f32> = noise(queries * k, 3).iter().map(|x| x.abs().powi(3)).collect();
        let x = DMatrix::from_fn(queries, columns, |i, j| f64::from(features[i * columns + j]));
        let solved = |weight: &dyn Fn(usize) -> f64, y: &dyn Fn(usize) -> f64, ridge: [f64; 2]| {
            let scaled = DMatrix::from_fn(queries, columns, |i, j| weight(i) * x[(i, j)]);
            let held = DMatrix::from_diagonal(&DVector::from_fn(columns, |i, _| ridge[usize::from(i > 0)]));
            let inverse = (x.transpose() * &scaled + held).try_inverse().unwrap();
            (&inverse * scaled.transpose() * DVector::from_fn(queries, |i, _| y(i)), inverse)
        };
        let (_, inverse) = solved(&|_| 1.0, &|_| 0.0, [0.0, 0.03 * queries as f64]);
        let inverse: Vec<f32> = inverse.transpose().iter().map(|&x| x as f32).collect();
        let mut theta = vec![0.0; columns * k];
        Design { features: &features, inverse: &inverse, columns, ridge: [0.03, 10.0] }
            .refine(&values, &weights, &mut theta);
        for j in 0..k {
            let total: f32 = (0..queries).map(|i| weights[i * k + j]).sum();
            let ridge = [LEAST_OF_CONSTANT, 0.03 * total + 10.0].map(f64::from);
            let weight = |i: usize| f64::from(weights[i * k + j]);
            let (truth, _) = solved(&weight, &|i| f64::from(values[i * k + j]), ridge);
            let off = (0..columns).map(|i| (f64::from(theta[i * k + j]) - truth[i]).powi(2)).sum::<f64>().sqrt();
            assert!(off < 0.02 * truth.norm(), "column {j}: {off} of {}", truth.norm());
        }
    }

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
        let shift = GlobalCorrection::fit(&spectrum, &queries, &found, &log_z, 0.0, 0.05).unwrap();
        assert!((shift.slope[0] + 0.2).abs() < 0.03 && shift.slope[1].abs() < 0.05, "{shift:?}");
        let shifts = queries.iter().map(|query| shift.constant + linear::dot(query, &shift.slope));
        assert!((shifts.sum::<f32>() / 600.0).abs() < 1e-4, "{shift:?}");
    }
}
