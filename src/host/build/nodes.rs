//! Computes what is known of each node from its rows: the first two moments, how their variance grows with the query, and certain
//! bounds.
//!
//! A leaf's moments are computed from its rows. An inner node's follow from its children's: the mean of the means, and by the law of
//! total variance t = Σ n_c/n · (t_c + ‖μ_c − μ‖²_S). F(q) = f₀ + f₁·‖q‖² is how the variance inside a leaf grows with the query.

use rayon::prelude::*;

use super::cluster::Hierarchy;
use super::corrections::NodeFit;
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::Spectrum;
use crate::host::{Matrix, linear};
use crate::math::Log2;
use crate::tree::{Bounds, Span};

/// Mean, with the bias as the last coordinate, and t: the variance of the scores over queries with second moment S.
#[derive(Clone)]
struct Moments {
    mean: Vec<f32>,
    variance: f32,
}

/// The moments of every node, as predictions.
pub fn moments(rows: &QuantisedRows, hierarchy: &Hierarchy, spectrum: &Spectrum) -> Vec<NodeFit> {
    let spans = &hierarchy.spans;
    let mut found: Vec<Option<Moments>> =
        spans.par_iter().map(|span| span.is_leaf().then(|| of_leaf(rows, span, spectrum))).collect();
    // Children come after their parents.
    for node in (0..spans.len()).rev() {
        if !spans[node].is_leaf() {
            found[node] = Some(of_children(&spans[node], spans, &found, spectrum));
        }
    }
    found.into_iter().zip(spans).map(|(moments, span)| fit(moments.expect("every node was reached"), span)).collect()
}

fn of_leaf(rows: &QuantisedRows, span: &Span, spectrum: &Spectrum) -> Moments {
    let cols = rows.dim + 1;
    let mut own = rows.augmented(span.first_row, span.rows);
    let mean = mean(own.chunks_exact(cols).map(|row| (row, 1.0)), cols);
    own.chunks_exact_mut(cols).for_each(|row| row.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m));
    Moments { variance: spectrum.form(&own) / span.rows as f32, mean }
}

fn of_children(span: &Span, spans: &[Span], found: &[Option<Moments>], spectrum: &Spectrum) -> Moments {
    let cols = found.iter().flatten().next().map_or(0, |moments| moments.mean.len());
    let children = span.first_child..span.first_child + span.children;
    let of = |child: usize| found[child].as_ref().expect("children come first");
    let mean = mean(children.clone().map(|child| (&of(child).mean[..], spans[child].rows as f64)), cols);
    let variance = children.map(|child| {
        let off: Vec<f32> = of(child).mean.iter().zip(&mean).map(|(x, m)| x - m).collect();
        (of(child).variance + spectrum.form(&off)) * spans[child].rows as f32
    });
    Moments { variance: variance.sum::<f32>() / span.rows as f32, mean }
}

fn mean<'a>(rows: impl Iterator<Item = (&'a [f32], f64)>, cols: usize) -> Vec<f32> {
    let (mut sums, mut total) = (vec![0.0f64; cols], 0.0);
    for (row, weight) in rows {
        total += weight;
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * f64::from(x));
    }
    sums.iter().map(|sum| (sum / total) as f32).collect()
}

fn fit(Moments { mut mean, variance }: Moments, span: &Span) -> NodeFit {
    let bias = mean.pop().unwrap_or(0.0);
    let variance = variance.max(0.0);
    NodeFit {
        vector: mean,
        bias: bias + (span.rows as f32).ln(),
        variance,
        rows: span.rows,
        gain: NodeFit::gain(variance, span),
    }
}

/// Leaves that are looked at.
const LEAVES: usize = 128;

/// f₀ and f₁, fitted to what queries do to a sample of the leaves, in units of each leaf's mean variance.
pub fn spread_function(rows: &QuantisedRows, hierarchy: &Hierarchy, fits: &[NodeFit], queries: &Matrix) -> (f32, f32) {
    let leaves: Vec<usize> =
        (0..fits.len()).filter(|&i| hierarchy.spans[i].is_leaf() && fits[i].variance > 0.0).collect();
    let step = leaves.len().div_ceil(LEAVES).max(1);
    let sample: Vec<usize> = leaves.into_iter().step_by(step).collect();
    let augmented = linear::with_ones(queries);
    let ratios: Vec<Vec<f64>> = sample
        .par_iter()
        .map(|&leaf| {
            let span = hierarchy.spans[leaf];
            let own = rows.augmented(span.first_row, span.rows);
            let scores = linear::times_transposed(augmented.data(), &own, augmented.cols());
            let ratio = |scores: &[f32]| {
                let mean = scores.iter().sum::<f32>() / scores.len() as f32;
                let squares: f32 = scores.iter().map(|s| (s - mean) * (s - mean)).sum();
                f64::from(squares / scores.len() as f32 / fits[leaf].variance)
            };
            scores.chunks_exact(span.rows).map(ratio).collect()
        })
        .collect();
    let ratio = |query: usize| ratios.iter().map(|leaf| leaf[query]).sum::<f64>() / sample.len().max(1) as f64;
    let square = |q: &[f32]| f64::from(linear::dot(q, q));
    let points: Vec<(f64, f64)> = queries.iter().enumerate().map(|(i, q)| (square(q), ratio(i))).collect();
    line_through(&points)
}

/// Least squares of y on x with neither number below zero.
fn line_through(points: &[(f64, f64)]) -> (f32, f32) {
    let n = points.len().max(1) as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (sxx, sxy) =
        points.iter().fold((0.0, 0.0), |(xx, xy), p| (xx + (p.0 - mx) * (p.0 - mx), xy + (p.0 - mx) * (p.1 - my)));
    let slope = if sxx > 0.0 { (sxy / sxx).max(0.0) } else { 0.0 };
    let constant = my - slope * mx;
    if constant >= 0.0 {
        (constant as f32, slope as f32)
    } else {
        let squares: f64 = points.iter().map(|p| p.0 * p.0).sum();
        (0.0, (points.iter().map(|p| p.0 * p.1).sum::<f64>() / squares.max(f64::MIN_POSITIVE)) as f32)
    }
}

/// Bounds for every node, from the rows and the nodes' vectors as the file has them.
pub fn bounds(rows: &QuantisedRows, hierarchy: &Hierarchy, nodes: &QuantisedRows) -> Vec<Bounds> {
    hierarchy
        .spans
        .par_iter()
        .enumerate()
        .map(|(node, span)| bounds_of(rows, span, &nodes.augmented(node, 1)))
        .collect()
}

fn bounds_of(rows: &QuantisedRows, span: &Span, node: &[f32]) -> Bounds {
    let (d, n) = (rows.dim + 1, span.rows as f64);
    let own = rows.augmented(span.first_row, span.rows);
    let mut mean = vec![0.0f64; d];
    for row in own.chunks_exact(d) {
        mean.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x) / n);
    }
    let centred: Vec<f32> =
        own.chunks_exact(d).flat_map(|row| row.iter().zip(&mean).map(|(&x, m)| (f64::from(x) - m) as f32)).collect();
    let radius = centred.chunks_exact(d).map(|row| linear::dot(row, row)).fold(0.0, f32::max).sqrt();
    let offset = node.iter().take(d - 1).zip(&mean).map(|(&w, m)| (f64::from(w) - m).powi(2)).sum::<f64>().sqrt();
    const ROUNDING: f64 = 1.0 + 1e-4;
    Bounds {
        centre: Log2::from_nats((mean[d - 1] + n.ln() - f64::from(node[d - 1])) as f32),
        offset: (offset * ROUNDING) as f32,
        radius: (f64::from(radius) * ROUNDING) as f32,
        variance: (largest_variance(&centred, d) * ROUNDING) as f32,
    }
}

/// Not below the variance of the rows in any direction.
fn largest_variance(centred: &[f32], d: usize) -> f64 {
    const MANY: usize = 4096;
    const WIDE: usize = 512;
    let rows = centred.len() / d;
    let n = rows as f64;
    if rows > MANY || rows.min(d) > WIDE {
        // Near the top of the tree bounds are of no use, and the trace is one.
        return centred.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / n;
    }
    // The Frobenius norm of the covariance is no less than its largest eigenvalue, and needs no iteration. Of the two
    // Gram matrices that have it, the smaller one is taken.
    let gram = if rows < d {
        linear::times_transposed(centred, centred, d)
    } else {
        linear::transposed_times(centred, d, centred, d)
    };
    gram.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt() / n
}
