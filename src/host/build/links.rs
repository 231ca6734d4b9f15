//! Links: for each row the rows that are worth scoring when it scores high.
//!
//! Two kinds, taken in turn: rows that are high together for the calibration queries, and nearest neighbours by cosine. Both mostly
//! lead to rows that the tree finds anyway. So queries are asked twice, within the budget and far beyond it: what only the second
//! search finds is linked from the best rows that the first one finds, in the place of the link there that found least.

use rayon::prelude::*;

use super::cluster::{Hierarchy, Metric};
use super::synthetic::LinkProbe;
use super::tunables::{BRUTE_FORCE, REGION};
use crate::host::measure::{self, Found};
use crate::host::quantise::QuantisedRows;
use crate::host::{BuildError, Matrix, linear};
use crate::math::Log2;
use crate::model::{Budget, Model};

/// Rows that one block of queries is scored in.
const BLOCK: usize = 64;

/// The links of rows, in the order of the tree.
pub struct Links {
    /// Links, as many for each row that has any.
    pub list: Vec<u32>,
    /// The rows that have links.
    pub linked: Vec<bool>,
}

impl Links {
    /// How many each of these rows has.
    pub fn per_row(&self) -> usize {
        self.list.len().checked_div(self.linked.iter().filter(|&&linked| linked).count()).unwrap_or(0)
    }

    /// Returns where the links of each row begin, for those that have any.
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

/// Holds what queries say about classes that belong together, in the order of the classes.
pub struct CoOccurrence {
    /// For each class those that are high together with it, best first.
    pub lists: Vec<Vec<u32>>,
    /// How often each class is one of the best.
    pub reach: Vec<f32>,
}

impl CoOccurrence {
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

/// Finds for each of so many rows the rows that are high together with it, best first, at most `count`; `tops` are the [`top_rows`]
/// of the queries.
pub fn high_together(rows: usize, tops: &[Tops], count: usize) -> CoOccurrence {
    let mut pairs: Vec<(u32, u32, f32)> = Vec::new();
    let mut reach = vec![0.0; rows];
    for top in tops {
        add_pairs(&top.rows, &mut pairs);
        top.rows.iter().enumerate().for_each(|(i, &row)| reach[row as usize] += 1.0 / (1 + i) as f32);
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
    CoOccurrence { lists, reach }
}

fn add_pairs(top: &[u32], pairs: &mut Vec<(u32, u32, f32)>) {
    for (i, &a) in top.iter().enumerate() {
        for (j, &b) in top.iter().enumerate() {
            if a != b {
                pairs.push((a, b, 1.0 / ((1 + i) * (1 + j)) as f32));
            }
        }
    }
}

/// Holds what a query makes of all rows.
#[derive(Clone, Debug, Default)]
pub struct Tops {
    /// The best rows, best first.
    pub rows: Vec<u32>,
    /// ln Z.
    pub log_z: f32,
}

/// The best rows of each query.
pub fn top_rows(layer: &QuantisedRows, queries: &Matrix, count: usize) -> Vec<Tops> {
    const ROWS: usize = 8192;
    let queries = linear::with_ones(queries);
    let cols = queries.cols();
    let mut best: Vec<(Vec<(u32, f32)>, f32)> = vec![(Vec::new(), f32::NEG_INFINITY); queries.rows()];
    for first in (0..layer.len()).step_by(ROWS) {
        let taken = ROWS.min(layer.len() - first);
        let rows = layer.augmented(first, taken);
        best.par_chunks_mut(BLOCK).zip(queries.data().par_chunks(BLOCK * cols)).for_each(|(best, block)| {
            let scores = linear::times_transposed(block, &rows, cols);
            for ((best, log_z), scores) in best.iter_mut().zip(scores.chunks_exact(taken)) {
                *log_z = linear::log_sum_exp(&[*log_z, linear::log_sum_exp(scores)]);
                best.extend(largest(scores, count).into_iter().map(|at| (at + first as u32, scores[at as usize])));
                // Stable, so that equal scores stay in the order of the rows.
                best.sort_by(|a, b| b.1.total_cmp(&a.1));
                best.truncate(count);
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

/// Rows that are looked at for each query.
pub const LOOKED_AT: usize = 16;

/// Links that are laid anew.
pub struct MissedLinks<'a> {
    probes: &'a [LinkProbe<'a>],
    /// The queries of each that still miss something.
    open: Vec<Vec<u32>>,
    /// The row of each class.
    row_of: &'a [u32],
    /// The share of Z from which on a row is worth a link.
    worth: f32,
    /// The places at which the links of each row begin, and how many there are.
    places: Vec<Option<u32>>,
    per_row: usize,
    /// The shares of Z that each link has found, summed.
    use_of: Vec<f32>,
}

/// A link that is wished for: between rows, and the sum of the shares of Z that it would find.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wish {
    from: u32,
    to: u32,
    worth: f32,
}

impl<'a> MissedLinks<'a> {
    /// For the links as they are now.
    pub fn new(links: &Links, probes: &'a [LinkProbe<'a>], row_of: &'a [u32], worth: f32) -> Self {
        Self {
            probes,
            open: probes.iter().map(|probe| (0..probe.queries.rows() as u32).collect()).collect(),
            row_of,
            worth,
            places: links.places(),
            per_row: links.per_row(),
            use_of: vec![0.0; links.list.len()],
        }
    }

    /// Lays links from the row at this place among the best that a search within the budget finds. The first time it also counts
    /// what the links find that are there.
    pub fn lay(
        &mut self,
        model: &Model<'_>,
        links: &mut Links,
        budget: &Budget,
        place: usize,
    ) -> Result<(), BuildError> {
        let mut wishes = Vec::new();
        for (probe, open) in self.probes.iter().zip(&mut self.open) {
            // The first time all are asked.
            let some = (place > 0).then(|| probe.queries.reordered(open));
            let near = measure::found::<LOOKED_AT>(model, some.as_ref().unwrap_or(probe.queries), budget)?;
            let mut still_open = Vec::new();
            for (&query, near) in open.iter().zip(&near) {
                let far = &probe.far[query as usize];
                if place == 0 {
                    let expanded = near.best.iter().take(budget.expand as usize);
                    for start in expanded.filter_map(|from| self.places[self.row_of[from.class as usize] as usize]) {
                        let own = start as usize..start as usize + self.per_row;
                        let (links, use_of) = (&links.list[own.clone()], &mut self.use_of[own]);
                        count_use(links, near, far.log_z, probe.weight, self.row_of, use_of);
                    }
                }
                let before = wishes.len();
                let wish = Wishing { weight: probe.weight, place, row_of: self.row_of, worth: self.worth };
                wish.of(near, far, &mut wishes);
                still_open.extend((wishes.len() > before).then_some(query));
            }
            *open = still_open;
        }
        for wishes in summed(wishes).chunk_by_mut(|a, b| a.from == b.from) {
            let Some(start) = self.places[wishes[0].from as usize] else { continue };
            let own = start as usize..start as usize + self.per_row;
            grant(wishes, &mut links.list[own.clone()], &mut self.use_of[own]);
        }
        Ok(())
    }
}

/// Adds up what each link of a row has found, were it not found otherwise.
fn count_use(links: &[u32], near: &Found<LOOKED_AT>, log_z: f32, weight: f32, row_of: &[u32], use_of: &mut [f32]) {
    for found in &near.best {
        let row = row_of[found.class as usize];
        if let Some(at) = links.iter().position(|&link| link == row) {
            use_of[at] += weight * (found.score.to_nats() - log_z).exp();
        }
    }
}

/// Puts what is wished for most in the place of what found least.
fn grant(wishes: &mut [Wish], links: &mut [u32], use_of: &mut [f32]) {
    wishes.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    for wish in wishes.iter().filter(|wish| wish.from != wish.to) {
        // Of equals the last: links are in the order of what they are worth.
        let least = (0..use_of.len()).min_by(|&a, &b| use_of[a].total_cmp(&use_of[b]).then(b.cmp(&a)));
        let Some(at) = least.filter(|&at| use_of[at] < wish.worth) else { break };
        if !links.contains(&wish.to) {
            (links[at], use_of[at]) = (wish.to, wish.worth);
        }
    }
}

/// One wish for each link.
fn summed(mut wishes: Vec<Wish>) -> Vec<Wish> {
    // Stable: sums do not depend on anything but the order of the queries.
    wishes.sort_by_key(|wish| (wish.from, wish.to));
    wishes.dedup_by(|next, first| {
        let same = (next.from, next.to) == (first.from, first.to);
        first.worth += if same { next.worth } else { 0.0 };
        same
    });
    wishes
}

/// How queries wish for links.
struct Wishing<'a> {
    weight: f32,
    /// From which of the best rows.
    place: usize,
    row_of: &'a [u32],
    worth: f32,
}

impl Wishing<'_> {
    /// Adds what one query wishes for.
    fn of(&self, near: &Found<LOOKED_AT>, far: &Found<LOOKED_AT>, wishes: &mut Vec<Wish>) {
        let Some(from) = near.best.get(self.place) else { return };
        // What is worse than the last of a full list may have been found.
        let last = near.best.last().filter(|_| near.best.is_full()).map_or(Log2::MIN, |last| last.score);
        for candidate in far.best.iter().filter(|candidate| candidate.score > last) {
            let share = (candidate.score.to_nats() - far.log_z).exp();
            if share >= self.worth && near.best.iter().all(|found| found.class != candidate.class) {
                let (from, to) = (self.row_of[from.class as usize], self.row_of[candidate.class as usize]);
                wishes.push(Wish { from, to, worth: self.weight * share });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wished_for_most_takes_the_place_of_what_found_least() {
        let wish = |to: u32, worth: f32| Wish { from: 9, to, worth };
        let (mut links, mut use_of) = ([1, 2, 3, 4], [0.5, 0.0, 0.1, 0.0]);
        let mut wishes =
            summed(vec![wish(7, 0.04), wish(6, 0.05), wish(9, 3.0), wish(7, 0.04), wish(8, 0.06), wish(2, 0.2)]);
        assert_eq!(wishes.len(), 5, "one for each link");
        grant(&mut wishes, &mut links, &mut use_of);
        // 2 is there already, 9 is the row itself, and 8 finds less than any link that is left.
        assert_eq!(links, [1, 8, 3, 7]);
        assert_eq!(use_of, [0.5, 0.06, 0.1, 0.08]);
    }
}
