//! Hierarchical k-means: a tree in which every node stands for consecutive rows.

use rayon::prelude::*;

use super::kmeans;
use crate::host::Matrix;
use crate::tree::{Descent, Span};

/// A tree over points: the order of the rows, and the nodes, each family after the ones before it.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The point that each row of the new order is.
    pub order: Vec<u32>,
    /// Rows and children of each node.
    pub spans: Vec<Span>,
    /// The first nodes, which no other node is above.
    pub top: usize,
}

/// A node with fewer children than this is left out, and they take its place: on real layers the estimates are as good without it,
/// the file is smaller, and a search opens fewer and larger families.
const FEW: usize = 4;

/// A node that is not placed yet.
struct Pending {
    points: Vec<u32>,
    seed: u64,
}

impl Hierarchy {
    /// Splits the points into `branching` clusters, and each of them again, until at most `leaf` are left.
    pub fn build(points: &Matrix, branching: usize, leaf: usize, seed: u64) -> Self {
        let all: Vec<u32> = (0..points.rows() as u32).collect();
        let mut level = split(points, &Pending { points: all, seed }, branching, leaf);
        let mut levels = Vec::new();
        // Level by level, so that the nodes of one level are split in parallel and numbered in order.
        while !level.is_empty() {
            let children: Vec<Vec<Pending>> = level
                .par_iter()
                .map(|node| if node.points.len() > leaf { split(points, node, branching, leaf) } else { Vec::new() })
                .collect();
            let counts: Vec<usize> = children.iter().map(Vec::len).collect();
            levels.push((level, counts));
            level = children.into_iter().flatten().collect();
        }
        Self::place(&levels)
    }

    /// The least cap of a search that is sure to score a row, as a search sees it.
    pub fn least_cap(&self) -> usize {
        self.top + Descent::worst(self.spans.iter().copied(), self.top).cost as usize
    }

    /// Numbers the nodes breadth first, and the rows so that those of each node are consecutive.
    fn place(levels: &[(Vec<Pending>, Vec<usize>)]) -> Self {
        let top = levels.first().map_or(0, |(nodes, _)| nodes.len());
        let mut spans = Vec::new();
        let mut next_child = 0;
        for (nodes, counts) in levels {
            next_child += nodes.len();
            let mut child = next_child;
            for (node, &children) in nodes.iter().zip(counts) {
                let first_child = if children == 0 { 0 } else { child };
                spans.push(Span { first_row: 0, rows: node.points.len(), first_child, children });
                child += children;
            }
        }
        let mut row = 0;
        for span in &mut spans[..top] {
            span.first_row = row;
            row += span.rows;
        }
        for node in 0..spans.len() {
            let Span { mut first_row, first_child, children, .. } = spans[node];
            for span in &mut spans[first_child..first_child + children] {
                span.first_row = first_row;
                first_row += span.rows;
            }
        }
        let mut order = vec![0; row];
        let pending = levels.iter().flat_map(|(nodes, _)| nodes);
        for (span, node) in spans.iter().zip(pending).filter(|(span, _)| span.is_leaf()) {
            order[span.first_row..][..span.rows].copy_from_slice(&node.points);
        }
        Self { order, spans, top }
    }
}

fn split(points: &Matrix, node: &Pending, branching: usize, leaf: usize) -> Vec<Pending> {
    let n = node.points.len();
    let k = n.div_ceil(leaf).clamp(1, branching);
    let mut parts: Vec<Vec<u32>> = Vec::new();
    if k > 1 {
        let owner = if n == points.rows() {
            // All points, in their order: no need for a copy.
            kmeans::cluster(points.data(), points.cols(), k, node.seed)
        } else {
            let gathered: Vec<f32> = node.points.iter().flat_map(|&i| points.row(i as usize)).copied().collect();
            kmeans::cluster(&gathered, points.cols(), k, node.seed)
        };
        for (&point, &owner) in node.points.iter().zip(&owner) {
            let owner = owner as usize;
            if parts.len() <= owner {
                parts.resize_with(owner + 1, Vec::new);
            }
            parts[owner].push(point);
        }
        join_lone_points(points, &mut parts);
    }
    if parts.len() < 2 {
        // Equal points, or few of them: any even split is as good as another.
        parts = node.points.chunks(n.div_ceil(k).max(1)).map(<[u32]>::to_vec).collect();
    }
    let child = |(i, points)| Pending { points, seed: node.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i as u64 + 1) };
    // Not at the top, which every search pays for, however small its budget.
    let is_thin =
        |node: &Pending| n < points.rows() && node.points.len() > leaf && node.points.len().div_ceil(leaf) <= FEW;
    let grandchildren = |node: Pending| if is_thin(&node) { split(points, &node, branching, leaf) } else { vec![node] };
    parts.into_iter().enumerate().map(child).flat_map(grandchildren).collect()
}

/// A node of one row would cost as much as the row itself: the point joins the cluster with the nearest member.
fn join_lone_points(points: &Matrix, parts: &mut Vec<Vec<u32>>) {
    let lone: Vec<u32> = parts.iter().filter(|part| part.len() == 1).map(|part| part[0]).collect();
    if lone.len() == parts.len() {
        return;
    }
    parts.retain(|part| part.len() > 1);
    for point in lone {
        let row = points.row(point as usize);
        let to =
            |other: u32| -> f32 { row.iter().zip(points.row(other as usize)).map(|(a, b)| (a - b) * (a - b)).sum() };
        let nearest = |part: &[u32]| part.iter().map(|&other| to(other)).fold(f32::INFINITY, f32::min);
        let best = (0..parts.len()).min_by(|&a, &b| nearest(&parts[a]).total_cmp(&nearest(&parts[b])));
        parts[best.expect("a cluster of two or more")].push(point);
    }
}
