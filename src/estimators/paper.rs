//! Uniform: a plain random sample of the rows.

use rand_core::Rng;

use super::{Estimate, Head, sampling};
use crate::Error;
use crate::math::{Log2, LogSum};
use crate::model::Model;
use crate::rows::Query;
use crate::search::Work;

/// Estimates Z from `samples` rows drawn without replacement (Uniform). Exact if `samples` is N or more, empty if it is
/// zero.
///
/// ```text
/// Ẑ = N/l · Σ_j exp(u_j)        over l rows drawn without replacement
/// ```
///
/// *Source:* the baseline of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015): its MIMPS with k = 0. The
/// paper does not say whether a row may be drawn twice; here it may not. Unbiased; its standard error is
/// s/(x̄·√l)·√(1 − l/N) with s the sample's standard deviation and x̄ its mean: the last factor is the
/// finite-population correction.
///
/// *Costs* l rows and N bits of memory, so that no row is drawn twice and l = N is exact; for instructions see the
/// table of [`estimators`](super).
///
/// *Use it* to measure the gain of an index. If a few classes hold most of Z, a sample nearly always misses them, and
/// then both Z and its error are too small.
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
    let tail = sampling::sample(model, query, samples, &[], rng, marks)?;
    let work = Work::of(tail.rows, 0, model.rows().row_bytes());
    Ok(Estimate { z: tail.sum, work, standard_error: tail.error, iterations: 0 })
}

// NMIMPS: the head and nothing else.

/// Estimates Z as if there were no rows outside the head (NMIMPS). Exact for a head of all rows, empty for an empty
/// one.
///
/// ```text
/// Ẑ = Σ_{i ∈ S_k(q)} exp(u_i)
/// ```
///
/// *Source:* "naive" MIPS-based sampling of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section
/// 4.1, unchanged. The rows are those that the index finds, not always the true best. The estimate is never above Z; it
/// lacks the whole tail.
///
/// *Costs* the retrieval of the head; for instructions see the table of [`estimators`](super).
///
/// *Use it* for classifiers so confident that the tail is negligible.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::Budget;
/// use zhat::estimators::{HeadBuffer, nmimps, retrieve};
///
/// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
/// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
/// assert!(nmimps(&model, &head).log_z() <= zhat::exact::<1>(&model, &query)?.log_z());
/// # Ok::<(), zhat::Error>(())
/// ```
pub fn nmimps(model: &Model<'_>, head: &Head<'_>) -> Estimate {
    let (z, work): (_, Work) = (head.sum(), head.work());
    if head.candidates().len() == model.classes() { Estimate::exact(z, work) } else { Estimate::plain(z, work) }
}

// MIMPS: the head exactly, the rest by uniform samples.

/// Estimates Z as the exact sum of a head plus a sample of `samples` rows outside it (MIMPS).
///
/// ```text
/// Ẑ = Σ_{i ∈ S_k(q)} exp(u_i) + (N−k)/l · Σ_j exp(u_j)        over l rows outside S_k, drawn without replacement
/// ```
///
/// *Source:* MIPS-based sampling of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section 4.1, their
/// best estimator. It departs from the paper only in that no row is drawn twice, and adds the standard error. Given the
/// head it is unbiased, whatever rows the index put there: a bad head only raises the variance. The standard error is
/// that of the samples, with the finite-population correction, times the tail's share of Ẑ. Exact when k = N, and when
/// l ≥ N − k.
///
/// *Costs* the retrieval and l rows, and N bits of memory; for instructions see the table of [`estimators`](super).
///
/// *Use it* if there is an index but no usable far field, or to compare with the paper. A top row that the index missed
/// is rarely in the sample either, and then the standard error does not show it.
///
/// `marks` has [`seen_words`](crate::seen_words) words for the model's classes; it may be the memory of the search that
/// found the head. Without samples this returns the estimate of [`nmimps`](super::nmimps), with an empty head that of
/// [`uniform`](super::uniform).
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
    let tail = sampling::sample(model, query, samples, head.rows(), rng, marks)?;
    let mut z = head.sum();
    z.add_sum(&tail.sum);
    let standard_error = tail.error.map(|error| error * z.share_of_sum(&tail.sum));
    let work = head.work().and_rows(tail.rows, model.rows().row_bytes());
    Ok(Estimate { z, work, standard_error, iterations: 0 })
}

// Z = 1: the assumption for a layer that was trained to normalise itself.

/// Assumes Ẑ = 1 for every query, as for a layer that was trained to normalise itself.
///
/// *Source:* Devlin et al., "Fast and Robust Neural Network Joint Models" (2014); noise-contrastive training has the
/// same effect (Mnih and Teh, 2012).
///
/// *Costs* nothing.
///
/// *Use it* to compare, and for layers that were trained for it and measured: for the language model of
/// [`guide::paper`](crate::guide::paper) it is off by 23.5 % on average.
///
/// ```
/// assert_eq!(zhat::estimators::self_normalised().log_z(), 0.0);
/// ```
pub fn self_normalised() -> Estimate {
    let mut one = LogSum::new();
    one.add(Log2::from_bits(0));
    Estimate::plain(one, Work::default())
}
