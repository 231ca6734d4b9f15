//! Moments: the rows that the search scored, and every unopened node by its prediction. The default.
//!
//! Ẑ = Σ_near 2^s + α·Σ_far 2^L, with L the node's predicted log-mass (see [`tree`](crate::tree)) and α the factor
//! that the builder fitted. Rows that links reached in a node that was not opened count twice, once in its prediction:
//! on average α makes up for it. (Taking them off node by node would lower errors by up to 1.5 % of themselves and cost
//! a tenth of all instructions.) Costs what the budget says, and one exponential for each row scored and each node
//! left.

use rand_core::Rng;

use super::sampling::Deviation;
use super::{Estimate, sampling};
use crate::Error;
use crate::hint::keep_small;
use crate::math::{Log2, LogSum};
use crate::model::{Budget, Model, Settings};
use crate::rows::Query;
use crate::search::{Buffers, Counts, FAMILY, Offer, SumsOnly, Unopened, Work, best_first, priority_of};
use crate::tree::{Span, Tree};

pub(crate) use crate::search::SearchResult;

/// Moments, the default: Z from the rows that a search within the budget scores and the predictions of the nodes that
/// it leaves.
///
/// ```text
/// Ẑ = Σ_near exp(u) + α·Σ_far exp(L)        L = ln n + m + σ²/2         where σ² ≤ 2 ln n
///                                               m + σ·sqrt(2 ln n)      where σ² > 2 ln n
/// ```
///
/// L is the predicted log-mass of an unopened node, from the first two moments of its n rows' scores, and α a factor
/// that the builder fits. *Source:* the second-order cumulant expansion of ln Σ exp, and where it freezes in the random
/// energy model (Derrida, 1981); [`guide::how_it_works`](crate::guide::how_it_works) derives it.
///
/// *Costs* the budget, and one exponential for each row scored and each node left; see [`Budget::most_instructions`] and the table
/// of [`estimators`](super).
///
/// *Use it* wherever there is an index. [`Classifier`](crate::Classifier) gives the same Ẑ with the top classes and an
/// interval; this is the bare estimate, without a standard error.
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
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::NoIndex`] without a tree, [`Error::Budget`] if
/// the cap is not enough for a class, and [`Error::ScratchWords`] if the memory is not.
pub fn moments(model: &Model<'_>, query: &Query, budget: &Budget, scratch: &mut [u32]) -> Result<Estimate, Error> {
    query.check(model)?;
    let tree = model.tree().ok_or(Error::NoIndex)?;
    budget.check(tree.least_cap())?;
    let buffers = Buffers::new(scratch, model, tree)?;
    let fields = fields(model, tree, query, budget, far_factor(model), buffers, SumsOnly);
    if let Some(z) = model.settings().and_then(|settings| z_of_zero_query(query, settings)) {
        return Ok(Estimate::exact(z, fields.work));
    }
    let mut z = fields.near;
    z.add_sum(&fields.far);
    Ok(if fields.far.is_zero() { Estimate::exact(z, fields.work) } else { Estimate::plain(z, fields.work) })
}

/// Returns α as the file has it, or one.
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
    /// What was done, for a host.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "looked at on a host only"))]
    pub counts: Counts,
}

pub(crate) fn fields(
    model: &Model<'_>,
    tree: &Tree<'_>,
    query: &Query,
    budget: &Budget,
    far_factor: Log2,
    buffers: Buffers<'_>,
    top: impl Offer,
) -> NearAndFar {
    NearAndFar::of(tree, &best_first(model, tree, query, budget, buffers, top), far_factor)
}

impl NearAndFar {
    /// What a search left.
    #[inline(always)]
    pub fn of(tree: &Tree<'_>, found: &SearchResult<'_>, far_factor: Log2) -> Self {
        Self {
            near: found.near,
            far: far_field(tree, found, far_factor),
            work: found.work,
            frontier_words: found.frontier.words_needed(),
            overflowed: found.overflowed,
            counts: found.counts,
        }
    }
}

/// Sums the predictions of the unopened nodes, times a factor.
pub(super) fn far_field(tree: &Tree<'_>, found: &SearchResult<'_>, factor: Log2) -> LogSum {
    let mut far = LogSum::new();
    let mut masses = [0; FAMILY];
    for (first, words) in found.frontier.families() {
        // A node that was opened has a mass of next to nothing here, since its priority is gone.
        let of_node = tree.masses_of(first, words.iter().map(|&word| priority_of(word)));
        for (place, mass) in masses.iter_mut().zip(of_node) {
            keep_small();
            *place = mass.to_bits();
        }
        far.add_all(masses.get(..words.len()).unwrap_or(&[]));
    }
    if far.is_dust() { LogSum::new() } else { far.times(factor) }
}

// A query of zeros: its scores are the biases, and the file says what they add up to.

/// Returns Z of a query of zeros, which no prediction and no sample has to guess; `None` for any other query.
#[inline]
pub(crate) fn z_of_zero_query(query: &Query, settings: &Settings) -> Option<LogSum> {
    if query.norm() > 0.0 {
        return None;
    }
    let mut z = LogSum::new();
    z.add(settings.log_z_of_zero);
    Some(z)
}

// Moments + samples: the far field's predictions say where to look, samples say what is there.

/// Moments + samples: Z from a search and `samples` rows that correct its far field, all within the budget.
///
/// After the search, rows are drawn from the unopened nodes, row i with probability r_i/R, and weighted by what they
/// turn out to hold:
///
/// ```text
/// Ẑ = Σ_near exp(u) + 1/l · Σ_j exp(u_j) · R/r_j        R = Σ r over the unscored rows
/// ```
///
/// *Source:* importance sampling (Kahn and Marshall, 1953), unbiased whatever the r are. Rows of a node have the same
/// r. The variance is least if a node's rows together have ½·ln(n·Σ exp(2u)) (Neyman's allocation), which the node's
/// moments predict as they do its mass: ln n + m + σ², with a freezing point of its own. That costs nothing and is 5 to
/// 20 % better than drawing in proportion to the masses, where the scores inside nodes spread.
///
/// The draws are stratified: the j-th one falls into the j-th of l equal parts of R, with the rows laid out in the
/// order of the frontier and, inside a node, of the file. Each row still has its r/R on average, so the estimate stays
/// unbiased, and the variance is never above that of independent draws. Rows that links reached are not in R, so none
/// is wasted on them. The r are whole numbers of at least one, so that a node predicted at nothing can be drawn as
/// well, and the probabilities are exact.
///
/// The standard error is that of neighbouring strata's differences, which errs on the safe side on average. But the
/// weights have a long tail, and a heavy row that was not met is not in the error either: two standard errors hold Z
/// for 80 to 90 % of the queries of a flat layer, and for half of those of a confident one.
///
/// *Costs* the budget, samples included; for instructions see the table of [`estimators`](super).
///
/// *Use it* where an unbiased Z or an error without calibration is wanted. On the same index and budget (a language
/// model's 10 000 rows, 4 % of them, a quarter of that as samples) its mean error is 6 %, that of
/// [`mimps`](super::mimps) 13 %, and that of [`moments`](super::moments()) 2 %: predictions of whole nodes err less
/// than samples of their rows vary.
///
/// With no samples it is [`moments`](super::moments()). If no more rows than `samples` are left unscored, they are all
/// scored and Z is exact.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use rand_pcg::Pcg32;
/// use zhat::Budget;
/// use zhat::estimators::moments_with_samples;
///
/// let mut rng = Pcg32::new(1, 1);
/// let estimate = moments_with_samples(&model, &query, &Budget::new(100), 40, &mut [0; 200], &mut rng)?;
/// assert!(estimate.standard_error.is_some());
/// # Ok::<(), zhat::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::NoIndex`] without a tree, [`Error::Budget`] if
/// the cap is not enough for a class and the samples, and [`Error::ScratchWords`] if the memory is not.
pub fn moments_with_samples(
    model: &Model<'_>,
    query: &Query,
    budget: &Budget,
    samples: usize,
    scratch: &mut [u32],
    rng: &mut impl Rng,
) -> Result<Estimate, Error> {
    query.check(model)?;
    let tree = model.tree().ok_or(Error::NoIndex)?;
    let samples = samples.min(model.classes());
    budget.check(tree.least_cap().saturating_add(samples))?;
    let search = Budget { cap: budget.cap - samples as u32, ..*budget };
    let buffers = Buffers::new(scratch, model, tree)?;
    let found = best_first(model, tree, query, &search, buffers, SumsOnly);
    if let Some(z) = model.settings().and_then(|settings| z_of_zero_query(query, settings)) {
        return Ok(Estimate::exact(z, found.work));
    }
    let left = model.classes().saturating_sub(found.work.rows as usize);
    if left <= samples {
        return Ok(the_rest(model, query, &found));
    }
    if samples == 0 {
        let mut z = found.near;
        z.add_sum(&far_field(tree, &found, far_factor(model)));
        return Ok(Estimate::plain(z, found.work));
    }
    Ok(Proposal::new(tree, &found, samples).estimate(model, query, &found, rng))
}

/// Scores every row that the search left, so that the sum is exact.
fn the_rest(model: &Model<'_>, query: &Query, found: &SearchResult<'_>) -> Estimate {
    let mut z = found.near;
    let mut rows = 0;
    for row in (0..model.classes()).filter(|&row| !found.seen.contains(row)) {
        z.add(model.rows().score(row, query));
        rows += 1;
    }
    Estimate::exact(z, found.work.and_rows(rows, model.rows().row_bytes()))
}

/// The r of the rows.
struct Proposal<'t, 'm> {
    tree: &'t Tree<'m>,
    /// What a row's share is counted from: the largest node has 2^[`RESOLUTION`].
    largest: Log2,
    /// The width of a stratum: the sum of all rows' shares over the number of samples, rounded up.
    width: u64,
    samples: u64,
}

/// With 2^16 nodes of this size and 2^32 rows of one the sum still fits.
const RESOLUTION: i32 = 40;

impl<'t, 'm> Proposal<'t, 'm> {
    fn new(tree: &'t Tree<'m>, found: &SearchResult<'_>, samples: usize) -> Self {
        let masses = found.frontier.iter().map(|unopened| sampling_mass(tree, found, unopened));
        let largest = masses.max().unwrap_or(Log2::MIN);
        let mut proposal = Self { tree, largest, width: 0, samples: samples as u64 };
        let mut total = 0u64;
        for unopened in found.frontier.iter() {
            let (_, unseen, share) = proposal.node(found, unopened);
            total = total.saturating_add(share.saturating_mul(unseen));
        }
        proposal.width = total.div_ceil(proposal.samples.max(1));
        proposal
    }

    /// Returns a node's span, its unscored rows, and the share of each of them.
    fn node(&self, found: &SearchResult<'_>, unopened: Unopened) -> (Span, u64, u64) {
        let span = self.tree.span(unopened.node);
        let unseen = span.rows.saturating_sub(found.seen.count(span.first_row, span.rows)) as u64;
        let mass = sampling_mass(self.tree, found, unopened);
        let row = mass.saturating_sub(self.largest).saturating_sub(Log2::of(span.rows as u64));
        let share = row.saturating_add(Log2::from_bits(RESOLUTION << Log2::FRACTION_BITS)).exp2() as u64;
        (span, unseen, share.max(1))
    }

    fn estimate(&self, model: &Model<'_>, query: &Query, found: &SearchResult<'_>, rng: &mut impl Rng) -> Estimate {
        let mut sum = LogSum::new();
        let mut deviation = Deviation::new();
        let mut rows = 0;
        let width = Log2::of(self.width);
        let mut place = sampling::below(rng, self.width);
        let mut start = 0u64;
        let mut drawn = 0;
        for unopened in found.frontier.iter() {
            let (span, unseen, share) = self.node(found, unopened);
            let end = start.saturating_add(share.saturating_mul(unseen));
            while place < end && drawn < self.samples {
                let rank = (place - start).checked_div(share).unwrap_or(0);
                if let Some(row) = found.seen.nth_unseen(span.first_row, span.rows, rank as usize) {
                    // R/r over l is width/share: no division by l is left.
                    let weight = width.saturating_sub(Log2::of(share));
                    let term = model.rows().score(row, query).saturating_add(weight);
                    sum.add(term);
                    deviation.add(term);
                    rows += 1;
                }
                drawn += 1;
                place = drawn.saturating_mul(self.width).saturating_add(sampling::below(rng, self.width));
            }
            start = end;
        }
        // Rounding the width up leaves a sliver at the end where there is no row.
        for _ in drawn..self.samples {
            deviation.add_zero();
        }
        let mut z = found.near;
        z.add_sum(&sum);
        let error = deviation.of_strata().map(|error| error * z.share_of_sum(&sum));
        Estimate { z, work: found.work.and_rows(rows, model.rows().row_bytes()), standard_error: error, iterations: 0 }
    }
}

/// Returns how many of the samples the rows of a node should have, together.
fn sampling_mass(tree: &Tree<'_>, found: &SearchResult<'_>, unopened: Unopened) -> Log2 {
    let node = unopened.node;
    tree.sampling_mass(node, tree.mass_of(unopened.priority, node), &found.spread)
}
