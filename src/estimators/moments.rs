//! Moments: the rows that the search scored, and every unopened node by its prediction. The default.
//!
//! Ẑ = Σ_near 2^s + α·Σ_far 2^L, with L the node's predicted log-mass (see [`tree`](crate::tree)) and α the factor
//! that the builder fitted. A node some of whose rows were reached by links adds only the share of the others.
//! Costs what the budget says, and one exponential for each row scored and each node left.

use super::Estimate;
use super::top::{Nothing, Offer};
use crate::Error;
use crate::format::Model;
use crate::math::{Log2, LogSum};
use crate::rows::Query;
pub(crate) use crate::search::Found;
use crate::search::{Budget, Buffers, Scratch, Work, best_first};
use crate::tree::Tree;

/// Z from the rows that a search within the budget scores and the predictions of the nodes that it leaves.
///
/// [`Classifier`](crate::Classifier) gives the same Ẑ with the top classes and an interval; this is the bare estimate.
///
/// # Errors
/// [`Error::NoIndex`] without a tree, [`Error::Budget`] if the cap does not reach the top of the tree, and
/// [`Error::Capacity`] if `WORDS` is too small for the model.
pub fn moments<const WORDS: usize, const NODES: usize>(
    model: &Model<'_>,
    query: &Query,
    budget: &Budget,
    scratch: &mut Scratch<WORDS, NODES>,
) -> Result<Estimate, Error> {
    let tree = model.tree().ok_or(Error::NoIndex)?;
    budget.check(tree.top())?;
    let fields = fields(model, tree, query, budget, far_factor(model), scratch.buffers_for(model)?, &mut Nothing);
    let mut z = fields.near;
    match model.settings() {
        // No prediction has to guess what the biases alone say.
        Some(settings) if query.norm() == 0.0 => {
            z = LogSum::new();
            z.add(settings.log_z_of_zero);
            return Ok(Estimate::exact(z, fields.work));
        }
        _ => z.add_sum(&fields.far),
    }
    Ok(if fields.far.is_zero() { Estimate::exact(z, fields.work) } else { Estimate::plain(z, fields.work) })
}

/// α as the file has it, or one.
pub(super) fn far_factor(model: &Model<'_>) -> Log2 {
    model.settings().map_or(Log2::from_bits(0), |settings| settings.far_factor)
}

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
    top: &mut impl Offer,
) -> Fields {
    let found = best_first(model, tree, query, budget, buffers, top);
    let far = far_field(tree, &found, far_factor);
    Fields { near: found.near, far, work: found.work, unopened: found.frontier.len() }
}

/// Σ over the unopened nodes.
pub(super) fn far_field(tree: &Tree<'_>, found: &Found<'_>, factor: Log2) -> LogSum {
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
