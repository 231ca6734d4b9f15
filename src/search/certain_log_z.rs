//! An interval that holds the exact Z for certain.
//!
//! The rows that the search scored are exact; every unopened node adds what [`Bounds`](crate::tree::Bounds) say of it.
//! On small radii it is useful, on large ones it is honest and wide.

use heapless::Vec;

use super::{Buffers, Candidate, SearchResult, Top, best_first};
use crate::math::{Log2, LogSum};
use crate::model::{Budget, Model};
use crate::rows::Query;
use crate::tree::Tree;

/// ln of what Z is at least and at most, from a search within the budget.
pub(crate) fn certain_log_z(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    budget: &Budget,
    buffers: Buffers<'_>,
) -> (f32, f32) {
    // An empty list instead of none at all: the search is then the classifier's, and not compiled once more.
    let mut none = Vec::<Candidate, 0>::new();
    let found = best_first(model, tree, query, budget, buffers, Top::new(&mut none));
    interval(tree, query, &found)
}

/// The same where Z is known, but for the rounding of its sum.
pub(crate) fn certain_around(z: &LogSum) -> (f32, f32) {
    (edge(z, -1.0), edge(z, 1.0))
}

fn interval(tree: &Tree<'_>, query: &Query, found: &SearchResult<'_>) -> (f32, f32) {
    let (mut low, mut high) = (found.near, found.near);
    for unopened in found.frontier.iter() {
        let node = unopened.node;
        let span = tree.span(node);
        let mass = tree.mass_of(unopened.priority, node);
        let score = tree.score_of(mass, node, &found.spread);
        let (least, most) = tree.bounds(node).log_mass(score, query);
        high.add(above(most));
        // A row that a link reached is in the near field already: the node's own least is then not certain.
        if found.seen.count(span.first_row, span.rows) == 0 {
            low.add(Log2::from_nats(least));
        }
    }
    (edge(&low, -1.0), edge(&high, 1.0))
}

/// The fixed-point value at or above.
fn above(nats: f32) -> Log2 {
    Log2::from_nats(nats).saturating_add(Log2::from_bits(1))
}

/// The logarithm of a sum, moved by what its rounding may have cost.
fn edge(sum: &LogSum, side: f32) -> f32 {
    let log = sum.ln();
    log + side * (1e-5 + log.abs() * 1e-6)
}
