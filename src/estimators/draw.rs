//! Draws a class from the estimated distribution: for text generators and other samplers.
//!
//! One search, as for the default estimator, but instead of the best rows it keeps one row drawn in proportion to
//! exp(u): the i-th row offered takes the place with probability 2^sᵢ / Σ_{j≤i} 2^sⱼ (a reservoir of one; Chao, 1982).
//! Unopened nodes are offered the same way with their predicted masses. If a node is kept in the end, its
//! children are offered by their predictions, and so down to a leaf, whose rows are scored and drawn exactly.
//!
//! So a scored class comes with probability exp(u)/Ẑ instead of exp(u)/Z: its error is that of Ẑ and no more. A far
//! class comes with the probability that its nodes were predicted at. The draw is exact if everything was opened.
//!
//! *Costs* the budget. An eighth of it, but at most 64 row-equivalents, is reserved for the descent from an unopened
//! node to a row; where that is not enough, the last step is a uniform draw among the node's rows.

use rand_core::Rng;

use super::moments::far_factor;
use super::sampling;
use crate::Error;
use crate::math::{Log2, LogSum};
use crate::model::{Budget, Model};
use crate::rows::Query;
use crate::search::{Buffers, Offer, SearchResult, Work, best_first};
use crate::tree::{Span, Tree};

/// Returns the row-equivalents of a budget of `cap` that are reserved for the descent from an unopened node to a row:
/// at least one for the row.
fn kept_for_descent(cap: u32) -> u32 {
    (cap / 8).clamp(1, 64)
}

/// A drawn class.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use rand_pcg::Pcg32;
///
/// let classifier = zhat::Classifier::new(model)?;
/// let drawn = classifier.sample(&query, &mut [0; 74], &mut Pcg32::new(1, 1))?;
/// println!("class {}, which has p {:.3}", drawn.class, drawn.p);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Drawn {
    /// The class.
    pub class: u32,
    /// Its score.
    pub score: Log2,
    /// Its estimated probability, exp(score)/Ẑ.
    pub p: f32,
    /// The work of the search and the descent.
    pub work: Work,
}

/// A reservoir of one: the row or node that it keeps.
struct Reservoir<'r, R> {
    rng: &'r mut R,
    sum: LogSum,
    /// The row, or the node, and its score or mass.
    kept: Option<(usize, Log2)>,
}

impl<R: Rng> Reservoir<'_, R> {
    fn offer(&mut self, item: usize, mass: Log2) -> bool {
        self.sum.add(mass);
        let wins = self.sum.is_won_by(mass, self.rng.next_u64());
        if wins {
            self.kept = Some((item, mass));
        }
        wins
    }
}

impl<R: Rng> Offer for Reservoir<'_, R> {
    #[inline]
    fn offer(&mut self, _: &Model<'_>, row: usize, score: Log2) {
        Reservoir::offer(self, row, score);
    }

    // Every row takes part.
    fn threshold(&self) -> Log2 {
        Log2::MIN
    }

    fn is_list(&self) -> bool {
        false
    }
}

/// Draws a class.
pub(crate) fn draw<R: Rng>(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    budget: &Budget,
    buffers: Buffers<'_>,
    rng: &mut R,
) -> Result<Drawn, Error> {
    let least = tree.least_cap();
    // One row-equivalent more than the smallest cap, for a row of the far field.
    budget.check(least.saturating_add(1))?;
    let search = Budget { cap: (budget.cap - kept_for_descent(budget.cap)).max(least as u32), ..*budget };
    let mut reservoir = Reservoir { rng, sum: LogSum::new(), kept: None };
    let found = best_first(model, tree, query, &search, buffers, &mut reservoir);
    let mut in_node = false;
    for unopened in found.frontier.iter() {
        let node = unopened.node;
        let mass = tree.mass_of(unopened.priority, node).saturating_add(far_factor(model));
        if let Some(mass) = unseen_mass(&found, &tree.span(node), mass) {
            in_node |= reservoir.offer(node, mass);
        }
    }
    let z = reservoir.sum;
    // The reservoir is never empty: every row and node with any mass was offered, and the first offer always wins.
    let (item, score) = reservoir.kept.ok_or(Error::NoSuchClass)?;
    let mut descent = Descent {
        model,
        tree,
        query,
        left: budget.cap.saturating_sub(found.work.row_equivalents()),
        rows: 0,
        nodes: 0,
    };
    let (row, score) = if in_node { descent.run(&found, item, reservoir.rng) } else { (item, score) };
    let down = Work::of(descent.rows, descent.nodes, model.rows().row_bytes());
    let work = Work {
        rows: found.work.rows + down.rows,
        nodes: found.work.nodes + down.nodes,
        bytes: found.work.bytes.saturating_add(down.bytes),
    };
    Ok(Drawn { class: model.class_of_row(row) as u32, score, p: z.share(score), work })
}

/// Draws a class of a model without a tree: every row is offered.
pub(crate) fn draw_exact(model: &Model<'_>, query: &Query, rng: &mut impl Rng) -> Result<Drawn, Error> {
    let mut reservoir = Reservoir { rng, sum: LogSum::new(), kept: None };
    model.rows().for_each_score(0, model.classes(), query, |row, score| {
        reservoir.offer(row, score);
    });
    let (row, score) = reservoir.kept.ok_or(Error::NoSuchClass)?;
    let work = Work::of(model.classes(), 0, model.rows().row_bytes());
    Ok(Drawn { class: model.class_of_row(row) as u32, score, p: reservoir.sum.share(score), work })
}

/// Returns the part of a node's mass that belongs to its unscored rows; `None` if there are none.
fn unseen_mass(found: &SearchResult<'_>, span: &Span, mass: Log2) -> Option<Log2> {
    match span.rows.saturating_sub(found.seen.count(span.first_row, span.rows)) {
        0 => None,
        unseen if unseen == span.rows => Some(mass),
        unseen => Some(mass.saturating_add(Log2::of(unseen as u64)).saturating_sub(Log2::of(span.rows as u64))),
    }
}

/// The descent from an unopened node to a row.
struct Descent<'a, 'm> {
    model: &'a Model<'m>,
    tree: &'a Tree<'m>,
    query: &'a Query,
    left: u32,
    rows: usize,
    nodes: usize,
}

impl Descent<'_, '_> {
    fn run<R: Rng>(&mut self, found: &SearchResult<'_>, mut node: usize, rng: &mut R) -> (usize, Log2) {
        loop {
            let span = self.tree.span(node);
            let unseen = span.rows.saturating_sub(found.seen.count(span.first_row, span.rows));
            // One row-equivalent is reserved for the row of a uniform draw.
            let (cost, keep) = if span.is_leaf() { (unseen, 0) } else { (span.children, 1) };
            if (self.left as usize).saturating_sub(keep) < cost {
                return self.uniform(found, &span, unseen, rng);
            }
            self.left -= cost as u32;
            let mut reservoir = Reservoir { rng: &mut *rng, sum: LogSum::new(), kept: None };
            if span.is_leaf() {
                self.rows += cost;
                for row in
                    (span.first_row..span.first_row.saturating_add(span.rows)).filter(|&row| !found.seen.contains(row))
                {
                    reservoir.offer(row, self.model.rows().score(row, self.query));
                }
                return reservoir.kept.unwrap_or((span.first_row, Log2::MIN));
            }
            self.nodes += cost;
            self.tree.for_each_mass(span.first_child, span.children, self.query, &found.spread, |child, mass| {
                if let Some(mass) = unseen_mass(found, &self.tree.span(child), mass) {
                    reservoir.offer(child, mass);
                }
            });
            match reservoir.kept {
                // Children come after their parents, so the loop ends.
                Some((child, _)) if child > node => node = child,
                _ => return self.uniform(found, &span, unseen, rng),
            }
        }
    }

    fn uniform<R: Rng>(&mut self, found: &SearchResult<'_>, span: &Span, unseen: usize, rng: &mut R) -> (usize, Log2) {
        let rank = sampling::below(rng, unseen as u64) as usize;
        let row = found.seen.nth_unseen(span.first_row, span.rows, rank).unwrap_or(span.first_row);
        self.rows += 1;
        (row, self.model.rows().score(row, self.query))
    }
}
