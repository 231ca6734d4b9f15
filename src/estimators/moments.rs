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
use crate::search::{Budget, Buffers, FAMILY, OPENED, Scratch, Work, best_first};
use crate::tree::Tree;

/// Z from the rows that a search within the budget scores and the predictions of the nodes that it leaves.
///
/// [`Classifier`](crate::Classifier) gives the same Ẑ with the top classes and an interval; this is the bare estimate.
///
/// # Errors
/// [`Error::NoIndex`] without a tree, [`Error::Budget`] if the cap does not reach the top of the tree, and
/// [`Error::Capacity`] if `WORDS` is too small for the model.
pub fn moments<const WORDS: usize, const ROOM: usize>(
    model: &Model<'_>,
    query: &Query,
    budget: &Budget,
    scratch: &mut Scratch<WORDS, ROOM>,
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
    /// Words of the frontier.
    pub room: usize,
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
    Fields { near: found.near, far, work: found.work, room: found.frontier.room() }
}

/// Σ over the unopened nodes.
pub(super) fn far_field(tree: &Tree<'_>, found: &Found<'_>, factor: Log2) -> LogSum {
    let mut far = LogSum::new();
    let mut masses = [0; FAMILY];
    for (first, priorities) in found.frontier.families() {
        // First all of them, then those are taken out of which a row was scored. (An inner node that was opened without
        // that has a mass of next to nothing here, since its priority is gone.)
        for ((mass, &priority), gain) in masses.iter_mut().zip(priorities).zip(tree.gains_from(first)) {
            *mass = Log2::from_bits(priority as i32).saturating_sub(gain).saturating_add(factor).to_bits();
        }
        let mut touched = tree.touched(first, priorities.len(), &found.seen);
        let mut len = priorities.len().min(FAMILY);
        // From the last one down, so that whatever takes its place was dealt with.
        while touched != 0 {
            let i = (u32::BITS - 1 - touched.leading_zeros()) as usize;
            touched &= !(1 << i);
            let whole = masses.get(i).copied().unwrap_or(0);
            if priorities.get(i).is_some_and(|&priority| priority as i32 != OPENED) {
                let span = tree.span(first + i);
                let seen = found.seen.count(span.first_row, span.rows);
                far.add_part(Log2::from_bits(whole), span.rows.saturating_sub(seen) as u32, span.rows as u32);
            }
            len = len.saturating_sub(1);
            let last = masses.get(len).copied().unwrap_or(0);
            if let Some(place) = masses.get_mut(i) {
                *place = last;
            }
        }
        far.add_all(masses.get(..len).unwrap_or(&[]));
    }
    far.add_sum(&found.overflow);
    far
}
