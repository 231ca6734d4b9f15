//! What each node says of its mass: the moments of its rows, and the linear correction that the queries teach.
//!
//! For node and query the true log-mass T is known on the calibration queries. The moments predict
//! `ln n + m + σ²/2` (frozen where need be). The residual is fitted by ridge on the whitened query,
//! `T − prediction ≈ θ₀ + θ·x(q)`. A query counts as far as the node matters to it: a line through queries for which the node
//! holds a millionth of Z would be bent for nothing. Being linear in q, the correction goes into the node's vector and bias:
//! it costs nothing at query time.
//!
//! How much of it is worth having for classes that no query showed is found by leaving classes out: the queries are split
//! into folds so that those with the same best class stay together, and each fold is predicted by what the others teach.
//! The share of the correction that fits these predictions best is the one that can be trusted ([`Correction::Shrunk`]).

use core::ops::Range;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::hierarchy::Hierarchy;
use super::links::Tops;
use super::weighted::Design;
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

/// The power of it in the place of a node whose mass is known better than by the moments alone: there it is a half.
const CORRECTED_POWER: f32 = 0.35;

/// How far the nodes' predictions follow what the queries teach.
///
/// ```
/// use zhat::host::build::{Correction, Plan};
///
/// assert_eq!(Plan::default().correction, Correction::None);
/// assert_eq!(Plan::TAUGHT.correction, Correction::Full);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Correction {
    /// Not at all.
    None,
    /// As far as it holds for classes that were left out.
    Shrunk,
    /// All the way.
    Full,
}

/// What the queries teach about one node.
#[derive(Clone, Debug)]
pub struct Learned {
    slope: Vec<f32>,
    offset: f32,
    /// The share that holds for classes that were left out.
    holds: f32,
}

impl Learned {
    /// The share that holds for classes that were left out.
    #[cfg(test)]
    pub fn share(&self) -> f32 {
        self.holds
    }

    /// Moves a prediction.
    pub fn correct(&self, node: &mut NodeFit, correction: Correction) {
        let share = match correction {
            Correction::None => return,
            Correction::Shrunk => self.holds,
            Correction::Full => 1.0,
        };
        node.bias += share * self.offset;
        node.gain += (CORRECTED_POWER - 0.5) * relative_variance(node.variance, node.rows).ln();
        node.vector.iter_mut().zip(&self.slope).for_each(|(w, s)| *w += share * s);
    }
}

/// The queries, prepared to learn from: in their coordinates along the directions in which they vary.
pub struct Lesson<'a> {
    spectrum: &'a Spectrum,
    /// The queries with a one after each, fold by fold.
    queries: Matrix,
    /// ln Z of each query.
    log_z: Vec<f32>,
    /// Features of each query: one, then the whitened coordinates.
    features: Vec<f32>,
    /// (XᵀX + λ)⁻¹.
    inverse: Vec<f32>,
    /// Each fold, and the same inverse of all queries but these.
    folds: Vec<(Range<usize>, Vec<f32>)>,
    /// Whitening, and the mean of the coordinates.
    whiten: Vec<f32>,
    mean: Vec<f32>,
}

/// λ as a share of the number of queries.
const RIDGE: f64 = 0.03;
/// Directions in which queries vary less than this share of the mean are not taken at their word.
const WHITEN_FLOOR: f64 = 0.02;
/// The share of Z at which a query counts half for a node: those that hold more are often opened, and the prediction is not used
/// then. Below, its weight falls as this power of the share.
const HALF_SHARE: f32 = 0.01;
const SHARE_POWER: f32 = 0.7;
/// Parts into which the classes are divided, to be left out in turn.
const FOLDS: usize = 6;

impl<'a> Lesson<'a> {
    /// Prepares the queries for fitting; `tops` are the best class and ln Z of each.
    pub fn new(spectrum: &'a Spectrum, queries: &Matrix, tops: &[Tops]) -> Option<Self> {
        let (m, r) = (queries.rows(), spectrum.len());
        let fold =
            |query: usize| (u64::from(tops[query].rows[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % FOLDS;
        let mut order: Vec<u32> = (0..m as u32).collect();
        order.sort_by_key(|&query| fold(query as usize));
        let queries = linear::with_ones(&queries.reordered(&order));
        let mut coordinates = Matrix::new(spectrum.project(queries.data()), r)?;
        let mean: Vec<f32> = (0..r).map(|c| coordinates.iter().map(|q| q[c]).sum::<f32>() / m as f32).collect();
        coordinates.data.chunks_exact_mut(r).for_each(|q| q.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean));
        let covariance = spectrum::second_moment(&coordinates);
        let lift = (covariance.trace() / r as f64 * WHITEN_FLOOR).max(f64::MIN_POSITIVE);
        let whiten = spectrum::power(&(covariance + DMatrix::identity(r, r) * lift), -0.5);
        let white = linear::times(coordinates.data(), &whiten, r);
        let features: Vec<f32> =
            white.chunks_exact(r).flat_map(|x| [1.0].into_iter().chain(x.iter().copied())).collect();
        let all = gram(&features, r + 1);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for part in order.chunk_by(|&a, &b| fold(a as usize) == fold(b as usize)) {
            let first = ranges.last().map_or(0, |range| range.end);
            ranges.push(first..first + part.len());
        }
        let without = |range: Range<usize>| {
            let own = gram(&features[range.start * (r + 1)..range.end * (r + 1)], r + 1);
            Some((range.clone(), inverse(&all - own, m - range.len())?))
        };
        let folds = ranges.into_par_iter().map(without).collect::<Option<Vec<_>>>()?;
        Some(Self {
            spectrum,
            log_z: order.iter().map(|&query| tops[query as usize].log_z).collect(),
            queries,
            inverse: inverse(all, m)?,
            features,
            folds,
            whiten,
            mean,
        })
    }

    /// F(q) of each query.
    fn spreads(&self, function: &SpreadFunction) -> Vec<f32> {
        let norm = |q: &[f32]| (linear::dot(q, q) - 1.0).max(0.0).sqrt();
        self.queries.iter().map(|q| function.value(norm(q))).collect()
    }

    /// What there is to learn about a family of nodes: `masses` are their true log-masses, a column for each node.
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
        let design = Design { features: &self.features, inverse: &self.inverse, columns: p };
        design.refine(&residual, &weights, &mut theta);
        let left_out = self.left_out(&products, &residual, k);
        // A line of coordinates for each node; whitening is symmetric.
        let of_nodes: Vec<f32> = (0..k).flat_map(|j| (1..p).map(move |c| c * k + j)).map(|at| theta[at]).collect();
        let coordinates = linear::times(&of_nodes, &self.whiten, r);
        let slopes = self.spectrum.expand(&coordinates);
        let learned = |j: usize| {
            let column = |list: &'_ [f32], q: usize| list[q * k + j];
            let (mut agree, mut size) = (0.0, 0.0);
            for q in 0..self.log_z.len() {
                let (guess, weight) = (column(&left_out, q), column(&weights, q));
                agree += weight * guess * column(&residual, q);
                size += weight * guess * guess;
            }
            let dim = self.spectrum.dim();
            let (&of_one, slope) = slopes[j * dim..][..dim].split_last().expect("a column of ones");
            let offset = theta[j] + of_one - linear::dot(&coordinates[j * r..][..r], &self.mean);
            let slope = slope.to_vec();
            Learned { slope, offset, holds: if size > 0.0 { (agree / size).clamp(0.0, 1.0) } else { 0.0 } }
        };
        (0..k).map(learned).collect()
    }

    /// How much each query counts for each node.
    fn weights(&self, masses: &[f32], k: usize) -> Vec<f32> {
        let weight = |(mass, log_z): (&f32, &f32)| {
            let share = (SHARE_POWER * (mass - log_z - HALF_SHARE.ln())).exp();
            share / (1.0 + share)
        };
        let lines = masses.chunks_exact(k).zip(&self.log_z);
        lines.flat_map(|(line, log_z)| line.iter().map(move |mass| weight((mass, log_z)))).collect()
    }

    /// What is predicted of each query's residuals by the queries of the other folds.
    fn left_out(&self, products: &[f32], residual: &[f32], k: usize) -> Vec<f32> {
        let p = self.mean.len() + 1;
        let mut predicted = Vec::with_capacity(residual.len());
        for (range, inverse) in &self.folds {
            let features = &self.features[range.start * p..range.end * p];
            let own = linear::transposed_times(features, p, &residual[range.start * k..range.end * k], k);
            let others: Vec<f32> = products.iter().zip(own).map(|(all, own)| all - own).collect();
            predicted.extend(linear::times(features, &linear::times(inverse, &others, p), p));
        }
        predicted
    }
}

/// XᵀX.
fn gram(features: &[f32], p: usize) -> DMatrix<f64> {
    let gram = linear::transposed_times(features, p, features, p);
    DMatrix::from_fn(p, p, |i, j| f64::from(gram[i * p + j]))
}

/// (XᵀX + λ)⁻¹; the constant is not penalised.
fn inverse(mut gram: DMatrix<f64>, queries: usize) -> Option<Vec<f32>> {
    let p = gram.nrows();
    for i in 1..p {
        gram[(i, i)] += RIDGE * queries as f64;
    }
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

/// What the queries teach about all nodes.
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

/// What learning goes over.
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
