//! Uniform: a plain random sample of the rows.

use rand_core::Rng;

use super::{Estimate, tail};
use crate::Error;
use crate::model::Model;
use crate::rows::Query;
use crate::search::Work;

/// Uniform: Z from `samples` rows drawn without replacement; exact from N on, empty with none.
///
/// ```text
/// Ẑ = N/l · Σ_j exp(u_j)        over l rows drawn without replacement
/// ```
///
/// *Source:* the baseline of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015): its MIMPS with k = 0. The
/// paper does not say whether a row may be drawn twice; here it may not. Unbiased; its standard error is
/// s/(x̄·√l)·√(1 − l/N) with s the sample's standard deviation and x̄ its mean: the last factor is the finite-population
/// correction.
///
/// *Costs* l rows and N bits of memory, so that no row is drawn twice and l = N is exact; for instructions see the table of
/// [`estimators`](super).
///
/// *Use it* to see what an index is worth. Where a few classes hold most of Z, a sample nearly always misses them, and with
/// them both Z and its error.
///
/// `marks` has [`seen_words`](crate::seen_words) words for the model's classes.
///
/// ```
/// # fn main() -> Result<(), zhat::Error> {
/// # let bytes = zhat::doc_example();
/// use rand_pcg::Pcg32;
/// use zhat::{Model, QueryBuffer, estimators::uniform, seen_words};
///
/// let model = Model::from_bytes(&bytes)?;
/// let query = QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// let mut marks = [0; seen_words(4)];
/// let estimate = uniform(&model, &query, 3, &mut Pcg32::new(1, 1), &mut marks)?;
/// assert_eq!(estimate.work.rows, 3);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::MarkWords`] if `marks` is too short.
pub fn uniform(
    model: &Model<'_>,
    query: &Query,
    samples: usize,
    rng: &mut impl Rng,
    marks: &mut [u32],
) -> Result<Estimate, Error> {
    let tail = tail::sample(model, query, samples, &[], rng, marks)?;
    let work = Work::of(tail.rows, 0, model.rows().row_bytes());
    Ok(Estimate { z: tail.sum, work, standard_error: tail.error, iterations: 0 })
}
