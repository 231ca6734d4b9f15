//! What each node says of its mass: the moments of its rows, and the linear correction that the queries teach.
//!
//! For node and query the true log-mass T is known on the calibration queries. The moments predict
//! `ln n + m + σ²/2` (frozen where need be). The residual is fitted by ridge on the whitened query,
//! `T − prediction ≈ θ₀ + θ·x(q)`, one solve for all nodes since they share the design matrix. Being linear in q, the
//! correction goes into the node's vector and bias: it costs nothing at query time. What is left of the residual
//! adds half its variance, since the mean of exp is wanted, not exp of the mean.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::hierarchy::Hierarchy;
use crate::host::quantise::QuantisedRows;
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
    /// Without queries to learn from: the mean of n exponentials of a Gaussian has a relative variance of
    /// (exp σ² − 1)/n.
    pub(super) fn gain_of_moments(variance: f32, span: &Span) -> f32 {
        gain((variance.min(4.0).exp_m1() / span.rows as f32).min(1.0), cost(span))
    }
}

/// What the queries teach.
pub struct Lesson {
    /// The queries with a one behind each.
    queries: Matrix,
    /// F(q) of each query.
    spreads: Vec<f32>,
    /// Features of each query: one, then the whitened query.
    features: Vec<f32>,
    /// (XᵀX + λ)⁻¹.
    inverse: Vec<f32>,
    /// Whitening, dim × dim.
    whiten: Vec<f32>,
    mean: Vec<f32>,
}

/// λ as a share of the number of queries.
const RIDGE: f64 = 0.03;
/// Directions in which queries vary less than this share of the mean are not taken at their word.
const WHITEN_FLOOR: f64 = 0.02;
/// No residual adds more than this to a log-mass.
const MOST_RESIDUAL: f32 = 0.5;

impl Lesson {
    /// Prepares the queries for fitting.
    pub fn new(queries: &Matrix, function: &SpreadFunction) -> Option<Self> {
        let (m, d) = (queries.rows(), queries.cols());
        let mean: Vec<f32> = (0..d).map(|j| queries.iter().map(|q| q[j]).sum::<f32>() / m as f32).collect();
        let centred: Vec<f32> = queries.iter().flat_map(|q| q.iter().zip(&mean).map(|(x, mean)| x - mean)).collect();
        let centred = Matrix::new(centred, d)?;
        let covariance = linear::second_moment(&centred);
        let lift = covariance.trace() / d as f64 * WHITEN_FLOOR;
        let whiten = linear::power(&(covariance + DMatrix::identity(d, d) * lift.max(f64::MIN_POSITIVE)), -0.5);
        let white = Matrix::new(linear::times(centred.data(), &whiten, d), d)?;
        let features: Vec<f32> = white.iter().flat_map(|x| [1.0].into_iter().chain(x.iter().copied())).collect();
        let p = d + 1;
        let gram = linear::transposed_times(&features, p, &features, p);
        let mut gram = DMatrix::from_fn(p, p, |i, j| f64::from(gram[i * p + j]));
        for i in 1..p {
            gram[(i, i)] += RIDGE * m as f64;
        }
        let inverse = gram.cholesky()?.inverse();
        let inverse = (0..p * p).map(|at| inverse[(at / p, at % p)] as f32).collect();
        let spreads = queries.iter().map(|q| function.value(linear::dot(q, q).sqrt())).collect();
        Some(Self { queries: linear::with_ones(queries), spreads, features, inverse, whiten, mean })
    }

    /// Corrects a family of nodes: `masses` are their true log-masses, a column for each node.
    fn correct(&self, family: &mut [NodeFit], masses: &[f32], costs: &[usize]) {
        let (k, d, p) = (family.len(), self.mean.len(), self.mean.len() + 1);
        let vectors: Vec<f32> =
            family.iter().flat_map(|node| node.vector.iter().chain([&node.bias])).copied().collect();
        let mut residual = linear::times_transposed(self.queries.data(), &vectors, p);
        for (q, line) in residual.chunks_exact_mut(k).enumerate() {
            for (j, (value, node)) in line.iter_mut().zip(family.iter()).enumerate() {
                let moments = *value + spread(node, self.spreads[q]);
                *value = masses[q * k + j] - moments;
            }
        }
        let products = linear::transposed_times(&self.features, p, &residual, k);
        let theta = linear::times(&self.inverse, &products, p);
        let fitted = linear::times(&self.features, &theta, p);
        for (j, node) in family.iter_mut().enumerate() {
            let left = |q: usize| residual[q * k + j] - fitted[q * k + j];
            let squares: f32 = (0..self.spreads.len()).map(|q| left(q) * left(q)).sum();
            node.gain = gain(squares / self.spreads.len() as f32, costs[j]);
            let lift = (0.5 * squares / self.spreads.len() as f32).min(MOST_RESIDUAL);
            let slope: Vec<f32> =
                (0..d).map(|i| (0..d).map(|c| self.whiten[i * d + c] * theta[(c + 1) * k + j]).sum::<f32>()).collect();
            node.bias += theta[j] - linear::dot(&slope, &self.mean) + lift;
            node.vector.iter_mut().zip(&slope).for_each(|(w, s)| *w += s);
        }
    }
}

/// Dot products that opening a node takes.
fn cost(span: &Span) -> usize {
    if span.is_leaf() { span.rows } else { span.children }
}

/// Opening a node takes its error out of the sum: mass²·(variance of the log-mass) of squared error, for its cost.
/// The node with the largest ratio comes first; in logarithms, and for the root of it, that is mass + gain.
fn gain(variance: f32, cost: usize) -> f32 {
    0.5 * (variance.max(1e-4) / cost.max(1) as f32).ln()
}

/// σ²/2 or its frozen form, on top of ln n + m.
fn spread(node: &NodeFit, value: f32) -> f32 {
    let (half, count) = (0.5 * node.variance * value, (node.rows as f32).ln());
    if half <= count { half } else { 2.0 * (half * count).sqrt() - count }
}

/// Corrects all nodes by what the queries teach.
pub fn learn(rows: &QuantisedRows, hierarchy: &Hierarchy, lesson: &Lesson, fits: &mut [NodeFit]) {
    let tops: Vec<Vec<(usize, NodeFit)>> = (0..hierarchy.top)
        .into_par_iter()
        .map(|node| {
            let mut learned = Vec::new();
            let masses = subtree(rows, hierarchy, lesson, fits, node, &mut learned);
            let mut family = [fits[node].clone()];
            lesson.correct(&mut family, &masses, &[cost(&hierarchy.spans[node])]);
            let [fit] = family;
            learned.push((node, fit));
            learned
        })
        .collect();
    for (node, fit) in tops.into_iter().flatten() {
        fits[node] = fit;
    }
}

/// The true log-masses of a node; what is learned about the nodes below it goes to `learned`. The recursion is as deep
/// as the tree.
fn subtree(
    rows: &QuantisedRows,
    hierarchy: &Hierarchy,
    lesson: &Lesson,
    fits: &[NodeFit],
    node: usize,
    learned: &mut Vec<(usize, NodeFit)>,
) -> Vec<f32> {
    let span = hierarchy.spans[node];
    if span.is_leaf() {
        let own = rows.augmented(span.first_row, span.rows);
        let scores = linear::times_transposed(lesson.queries.data(), &own, rows.dim + 1);
        return scores.chunks_exact(span.rows).map(linear::log_sum_exp).collect();
    }
    let children = span.first_child..span.first_child + span.children;
    let m = lesson.spreads.len();
    let mut masses = vec![0.0; m * span.children];
    for (j, child) in children.clone().enumerate() {
        let column = subtree(rows, hierarchy, lesson, fits, child, learned);
        column.iter().enumerate().for_each(|(q, &mass)| masses[q * span.children + j] = mass);
    }
    let mut family: Vec<NodeFit> = fits[children.clone()].to_vec();
    let costs: Vec<usize> = children.clone().map(|child| cost(&hierarchy.spans[child])).collect();
    lesson.correct(&mut family, &masses, &costs);
    learned.extend(children.zip(family));
    masses.chunks_exact(span.children).map(linear::log_sum_exp).collect()
}
