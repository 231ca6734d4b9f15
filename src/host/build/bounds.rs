//! What is certain about the rows of each node.

use rayon::prelude::*;

use super::hierarchy::Hierarchy;
use crate::host::linear;
use crate::host::quantise::QuantisedRows;
use crate::math::Log2;
use crate::tree::{Bounds, Span};

/// Bounds for every node, from the rows and the nodes' vectors as the file has them.
pub fn bounds(rows: &QuantisedRows, hierarchy: &Hierarchy, nodes: &QuantisedRows) -> Vec<Bounds> {
    hierarchy.spans.par_iter().enumerate().map(|(node, span)| of_node(rows, span, &nodes.augmented(node, 1))).collect()
}

fn of_node(rows: &QuantisedRows, span: &Span, node: &[f32]) -> Bounds {
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
