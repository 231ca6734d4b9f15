//! MINCE: Z as the one parameter of a noise-contrastive classifier.
//!
//! Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section 4.2. The k rows of the head are taken as draws
//! from exp(u)/Z, l rows drawn uniformly from the N − k others as noise, and Z is what tells the two apart best (Gutmann and
//! Hyvärinen, 2010):
//!
//! ```text
//!                      exp(u_i)/Z                                ν
//! J(Z) = Σ_i ln ─────────────────────────── + Σ_j ln ───────────────────────────        ν = l/k · 1/(N−k)
//!                 exp(u_i)/Z + ν                        exp(u_j)/Z + ν
//!
//! −J(Z) = Σ_i ln(Z/a_i + 1) + Σ_j ln(b_j/Z + 1)        a = exp(u)·k(N−k)/l, and b of the same form
//! ```
//!
//! over the head (i) and the noise (j). With x = ln Z and the logistic function s, the derivative of −J by x is
//! Σ_i s(x − ln a_i) − Σ_j s(ln b_j − x). The first sum grows with x and the second one falls, so −J is convex in ln Z and
//! there is exactly one zero. `solve` finds it by Halley's method, which takes the third derivative of J, as the paper's does.
//! It departs from the paper in one thing: the equation is solved for ln Z and as a quotient of the two sums, so that no
//! score is too large for it; the zero is the same.
//!
//! The head is not a sample of the classes but the best of them, so MINCE is biased whatever k and l. With equal rows, where any
//! head is a sample, it finds Z·(N−k)/N: the noise does not know of the head. And because no noise is above any data, the
//! arithmetic mean bounds both sums, and
//!
//! ```text
//! Ẑ ≤ Z·(N−k)/k
//! ```
//!
//! whatever the scores: at N = 100 000 and k = 1000 it is never off by more than 9 800 %. (The paper's Table 1 has 96 285 and
//! 12 413 % there: those are not from its objective.) It is here to compare; what it has is that one missed row of many changes
//! it little. Costs the retrieval, l rows, and about five passes over k + l exponentials; N bits and l scores of memory.

mod solve;

use rand_core::Rng;
use solve::Difference;

use super::{Estimate, Head, nmimps, tail, uniform};
use crate::Error;
use crate::math::{Log2, LogSum};
use crate::model::Model;
use crate::rows::Query;

/// Z from a head as data and `samples` of the other rows, drawn without replacement, as noise.
///
/// Rastogi and Van Durme, "Sublinear Partition Estimation" (2015): Z is the one parameter of a classifier that tells the k rows
/// of the head, as draws from exp(u)/Z, from l rows of uniform noise, and minimises
///
/// ```text
/// −J(Z) = Σ_i ln(Z/a_i + 1) + Σ_j ln(b_j/Z + 1)        a_i of the head and b_j of the noise in proportion to exp(u)
/// ```
///
/// *Costs* the retrieval, l rows, and about five passes over k + l exponentials; N bits and l scores of memory; for instructions
/// see the table of [`estimators`](super). *Use it* to compare: the head is not a sample of the classes but the best of them, so
/// that the estimate is biased whatever k and l.
///
/// `marks` has [`seen_words`](crate::seen_words) words for the model's classes and `noise` room for `samples` scores, or
/// for all other rows if that is less. Without noise nothing limits Z from above, without a head nothing from below: then
/// the answer is that of [`nmimps`](super::nmimps) or [`uniform`](super::uniform).
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use rand_pcg::Pcg32;
/// use zhat::estimators::{HeadBuffer, mince, retrieve};
/// use zhat::{Budget, Log2};
///
/// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
/// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
/// let mut noise = [Log2::MIN; 40];
/// let estimate = mince(&model, &query, 40, &head, &mut Pcg32::new(1, 1), &mut scratch, &mut noise)?;
/// println!("ln Z is {:.2}, after {} steps", estimate.log_z(), estimate.iterations);
/// # Ok::<(), zhat::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::MarkWords`] or [`Error::NoiseScores`] if `marks` or
/// `noise` is too short.
pub fn mince(
    model: &Model<'_>,
    query: &Query,
    samples: usize,
    head: &Head<'_>,
    rng: &mut impl Rng,
    marks: &mut [u32],
    noise: &mut [Log2],
) -> Result<Estimate, Error> {
    with_step(model, query, samples, head, rng, marks, noise, Difference::halley_step)
}

/// [`mince`] by Newton's method, to see what Halley's is worth.
#[doc(hidden)]
pub fn mince_by_newton(
    model: &Model<'_>,
    query: &Query,
    samples: usize,
    head: &Head<'_>,
    rng: &mut impl Rng,
    marks: &mut [u32],
    noise: &mut [Log2],
) -> Result<Estimate, Error> {
    with_step(model, query, samples, head, rng, marks, noise, Difference::newton_step)
}

#[allow(clippy::too_many_arguments, reason = "those of an estimator, and the step")]
fn with_step(
    model: &Model<'_>,
    query: &Query,
    samples: usize,
    head: &Head<'_>,
    rng: &mut impl Rng,
    marks: &mut [u32],
    noise: &mut [Log2],
    step: impl Fn(&Difference) -> i64,
) -> Result<Estimate, Error> {
    query.check(model)?;
    let data = head.candidates();
    let others = model.classes().saturating_sub(head.rows().len());
    let samples = samples.min(others);
    if data.is_empty() {
        let estimate = uniform(model, query, samples, rng, marks)?;
        return Ok(Estimate { work: head.work().and_rows(samples, model.rows().row_bytes()), ..estimate });
    }
    if samples == 0 {
        return Ok(nmimps(model, head));
    }
    let Some(noise) = noise.get_mut(..samples) else {
        return Err(Error::NoiseScores(samples as u32));
    };
    let rows = tail::scores(model, query, samples, head.rows(), rng, marks, |place, score| {
        if let Some(slot) = noise.get_mut(place) {
            *slot = score;
        }
    })?;
    // Both sides share the factor k(N−k)/l, so the equation is solved for Z without it.
    let root = solve::solve(data.iter().map(|candidate| candidate.score), noise.iter().copied(), step);
    let mut z = LogSum::new();
    z.add(root.log_z);
    let z = z.scaled(others as u32, samples as u32).scaled(data.len() as u32, 1);
    let work = head.work().and_rows(rows, model.rows().row_bytes());
    Ok(Estimate { z, work, standard_error: None, iterations: root.iterations })
}
