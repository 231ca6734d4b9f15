//! MINCE: Z as the one parameter of a noise-contrastive classifier.
//!
//! Rastogi and Van Durme, "Sublinear Partition Estimation" (2015). The k rows of the head are taken as draws from
//! exp(u)/Z, l rows drawn uniformly from all N as noise of density 1/N, and Z is what tells the two apart best. With
//! ν = l/k noise rows for each row of data (Gutmann and Hyvärinen, 2010), a row u is data with probability
//!
//! ```text
//! (exp(u)/Z) / (exp(u)/Z + ν/N) = 1 / (1 + Z/a)        a = exp(u) · N·k/l
//! ```
//!
//! and the negative log-likelihood of the k + l labels is the paper's simplified objective, with a_i for the head
//! and b_j, of the same form, for the noise:
//!
//! ```text
//! −J(Z) = Σ_i ln(Z/a_i + 1) + Σ_j ln(b_j/Z + 1)
//! ```
//!
//! With x = ln Z and the logistic function s, its derivative is Σ_i s(x − ln a_i) − Σ_j s(ln b_j − x). The first sum
//! grows with x and the second one falls, so −J is convex in ln Z and there is exactly one zero, which `solve` finds in
//! logs, whatever the scores; the number of its steps is reported.
//!
//! The head is not a sample of the classes but the best of them, so MINCE is biased whatever k and l: on a language
//! model's layer (10 000 rows, an exact head) it was off by 99 % with k = l = 100 and by 58 % with k = l = 1000, where
//! [`mimps`](super::mimps) was off by 6.2 and 0.28 %; on a confident layer it finds a Z of next to nothing. It is here to
//! compare. What it has is that a missed top row changes it little. Costs the retrieval, l rows, and about five passes
//! over k + l exponentials; N bits and l scores of memory.

mod solve;

use rand_core::Rng;

use super::{Estimate, Head, nmimps, tail, uniform};
use crate::Error;
use crate::math::{Log2, LogSum};
use crate::model::Model;
use crate::rows::Query;

/// Z from a head as data and `samples` rows, drawn without replacement, as noise.
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
/// for all classes if that is less. Without noise nothing limits Z from above, without a head nothing from below: then
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
    query.check(model)?;
    let samples = samples.min(model.classes());
    let data = head.candidates();
    if data.is_empty() {
        let estimate = uniform(model, query, samples, rng, marks)?;
        return Ok(Estimate { work: head.work().and_rows(samples, model.rows().stride()), ..estimate });
    }
    if samples == 0 {
        return Ok(nmimps(model, head));
    }
    let Some(noise) = noise.get_mut(..samples) else {
        return Err(Error::NoiseScores(samples as u32));
    };
    let rows = tail::scores(model, query, samples, &[], rng, marks, |place, score| {
        if let Some(slot) = noise.get_mut(place) {
            *slot = score;
        }
    })?;
    // Both sides share the factor N·k/l, so the equation is solved for Z without it.
    let root = solve::solve(data.iter().map(|candidate| candidate.score), noise.iter().copied());
    let mut z = LogSum::new();
    z.add(root.log_z);
    let z = z.scaled(model.classes() as u32, samples as u32).scaled(data.len() as u32, 1);
    let work = head.work().and_rows(rows, model.rows().stride());
    Ok(Estimate { z, work, standard_error: None, iterations: root.iterations })
}
