//! F(q) = f₀ + f₁·‖q‖²: how the variance of the scores inside a leaf grows with the query.

use rayon::prelude::*;

use super::hierarchy::Hierarchy;
use super::predict::NodeFit;
use crate::host::quantise::QuantisedRows;
use crate::host::{Matrix, linear};

/// Leaves that are looked at.
const LEAVES: usize = 128;

/// f₀ and f₁, fitted to what queries do to a sample of the leaves, in units of each leaf's mean variance.
pub fn fit(rows: &QuantisedRows, hierarchy: &Hierarchy, fits: &[NodeFit], queries: &Matrix) -> (f32, f32) {
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
