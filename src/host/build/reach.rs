//! Links to what a search misses.
//!
//! Links between neighbours mostly lead to rows that the tree finds anyway. So queries are asked twice, within the budget and far
//! beyond it: what only the second search finds is linked from the best rows that the first one finds, in the place of the link
//! there that found least.

use super::asking::Asking;
use super::links::Links;
use crate::host::BuildError;
use crate::host::measure::{self, Found};
use crate::math::Log2;
use crate::model::{Budget, Model};

/// Rows that are looked at for each query.
pub const LOOKED_AT: usize = 16;
/// The share of Z from which on a row is worth a link.
const WORTH: f32 = 0.002;
/// Best rows that get links, one after the other: where the first one has no place left, the second may.
pub const PLACES: usize = 3;

/// Links that are laid anew.
pub struct Reach<'a> {
    asking: &'a [Asking<'a>],
    /// The queries of each that still miss something.
    open: Vec<Vec<u32>>,
    /// The row of each class.
    row_of: &'a [u32],
    /// Where the links of each row begin, and how many there are.
    places: Vec<Option<u32>>,
    per_row: usize,
    /// What each link has found: the sum of shares of Z.
    use_of: Vec<f32>,
}

/// A link that is wished for: between rows, and the sum of the shares of Z that it would find.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wish {
    from: u32,
    to: u32,
    worth: f32,
}

impl<'a> Reach<'a> {
    /// For the links as they are now.
    pub fn new(links: &Links, asking: &'a [Asking<'a>], row_of: &'a [u32]) -> Self {
        Self {
            asking,
            open: asking.iter().map(|asking| (0..asking.queries.rows() as u32).collect()).collect(),
            row_of,
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
        for (asking, open) in self.asking.iter().zip(&mut self.open) {
            // The first time all are asked.
            let some = (place > 0).then(|| asking.queries.reordered(open));
            let near = measure::found::<LOOKED_AT>(model, some.as_ref().unwrap_or(asking.queries), budget)?;
            let mut still_open = Vec::new();
            for (&query, near) in open.iter().zip(&near) {
                let far = &asking.far[query as usize];
                if place == 0 {
                    let expanded = near.best.iter().take(budget.expand as usize);
                    for start in expanded.filter_map(|from| self.places[self.row_of[from.class as usize] as usize]) {
                        let own = start as usize..start as usize + self.per_row;
                        let (links, use_of) = (&links.list[own.clone()], &mut self.use_of[own]);
                        count_use(links, near, far.log_z, asking.weight, self.row_of, use_of);
                    }
                }
                let before = wishes.len();
                wish(near, far, asking.weight, place, self.row_of, &mut wishes);
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

/// What one query wishes for.
fn wish(
    near: &Found<LOOKED_AT>,
    far: &Found<LOOKED_AT>,
    weight: f32,
    place: usize,
    row_of: &[u32],
    wishes: &mut Vec<Wish>,
) {
    let Some(from) = near.best.get(place) else { return };
    // What is worse than the last of a full list may have been found.
    let last = near.best.last().filter(|_| near.best.is_full()).map_or(Log2::MIN, |last| last.score);
    for candidate in far.best.iter().filter(|candidate| candidate.score > last) {
        let share = (candidate.score.to_nats() - far.log_z).exp();
        if share >= WORTH && near.best.iter().all(|found| found.class != candidate.class) {
            let (from, to) = (row_of[from.class as usize], row_of[candidate.class as usize]);
            wishes.push(Wish { from, to, worth: weight * share });
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
