//! The first two moments of every node's rows, from the leaves up.
//!
//! A leaf's are computed from its rows. An inner node's follow from its children's: the mean of the means, and by the
//! law of total variance t = Σ n_c/n · (t_c + ‖μ_c − μ‖²_S).

use rayon::prelude::*;

use super::hierarchy::Hierarchy;
use super::predict::NodeFit;
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::Spectrum;
use crate::tree::Span;

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
