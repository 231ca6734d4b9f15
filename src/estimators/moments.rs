//! Moments: the rows that the search scored, and every unopened node by its prediction. The default.
//!
//! Ẑ = Σ_near 2^s + α·Σ_far 2^L, with L the node's predicted log-mass (see [`tree`](crate::tree)) and α the factor
//! that the builder fitted. Rows that links reached in a node that was not opened count twice, once in its prediction: on
//! average α makes up for it. (Taking them off node by node would lower errors by up to 1.5 % of themselves and cost a tenth of
//! all instructions.) Costs what the budget says, and one exponential for each row scored and each node left.

use super::{Estimate, z_of_zero_query};
use crate::Error;
use crate::math::{Log2, LogSum};
use crate::model::{Budget, Model};
use crate::rows::Query;
pub(crate) use crate::search::SearchResult;
use crate::search::{Buffers, Offer, SumsOnly, Work, best_first, priority_of};
use crate::tree::Tree;

/// Moments, the default: Z from the rows that a search within the budget scores and the predictions of the nodes that it leaves.
///
/// ```text
/// Ẑ = Σ_near exp(u) + α·Σ_far exp(L)        L = ln n + m + σ²/2         where σ² ≤ 2 ln n
///                                               m + σ·sqrt(2 ln n)      where σ² > 2 ln n
/// ```
///
/// L is the predicted log-mass of an unopened node, from the first two moments of its n rows' scores, and α a factor that the
/// builder fits. *Source:* the second-order cumulant expansion of ln Σ exp, and where it freezes in the random energy model
/// (Derrida, 1981); [`guide::how_it_works`](crate::guide::how_it_works) derives it.
///
/// *Costs* the budget, and one exponential for each row scored and each node left: at most `15 000 + N/2 + cap·(1.1·d + 180)`
/// instructions on a Cortex-M4; see the table of [`estimators`](super).
///
/// *Use it* wherever there is an index. [`Classifier`](crate::Classifier) gives the same Ẑ with the top classes and an interval;
/// this is the bare estimate, without a standard error.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::Budget;
/// use zhat::estimators::moments;
///
/// let estimate = moments(&model, &query, &Budget::new(100), &mut [0; 200])?;
/// assert!(estimate.work.row_equivalents() <= 100);
/// # Ok::<(), zhat::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::NoIndex`] without a tree, [`Error::Budget`] if the
/// cap is not enough for a class, and [`Error::ScratchWords`] if the memory is not.
pub fn moments(model: &Model<'_>, query: &Query, budget: &Budget, scratch: &mut [u32]) -> Result<Estimate, Error> {
    query.check(model)?;
    let tree = model.tree().ok_or(Error::NoIndex)?;
    budget.check(tree.least_cap())?;
    let buffers = Buffers::new(scratch, model, tree)?;
    let fields = fields(model, tree, query, budget, far_factor(model), buffers, &mut SumsOnly);
    if let Some(z) = model.settings().and_then(|settings| z_of_zero_query(query, settings)) {
        return Ok(Estimate::exact(z, fields.work));
    }
    let mut z = fields.near;
    z.add_sum(&fields.far);
    Ok(if fields.far.is_zero() { Estimate::exact(z, fields.work) } else { Estimate::plain(z, fields.work) })
}

/// α as the file has it, or one.
pub(super) fn far_factor(model: &Model<'_>) -> Log2 {
    model.settings().map_or(Log2::from_bits(0), |settings| settings.far_factor)
}

/// Near field and far field of one query.
pub(crate) struct NearAndFar {
    pub near: LogSum,
    pub far: LogSum,
    pub work: Work,
    /// Words of the frontier, and whether they were too few.
    pub frontier_words: usize,
    pub overflowed: bool,
}

pub(crate) fn fields(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    budget: &Budget,
    far_factor: Log2,
    buffers: Buffers<'_>,
    top: &mut impl Offer,
) -> NearAndFar {
    let found = best_first(model, tree, query, budget, buffers, top);
    let far = far_field(tree, &found, far_factor);
    let (frontier_words, overflowed) = (found.frontier.words_needed(), found.overflowed);
    NearAndFar { near: found.near, far, work: found.work, frontier_words, overflowed }
}

/// Σ over the unopened nodes, times a factor.
pub(super) fn far_field(tree: &Tree<'_>, found: &SearchResult<'_>, factor: Log2) -> LogSum {
    let mut far = LogSum::new();
    for (first, words) in found.frontier.families() {
        // A node that was opened has a mass of next to nothing here, since its priority is gone.
        far.add_few(tree.masses_of(first, words.iter().map(|&word| priority_of(word))));
    }
    if far.is_dust() { LogSum::new() } else { far.times(factor) }
}
