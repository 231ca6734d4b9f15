//! What is certain about the rows of each node.

use rayon::prelude::*;

use super::hierarchy::Hierarchy;
use crate::host::quantise::QuantisedRows;
use crate::host::{Matrix, linear};
use crate::math::Log2;
use crate::tree::{Bounds, Span};

/// Bounds for every node, from the rows and the nodes' vectors as the file has them.
pub fn bounds(rows: &QuantisedRows, hierarchy: &Hierarchy, nodes: &QuantisedRows) -> Vec<Bounds> {
    let (weights, biases) = rows.dequantised();
    let (vectors, node_biases) = nodes.dequantised();
    let augmented = linear::with_column(&weights, |row| biases[row]);
    hierarchy
        .spans
        .par_iter()
        .enumerate()
        .map(|(node, span)| of_node(&augmented, span, vectors.row(node), node_biases[node]))
        .collect()
}

fn of_node(rows: &Matrix, span: &Span, vector: &[f32], node_bias: f32) -> Bounds {
    let (d, n) = (rows.cols(), span.rows as f64);
    let own = &rows.data()[span.first_row * d..][..span.rows * d];
    let mut mean = vec![0.0f64; d];
    for row in own.chunks_exact(d) {
        mean.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x) / n);
    }
    let centred: Vec<f32> =
        own.chunks_exact(d).flat_map(|row| row.iter().zip(&mean).map(|(&x, m)| (f64::from(x) - m) as f32)).collect();
    let radius = centred.chunks_exact(d).map(|row| linear::dot(row, row)).fold(0.0, f32::max).sqrt();
    // The Frobenius norm of the covariance is no less than its largest eigenvalue, and needs no iteration. Of the two
    // Gram matrices that have it, the smaller one is taken.
    let gram = if span.rows < d {
        linear::times_transposed(&centred, &centred, d)
    } else {
        linear::transposed_times(&centred, d, &centred, d)
    };
    let frobenius = gram.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt() / n;
    let offset = vector.iter().zip(&mean).map(|(&w, m)| (f64::from(w) - m).powi(2)).sum::<f64>().sqrt();
    const ROUNDING: f64 = 1.0 + 1e-4;
    Bounds {
        centre: Log2::from_nats((mean[d - 1] + n.ln() - f64::from(node_bias)) as f32),
        offset: (offset * ROUNDING) as f32,
        radius: (f64::from(radius) * ROUNDING) as f32,
        variance: (frobenius * ROUNDING) as f32,
    }
}
