//! k-means with k-means++ seeding, the same on any number of threads.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use crate::host::linear;

/// Rows that one thread takes at a time. Fixed, so that sums are added in the same order everywhere.
const CHUNK: usize = 1024;
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
                *nearest = nearest.min(distance(point, centre));
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

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// A number in [0, 1).
pub(super) fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
