//! Links: for each row the rows that are worth scoring when it scores high.
//!
//! Two kinds, taken in turn: rows that are high together for the calibration queries, and nearest neighbours by
//! cosine. For classes that no calibration query reaches there is one pseudo-query each: a linear map from row to
//! winning query, learned on the classes that do win, and scaled until the class wins.

use rayon::prelude::*;

use super::hierarchy::Hierarchy;
use super::made_up::MadeUp;
use super::metric::Metric;
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::Spectrum;
use crate::host::{Matrix, linear};

/// How many of a query's best rows are linked with each other.
const TOP: usize = 12;
/// The weight of a pseudo-query beside a real one.
const PSEUDO_WEIGHT: f32 = 0.3;
/// Above this many rows, neighbours are looked for nearby in the tree only, and pseudo-queries are left out.
pub(super) const BRUTE_FORCE: usize = 40_000;
/// Rows that one block of queries is scored in.
const BLOCK: usize = 64;

/// The links of rows, in the order of the tree.
pub struct Links {
    /// The same number for each row that has any.
    pub list: Vec<u32>,
    /// Which rows these are.
    pub linked: Vec<bool>,
}

impl Links {
    /// How many each of these rows has.
    pub fn per_row(&self) -> usize {
        self.list.len().checked_div(self.linked.iter().filter(|&&linked| linked).count()).unwrap_or(0)
    }

    /// Where the links of each row begin, for those that have any.
    pub fn places(&self) -> Vec<Option<u32>> {
        let per_row = self.per_row() as u32;
        let mut next = 0;
        let mut place = || {
            next += per_row;
            next - per_row
        };
        self.linked.iter().map(|linked| linked.then(&mut place)).collect()
    }
}

/// What queries say about which classes belong together, in the order of the classes.
pub struct Together {
    /// For each class those that are high together with it, best first.
    pub lists: Vec<Vec<u32>>,
    /// How often each class is one of the best.
    pub reach: Vec<f32>,
}

impl Together {
    /// The share of the classes that are the best most often.
    pub fn most_reached(&self, share: f32) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.reach.len()).collect();
        order.sort_by(|&a, &b| self.reach[b].total_cmp(&self.reach[a]));
        let mut reached = vec![false; order.len()];
        let count = (share * order.len() as f32).ceil() as usize;
        order.iter().take(count).for_each(|&class| reached[class] = true);
        reached
    }
}

/// `per_row` links for each row in the order of the tree that is `linked`, from the lists of [`high_together`] and
/// [`nearest`], which are, as `linked` is, in the order of the classes.
pub fn links(
    order: &[u32],
    together: Option<&[Vec<u32>]>,
    near: &[Vec<u32>],
    linked: Option<Vec<bool>>,
    per_row: usize,
) -> Links {
    let rows = order.len();
    let per_row = per_row.min(rows.saturating_sub(1));
    let mut row_of_class = vec![0u32; rows];
    order.iter().enumerate().for_each(|(row, &class)| row_of_class[class as usize] = row as u32);
    let is_linked = |class: u32| linked.as_ref().is_none_or(|linked| linked[class as usize]);
    let list = order
        .par_iter()
        .filter(|&&class| is_linked(class))
        .flat_map_iter(|&class| {
            let together = together.map_or(&[][..], |lists| &lists[class as usize]);
            let picked = interleave(class, together, &near[class as usize], per_row, rows);
            picked.into_iter().map(|class| row_of_class[class as usize])
        })
        .collect();
    Links { list, linked: order.iter().map(|&class| is_linked(class)).collect() }
}

/// Alternates between the lists until there are enough.
fn interleave(row: u32, together: &[u32], near: &[u32], count: usize, rows: usize) -> Vec<u32> {
    let mut picked: Vec<u32> = Vec::with_capacity(count);
    let longest = together.len().max(near.len());
    let alternating = (0..longest).flat_map(|i| [together.get(i), near.get(i)]).flatten().copied();
    // A tiny model may have too few of both: any other row fills up.
    for candidate in alternating.chain(0..rows as u32) {
        if picked.len() == count {
            break;
        }
        if candidate != row && !picked.contains(&candidate) {
            picked.push(candidate);
        }
    }
    picked
}

/// For each row the rows that are high together with it, best first, at most `count`; `tops` are the [`top_rows`] of the
/// queries.
pub fn high_together(
    layer: &QuantisedRows,
    spectrum: &Spectrum,
    queries: &Matrix,
    tops: &[Tops],
    count: usize,
) -> Together {
    let rows = layer.len();
    let mut pairs: Vec<(u32, u32, f32)> = Vec::new();
    let mut reach = vec![0.0; rows];
    let mut add = |top: &Vec<u32>, weight: f32| {
        add_pairs(top, weight, &mut pairs);
        top.iter().enumerate().for_each(|(i, &row)| reach[row as usize] += weight / (1 + i) as f32);
    };
    tops.iter().for_each(|top| add(&top.rows, 1.0));
    if rows <= BRUTE_FORCE
        && let Some(pseudo) = pseudo_queries(layer, spectrum, queries, tops)
    {
        pseudo.iter().for_each(|top| add(top, PSEUDO_WEIGHT));
    }
    pairs.par_sort_unstable_by_key(|&(a, b, _)| (a, b));
    let mut lists: Vec<Vec<(u32, f32)>> = vec![Vec::new(); rows];
    for (a, b, weight) in pairs {
        match lists[a as usize].last_mut() {
            Some((last, sum)) if *last == b => *sum += weight,
            _ => lists[a as usize].push((b, weight)),
        }
    }
    let lists = lists
        .into_par_iter()
        .map(|mut list| {
            list.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
            list.into_iter().take(count).map(|(row, _)| row).collect()
        })
        .collect();
    Together { lists, reach }
}

fn add_pairs(top: &[u32], weight: f32, pairs: &mut Vec<(u32, u32, f32)>) {
    for (i, &a) in top.iter().enumerate() {
        for (j, &b) in top.iter().enumerate() {
            if a != b {
                pairs.push((a, b, weight / ((1 + i) * (1 + j)) as f32));
            }
        }
    }
}

/// What a query makes of all rows.
#[derive(Clone, Debug, Default)]
pub struct Tops {
    /// The best rows, best first.
    pub rows: Vec<u32>,
    /// ln Z.
    pub log_z: f32,
}

/// The best rows of each query.
pub fn top_rows(layer: &QuantisedRows, queries: &Matrix) -> Vec<Tops> {
    const ROWS: usize = 8192;
    let queries = linear::with_ones(queries);
    let cols = queries.cols();
    let mut best: Vec<(Vec<(u32, f32)>, f32)> = vec![(Vec::new(), f32::NEG_INFINITY); queries.rows()];
    for first in (0..layer.len()).step_by(ROWS) {
        let count = ROWS.min(layer.len() - first);
        let rows = layer.augmented(first, count);
        best.par_chunks_mut(BLOCK).zip(queries.data().par_chunks(BLOCK * cols)).for_each(|(best, block)| {
            let scores = linear::times_transposed(block, &rows, cols);
            for ((best, log_z), scores) in best.iter_mut().zip(scores.chunks_exact(count)) {
                *log_z = linear::log_sum_exp(&[*log_z, linear::log_sum_exp(scores)]);
                best.extend(largest(scores, TOP).into_iter().map(|at| (at + first as u32, scores[at as usize])));
                // Stable, so that equal scores stay in the order of the rows.
                best.sort_by(|a, b| b.1.total_cmp(&a.1));
                best.truncate(TOP);
            }
        });
    }
    let tops =
        best.into_iter().map(|(best, log_z)| Tops { rows: best.into_iter().map(|(row, _)| row).collect(), log_z });
    tops.collect()
}

/// The places of the largest values, largest first.
fn largest(values: &[f32], count: usize) -> Vec<u32> {
    let mut best: Vec<u32> = Vec::with_capacity(count + 1);
    let mut threshold = f32::NEG_INFINITY;
    for (place, &value) in values.iter().enumerate() {
        if count > 0 && (best.len() < count || value > threshold) {
            let at = best.partition_point(|&other| values[other as usize] >= value);
            best.insert(at, place as u32);
            best.truncate(count);
            threshold = values[best[best.len() - 1] as usize];
        }
    }
    best
}

/// The best rows of one made-up query for each class that did not win often enough to be known.
fn pseudo_queries(
    layer: &QuantisedRows,
    spectrum: &Spectrum,
    queries: &Matrix,
    tops: &[Tops],
) -> Option<Vec<Vec<u32>>> {
    Some(scaled_until_won(layer, &MadeUp::learn(layer, spectrum, queries, tops)?.one_each()))
}

/// The best rows of each made-up query at the first scale at which its class wins; empty if it never does.
fn scaled_until_won(layer: &QuantisedRows, made_up: &Matrix) -> Vec<Vec<u32>> {
    const SCALES: [f32; 4] = [1.0, 1.5, 2.25, 3.5];
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); made_up.rows()];
    let mut open: Vec<usize> = (0..made_up.rows()).collect();
    for scale in SCALES {
        let data: Vec<f32> = open.iter().flat_map(|&row| made_up.row(row)).map(|x| x * scale).collect();
        let Some(queries) = Matrix::new(data, made_up.cols()) else {
            break;
        };
        let tops = top_rows(layer, &queries);
        let mut lost = Vec::new();
        for (&row, top) in open.iter().zip(tops) {
            if top.rows[0] as usize == row { found[row] = top.rows } else { lost.push(row) }
        }
        open = lost;
    }
    found
}

/// For each row the nearest rows by cosine in the clustering metric, nearest first, at most `count`. In a large layer they are
/// looked for nearby in the tree.
pub fn nearest(layer: &QuantisedRows, metric: &Metric<'_>, hierarchy: &Hierarchy, count: usize) -> Vec<Vec<u32>> {
    if layer.len() <= BRUTE_FORCE {
        return nearest_in(layer, metric, &[(0, layer.len())], count);
    }
    let order = &hierarchy.order;
    let found = nearest_in(&layer.reordered(order), metric, &regions(hierarchy), count);
    let mut lists = vec![Vec::new(); layer.len()];
    for (&class, list) in order.iter().zip(found) {
        lists[class as usize] = list.into_iter().map(|row| order[row as usize]).collect();
    }
    lists
}

/// Whether [`nearest`] is the same for every tree.
pub fn is_the_same_for_every_tree(layer: &QuantisedRows) -> bool {
    layer.len() <= BRUTE_FORCE
}

/// The nearest rows of each row among those of its region: (first, how many).
fn nearest_in(layer: &QuantisedRows, metric: &Metric<'_>, regions: &[(usize, usize)], count: usize) -> Vec<Vec<u32>> {
    let d = layer.dim + 1;
    let mut found: Vec<Vec<u32>> = Vec::with_capacity(layer.len());
    for &(first, rows) in regions {
        let mut unit = metric.points(layer, first, rows);
        unit.par_chunks_exact_mut(d).for_each(|row| {
            let norm = linear::dot(row, row).sqrt().max(f32::MIN_POSITIVE);
            row.iter_mut().for_each(|x| *x /= norm);
        });
        found.par_extend(unit.par_chunks(BLOCK * d).enumerate().flat_map_iter(|(block, own)| {
            let mut products = linear::times_transposed(own, &unit, d);
            products
                .chunks_exact_mut(rows)
                .enumerate()
                .map(|(i, products)| {
                    products[block * BLOCK + i] = f32::NEG_INFINITY;
                    largest(products, count).into_iter().map(|at| at + first as u32).collect()
                })
                .collect::<Vec<Vec<u32>>>()
        }));
    }
    found
}

/// The highest nodes below a size: together they cover all rows, in order.
fn regions(hierarchy: &Hierarchy) -> Vec<(usize, usize)> {
    const REGION: usize = 4096;
    let mut found: Vec<_> = Vec::new();
    let mut open: Vec<usize> = (0..hierarchy.top).collect();
    while let Some(node) = open.pop() {
        let span = hierarchy.spans[node];
        if span.rows <= REGION || span.is_leaf() {
            found.push((span.first_row, span.rows));
        } else {
            open.extend(span.first_child..span.first_child + span.children);
        }
    }
    found.sort_unstable();
    found
}
