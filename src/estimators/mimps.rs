//! MIMPS: the head exactly, the rest by uniform samples.

use rand_core::Rng;

use super::{Estimate, Head, tail};
use crate::Error;
use crate::model::Model;
use crate::rows::Query;

/// MIMPS: Z from a head, exactly, and `samples` rows outside it.
///
/// ```text
/// Ẑ = Σ_{i ∈ S_k(q)} exp(u_i) + (N−k)/l · Σ_j exp(u_j)        over l rows outside S_k, drawn without replacement
/// ```
///
/// *Source:* MIPS-based sampling of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section 4.1, their best
/// estimator. It departs from the paper in nothing but that no row is drawn twice; the standard error is an addition. Given the head it is unbiased, whatever rows the index put there: a bad head raises the variance only. The standard error is that
/// of the samples, with the finite-population correction, times the tail's share of Ẑ. Exact when k = N, and when l ≥ N − k.
///
/// *Costs* the retrieval and l rows, and N bits of memory; for instructions see the table of [`estimators`](super).
///
/// *Use it* where there is an index but no far field to trust, or to compare with the paper. A top row that the index missed is
/// in no sample either, mostly, and the standard error does not see it.
///
/// `marks` has [`seen_words`](crate::seen_words) words for the model's classes; it may be the memory of the search that
/// found the head. With no samples it is [`nmimps`](super::nmimps), with an empty head [`uniform`](super::uniform).
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use rand_pcg::Pcg32;
/// use zhat::Budget;
/// use zhat::estimators::{HeadBuffer, mimps, retrieve};
///
/// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
/// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
/// let estimate = mimps(&model, &query, 40, &head, &mut Pcg32::new(1, 1), &mut scratch)?;
/// assert!(estimate.work.row_equivalents() <= 100);
/// # Ok::<(), zhat::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::MarkWords`] if `marks` is too short.
pub fn mimps(
    model: &Model<'_>,
    query: &Query,
    samples: usize,
    head: &Head<'_>,
    rng: &mut impl Rng,
    marks: &mut [u32],
) -> Result<Estimate, Error> {
    let tail = tail::sample(model, query, samples, head.rows(), rng, marks)?;
    let mut z = head.sum();
    z.add_sum(&tail.sum);
    let standard_error = tail.error.map(|error| error * z.share_of_sum(&tail.sum));
    let work = head.work().and_rows(tail.rows, model.rows().row_bytes());
    Ok(Estimate { z, work, standard_error, iterations: 0 })
}
