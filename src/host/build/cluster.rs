//! Clusters rows to a tree: hierarchical k-means in the metric of the queries, the same on any number of threads.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::Spectrum;
use crate::host::{Matrix, linear};
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
        Self::build_apart(points, &vec![false; points.rows()], branching, leaf, seed)
    }

    /// Does the same with points that are masked under a node of their own: a node with a few of them would know little of the others.
    pub fn build_apart(points: &Matrix, masked: &[bool], branching: usize, leaf: usize, seed: u64) -> Self {
        let (masked, own): (Vec<u32>, Vec<u32>) = (0..points.rows() as u32).partition(|&row| masked[row as usize]);
        let mut level = split(points, &Pending { points: own, seed }, branching, leaf, true);
        if !masked.is_empty() {
            level.push(Pending { points: masked, seed });
        }
        let mut levels = Vec::new();
        // Level by level, so that the nodes of one level are split in parallel and numbered in order.
        while !level.is_empty() {
            let children: Vec<Vec<Pending>> =
                level
                    .par_iter()
                    .map(|node| {
                        if node.points.len() > leaf { split(points, node, branching, leaf, false) } else { Vec::new() }
                    })
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

fn split(points: &Matrix, node: &Pending, branching: usize, leaf: usize, is_top: bool) -> Vec<Pending> {
    let n = node.points.len();
    let k = n.div_ceil(leaf).clamp(1, branching);
    let mut parts: Vec<Vec<u32>> = Vec::new();
    if k > 1 {
        let owner = if n == points.rows() {
            // All points, in their order: no need for a copy.
            cluster(points.data(), points.cols(), k, node.seed)
        } else {
            let gathered: Vec<f32> = node.points.iter().flat_map(|&i| points.row(i as usize)).copied().collect();
            cluster(&gathered, points.cols(), k, node.seed)
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
    let is_thin = |node: &Pending| !is_top && node.points.len() > leaf && node.points.len().div_ceil(leaf) <= FEW;
    let grandchildren =
        |node: Pending| if is_thin(&node) { split(points, &node, branching, leaf, false) } else { vec![node] };
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
        let to = |other: u32| linear::squared_distance(row, points.row(other as usize));
        let nearest = |part: &[u32]| part.iter().map(|&other| to(other)).fold(f32::INFINITY, f32::min);
        let best = (0..parts.len()).min_by(|&a, &b| nearest(&parts[a]).total_cmp(&nearest(&parts[b])));
        parts[best.expect("a cluster of two or more")].push(point);
    }
}

/// Rows that are turned to floats, or taken by one thread, at a time. Fixed, so that sums are added in the same order everywhere.
const CHUNK: usize = 1024;

/// Turns rows to points: S^(blend/2) times a row with its bias as a coordinate, S the second moment of the queries.
///
/// blend = 0 is the plain distance; 1 is the mean squared difference of the scores, which forgets too much of what
/// queries that were not seen will ask for. An eighth to a half is best.
#[derive(Clone, Copy)]
pub struct Metric<'a> {
    /// None is the identity.
    spectrum: Option<&'a Spectrum>,
    power: f64,
}

impl<'a> Metric<'a> {
    pub fn new(spectrum: Option<&'a Spectrum>, blend: f32) -> Self {
        Self { spectrum: spectrum.filter(|_| blend > 0.0), power: f64::from(blend) / 2.0 }
    }

    /// The points of `count` rows from `first` on, one after the other.
    pub fn points(&self, rows: &QuantisedRows, first: usize, count: usize) -> Vec<f32> {
        let mut points = rows.augmented(first, count);
        if let Some(spectrum) = self.spectrum {
            spectrum.raise(&mut points, self.power);
        }
        points
    }

    /// The points of all rows: as large as the layer itself, so nobody should hold on to them.
    pub fn all(&self, rows: &QuantisedRows) -> Matrix {
        let cols = rows.dim + 1;
        let mut data = vec![0.0; rows.len() * cols];
        data.par_chunks_mut(CHUNK * cols).enumerate().for_each(|(chunk, out)| {
            out.copy_from_slice(&self.points(rows, chunk * CHUNK, out.len() / cols));
        });
        Matrix::new(data, cols).expect("whole rows")
    }
}

/// Most rounds of k-means: more move hardly a point.
const ITERATIONS: usize = 16;

/// Splits points of `cols` values into at most `k` clusters; the cluster of each point. No cluster is empty.
pub fn cluster(points: &[f32], cols: usize, k: usize, seed: u64) -> Vec<u32> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut centres = seed_centres(points, cols, k, &mut rng);
    let mut owner = assign(points, cols, &centres);
    for _ in 0..ITERATIONS {
        centres = means(points, cols, &owner, &centres);
        let next = assign(points, cols, &centres);
        if next == owner {
            break;
        }
        owner = next;
    }
    renumber(owner)
}

/// k-means++: each new centre is a point, chosen with probability proportional to its squared distance.
fn seed_centres(points: &[f32], cols: usize, k: usize, rng: &mut Pcg64Mcg) -> Vec<f32> {
    let n = points.len() / cols;
    let point = |i: usize| &points[i * cols..][..cols];
    let mut centres = Vec::with_capacity(k * cols);
    let mut nearest = vec![f32::INFINITY; n];
    let mut chosen = (uniform(rng) * n as f64) as usize;
    for _ in 0..k {
        let centre = point(chosen.min(n - 1));
        centres.extend_from_slice(centre);
        nearest.par_chunks_mut(CHUNK).zip(points.par_chunks(CHUNK * cols)).for_each(|(nearest, points)| {
            for (nearest, point) in nearest.iter_mut().zip(points.chunks_exact(cols)) {
                *nearest = nearest.min(linear::squared_distance(point, centre));
            }
        });
        let total: f64 = nearest.iter().map(|&d| f64::from(d)).sum();
        if total <= 0.0 {
            // Every point is a centre already: more would be empty.
            break;
        }
        let mut left = uniform(rng) * total;
        chosen = nearest
            .iter()
            .position(|&d| {
                left -= f64::from(d);
                left < 0.0
            })
            .unwrap_or(n - 1);
    }
    centres
}

fn assign(points: &[f32], cols: usize, centres: &[f32]) -> Vec<u32> {
    let norms: Vec<f32> = centres.chunks_exact(cols).map(|c| linear::dot(c, c)).collect();
    points
        .par_chunks(CHUNK * cols)
        .flat_map_iter(|points| {
            let products = linear::times_transposed(points, centres, cols);
            let nearest = |products: &[f32]| {
                let distance = |j: usize| norms[j] - 2.0 * products[j];
                (0..norms.len()).fold(0, |best, j| if distance(j) < distance(best) { j } else { best }) as u32
            };
            products.chunks_exact(norms.len()).map(nearest).collect::<Vec<_>>()
        })
        .collect()
}

/// The mean of each cluster; a cluster without points keeps its centre.
fn means(points: &[f32], cols: usize, owner: &[u32], centres: &[f32]) -> Vec<f32> {
    let k = centres.len() / cols;
    let partial: Vec<(Vec<f64>, Vec<usize>)> = points
        .par_chunks(CHUNK * cols)
        .zip(owner.par_chunks(CHUNK))
        .map(|(points, owner)| {
            let (mut sums, mut counts) = (vec![0.0f64; k * cols], vec![0usize; k]);
            for (point, &owner) in points.chunks_exact(cols).zip(owner) {
                counts[owner as usize] += 1;
                for (sum, &x) in sums[owner as usize * cols..].iter_mut().zip(point) {
                    *sum += f64::from(x);
                }
            }
            (sums, counts)
        })
        .collect();
    let (mut sums, mut counts) = (vec![0.0f64; k * cols], vec![0usize; k]);
    for (part, part_counts) in &partial {
        sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        counts.iter_mut().zip(part_counts).for_each(|(sum, x)| *sum += x);
    }
    let mean = |at: usize| {
        let count = counts[at / cols];
        if count == 0 { centres[at] } else { (sums[at] / count as f64) as f32 }
    };
    (0..k * cols).map(mean).collect()
}

/// Numbers the clusters that have points from zero.
fn renumber(mut owner: Vec<u32>) -> Vec<u32> {
    let mut number = vec![u32::MAX; owner.iter().max().map_or(0, |&m| m as usize + 1)];
    let mut next = 0;
    for owner in &mut owner {
        let number = &mut number[*owner as usize];
        if *number == u32::MAX {
            *number = next;
            next += 1;
        }
        *owner = *number;
    }
    owner
}

/// A number in [0, 1).
pub(super) fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
