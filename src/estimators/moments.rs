//! Moments: the rows that the search scored, and every unopened node by its prediction. The default.
//!
//! Ẑ = Σ_near 2^s + α·Σ_far 2^L, with L the node's predicted log-mass (see [`tree`](crate::tree)) and α the factor
//! that the builder fitted. A node some of whose rows were reached by links adds only the share of the others.
//! Costs what the budget says, and one exponential for each row scored and each node left.

use super::top::Top;
use crate::format::Model;
use crate::math::{Log2, LogSum};
use crate::rows::Query;
pub(crate) use crate::search::Found;
use crate::search::{Budget, Buffers, Work, best_first};
use crate::tree::Tree;

/// Near field and far field of one query.
pub(crate) struct Fields {
    pub near: LogSum,
    pub far: LogSum,
    pub work: Work,
    /// Unopened nodes at the end.
    pub unopened: usize,
}

pub(crate) fn fields(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    budget: &Budget,
    far_factor: Log2,
    buffers: Buffers<'_>,
    top: &mut Top<'_>,
) -> Fields {
    let found = best_first(model, tree, query, budget, buffers, top);
    let far = far_field(tree, &found, far_factor);
    Fields { near: found.near, far, work: found.work, unopened: found.frontier.len() }
}

/// Σ over the unopened nodes.
fn far_field(tree: &Tree<'_>, found: &Found<'_>, factor: Log2) -> LogSum {
    let mut far = LogSum::new();
    for unopened in found.frontier.iter() {
        let span = tree.span(unopened.node as usize);
        let seen = found.seen.count(span.first_row, span.rows);
        let mass = tree.mass_of(unopened.priority, unopened.node as usize).saturating_add(factor);
        if seen == 0 {
            far.add(mass);
        } else {
            far.add_part(mass, span.rows.saturating_sub(seen) as u32, span.rows as u32);
        }
    }
    far.add_sum(&found.overflow);
    far
}
