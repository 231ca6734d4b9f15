//! MINCE: Z as the one parameter of a noise-contrastive classifier.
//!
//! Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section 4.2. The k rows of the head are taken as
//! draws from exp(u)/Z, l rows drawn uniformly from the N − k others as noise, and Z is the number that tells the two apart best
//! (Gutmann and Hyvärinen, 2010):
//!
//! ```text
//!                      exp(u_i)/Z                                ν
//! J(Z) = Σ_i ln ─────────────────────────── + Σ_j ln ───────────────────────────        ν = l/k · 1/(N−k)
//!                 exp(u_i)/Z + ν                        exp(u_j)/Z + ν
//!
//! −J(Z) = Σ_i ln(Z/a_i + 1) + Σ_j ln(b_j/Z + 1)        a = exp(u)·k(N−k)/l, and b of the same form
//! ```
//!
//! over the head (i) and the noise (j). With x = ln Z and the logistic function s, the derivative of −J by x is Σ_i s(x
//! − ln a_i) − Σ_j s(ln b_j − x). The first sum grows with x and the second one falls, so −J is convex in ln Z and
//! there is exactly one zero. `solve` finds it by Halley's method, which takes the third derivative of J, as the
//! paper's does. It departs from the paper in one thing: it solves the equation for ln Z and as a quotient of the two
//! sums, so that no score is too large for it; the zero is the same.
//!
//! The head is not a sample of the classes but the best of them, so MINCE is biased whatever k and l are. With equal
//! rows, where any head is a sample, it finds Z·(N−k)/N, since the noise excludes the head. Because no noise is above
//! any data, the arithmetic mean bounds both sums, and
//!
//! ```text
//! Ẑ ≤ Z·(N−k)/k
//! ```
//!
//! whatever the scores: at N = 100 000 and k = 1000 it is never off by more than 9 800 %. (The paper's Table 1 has 96
//! 285 and 12 413 % there, which cannot come from its objective.) It is here to compare; its one merit is that one
//! missed row of many changes it little. Costs the retrieval, l rows, and about five passes over k + l exponentials; N
//! bits and l scores of memory.

use rand_core::Rng;

use super::{Estimate, Head, nmimps, sampling, uniform};
use crate::Error;
use crate::math::{Log2, LogSum, float};
use crate::model::Model;
use crate::rows::Query;

/// Estimates Z from a head as data and `samples` of the other rows, drawn without replacement, as noise.
///
/// Rastogi and Van Durme, "Sublinear Partition Estimation" (2015): Z is the one parameter of a classifier that tells
/// the k rows of the head, as draws from exp(u)/Z, from l rows of uniform noise, and minimises
///
/// ```text
/// −J(Z) = Σ_i ln(Z/a_i + 1) + Σ_j ln(b_j/Z + 1)        a_i of the head and b_j of the noise in proportion to exp(u)
/// ```
///
/// *Costs* the retrieval, l rows, and about five passes over k + l exponentials; N bits and l scores of memory; for
/// instructions see the table of [`estimators`](super). *Use it* to compare: the head is not a sample of the classes
/// but the best of them, so that the estimate is biased whatever k and l are.
///
/// `marks` has [`seen_words`](crate::seen_words) words for the model's classes and `noise` room for `samples` scores,
/// or for all other rows if that is less. Without noise nothing limits Z from above, without a head nothing from below:
/// then this returns the estimate of [`nmimps`](super::nmimps) or [`uniform`](super::uniform).
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
/// [`Error::NoQuery`] or [`Error::OtherModel`] for the query, [`Error::MarkWords`] or [`Error::NoiseScores`] if `marks`
/// or `noise` is too short.
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

/// Solves [`mince`] by Newton's method, to show how much Halley's saves.
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
    let rows = sampling::scores(model, query, samples, head.rows(), rng, marks, |place, score| {
        if let Some(slot) = noise.get_mut(place) {
            *slot = score;
        }
    })?;
    // Both sides share the factor k(N−k)/l, so the equation is solved for Z without it.
    let root = solve(data.iter().map(|candidate| candidate.score), noise.iter().copied(), step);
    let mut z = LogSum::new();
    z.add(root.log_z);
    let z = z.scaled(others as u32, samples as u32).scaled(data.len() as u32, 1);
    let work = head.work().and_rows(rows, model.rows().row_bytes());
    Ok(Estimate { z, work, standard_error: None, iterations: root.iterations })
}

// The solver finds the zero of G(x) − H(x), G(x) = Σ s(x − aᵢ), H(x) = Σ s(bⱼ − x), with s the logistic function.
//
// It solves h(x) = ln G(x) − ln H(x) = 0, which has the same zero and is easier: where all data lies above all noise by
// hundreds of nats, both sums and their difference are far below what a float can hold, but h is a straight line there.
// G grows and H falls, so h grows strictly, from −∞ to +∞: it has one zero, and the sign of h tells on which side of it
// x is.
//
// A step is Halley's, x − 2hh′/(2h′² − hh″), if it stays inside the bracket, and the bracket's middle otherwise, or
// where [`PATIENCE`] steps have not halved the bracket. The bracket is kept in fixed point, 34 bits at most, so
// [`MAX_ITERATIONS`] are enough for any scores. Halley's step has order three; with 100 rows of data and of noise
// it takes 4.0 steps, where Newton's takes 5.0, and MINCE as a whole 58 344 instructions on a Cortex-M4F, where
// Newton's step makes it 66 146 (`cargo device estimators`, a head of 20 rows and 40 of noise).

/// The number of steps that may pass before the bracket has to be halved. Halley's method often approaches from one
/// side only.
const PATIENCE: u32 = 6;
/// The limit on iterations. It is never reached: the bracket has 34 bits, and each takes at most one step more than
/// [`PATIENCE`].
const MAX_ITERATIONS: u32 = (PATIENCE + 1) * 34;
/// A step below this many units of the last place (2⁻¹⁸) ends the search: far below the rounding of scores.
const DONE: i64 = 2;

pub(super) struct Root {
    pub log_z: Log2,
    pub iterations: u32,
}

/// Finds the zero; neither data nor noise may be empty.
pub(super) fn solve(
    data: impl ExactSizeIterator<Item = Log2> + Clone,
    noise: impl ExactSizeIterator<Item = Log2> + Clone,
    step: impl Fn(&Difference) -> i64,
) -> Root {
    // Data far below the noise makes every s(t) one, and with as many data as noise h is zero in f32 over the whole
    // gap. As s(t) = 1 − s(−t), the sides can be exchanged, and then no term is near one.
    if data.len() == noise.len() && data.clone().max() < noise.clone().min() {
        zero(noise, data, step)
    } else {
        zero(data, noise, step)
    }
}

fn zero(
    data: impl ExactSizeIterator<Item = Log2> + Clone,
    noise: impl ExactSizeIterator<Item = Log2> + Clone,
    step: impl Fn(&Difference) -> i64,
) -> Root {
    let all = || data.clone().chain(noise.clone()).map(|score| i64::from(score.to_bits()));
    let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    // At c below the lowest score, G < k·s(−c) and H > l·s(c): h is negative once c ≥ ln(k/l); and accordingly above.
    let (k, l) = (Log2::of(data.len() as u64), Log2::of(noise.len() as u64));
    let margin = |a: Log2, b: Log2| 1 + i64::from(a.to_bits().saturating_sub(b.to_bits()).max(0));
    let mut low = least - margin(k, l);
    let mut high = most + margin(l, k);
    let mut x = most;
    let mut halved_at = high - low;
    let mut steps = 0;
    let mut iterations = 0;
    while high - low > 1 && iterations < MAX_ITERATIONS {
        iterations += 1;
        let h = difference(x, data.clone(), noise.clone());
        if h.value > 0.0 {
            high = x;
        } else if h.value < 0.0 {
            low = x;
        } else {
            break;
        }
        steps += 1;
        if high - low <= halved_at / 2 {
            (halved_at, steps) = (high - low, 0);
        }
        let next = x.saturating_add(step(&h));
        if (next - x).abs() <= DONE {
            // Not `clamp`, which would panic if the ends crossed; here they never do.
            x = next.max(low).min(high);
            break;
        }
        x = if steps >= PATIENCE || next <= low || next >= high { low + (high - low) / 2 } else { next };
    }
    Root { log_z: Log2::from_bits(x.clamp(i32::MIN.into(), i32::MAX.into()) as i32), iterations }
}

/// h and its first two derivatives, in nats.
pub(super) struct Difference {
    value: f32,
    slope: f32,
    curve: f32,
}

impl Difference {
    /// Returns the step in units of the last place.
    #[inline]
    pub fn halley_step(&self) -> i64 {
        let Self { value, slope, curve } = *self;
        let below = 2.0 * slope * slope - value * curve;
        units(if below > 0.0 { -2.0 * value * slope / below } else { -value / slope })
    }

    /// Returns Newton's step, which needs no second derivative.
    #[inline]
    pub fn newton_step(&self) -> i64 {
        units(-self.value / self.slope)
    }
}

/// Converts a step. If the slope is zero, because the sums no longer change, the bracket decides.
fn units(step: f32) -> i64 {
    if step.is_finite() { i64::from(Log2::from_nats(step).to_bits()) } else { i64::MAX / 4 }
}

#[inline]
fn difference(
    x: i64,
    data: impl Iterator<Item = Log2> + Clone,
    noise: impl Iterator<Item = Log2> + Clone,
) -> Difference {
    let above = Logistic::sum(data.map(|score| x - i64::from(score.to_bits())));
    let below = Logistic::sum(noise.map(|score| i64::from(score.to_bits()) - x));
    Difference {
        value: (above.scale - below.scale) as f32 * UNIT + float::log2(above.sum / below.sum) * core::f32::consts::LN_2,
        slope: above.first + below.first,
        curve: (above.second - above.first * above.first) - (below.second - below.first * below.first),
    }
}

/// The last place of a [`Log2`] in nats.
const UNIT: f32 = core::f32::consts::LN_2 / (1u32 << Log2::FRACTION_BITS) as f32;

/// Σ s(t), as `sum`·2^`scale`, and Σ s′, Σ s″ as shares of it.
struct Logistic {
    scale: i64,
    sum: f32,
    first: f32,
    second: f32,
}

impl Logistic {
    /// Sums the logistic function and its derivatives. If the largest t is negative, its power is factored out of all
    /// terms: the sum is then at least a half, and no term that matters underflows.
    #[inline]
    fn sum(arguments: impl Iterator<Item = i64> + Clone) -> Self {
        let scale = arguments.clone().max().unwrap_or(0).min(0);
        let (mut sum, mut first, mut second) = (0.0_f32, 0.0_f32, 0.0_f32);
        for t in arguments {
            let tail = power(-t.abs());
            let (s, rest) = if t > 0 {
                (1.0 / (1.0 + tail), tail / (1.0 + tail))
            } else {
                (power(t - scale) / (1.0 + tail), 1.0 / (1.0 + tail))
            };
            // s′ = s·(1 − s) and s″ = s′·(1 − 2s); 1 − s is `rest`, and 1 − 2s is 2·rest − 1.
            sum += s;
            first += s * rest;
            second += s * rest * (2.0 * rest - 1.0);
        }
        Self { scale, sum, first: first / sum, second: second / sum }
    }
}

/// Computes 2^(bits·2⁻¹⁸).
fn power(bits: i64) -> f32 {
    Log2::from_bits(bits.clamp(i32::MIN.into(), i32::MAX.into()) as i32).exp2()
}

#[cfg(test)]
mod solve_tests {
    use proptest::prelude::*;

    use super::*;

    fn run_with(data: &[f32], noise: &[f32], step: fn(&Difference) -> i64) -> Root {
        let logs = |list: &[f32]| list.iter().map(|&nats| Log2::from_nats(nats)).collect::<Vec<_>>();
        solve(logs(data).into_iter(), logs(noise).into_iter(), step)
    }

    fn run(data: &[f32], noise: &[f32]) -> Root {
        run_with(data, noise, Difference::halley_step)
    }

    /// Computes ln G(x) − ln H(x) in f64, with the scores as they were rounded.
    fn stationarity(x: f64, data: &[f32], noise: &[f32]) -> f64 {
        let nats = |&score: &f32| f64::from(Log2::from_nats(score).to_bits()) * std::f64::consts::LN_2 / 262_144.0;
        let log_logistic = |t: f64| if t > 0.0 { -(-t).exp().ln_1p() } else { t - t.exp().ln_1p() };
        let log_sum = |list: Vec<f64>| {
            let most = list.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
            most + list.iter().map(|v| (v - most).exp()).sum::<f64>().ln()
        };
        log_sum(data.iter().map(|s| log_logistic(x - nats(s))).collect())
            - log_sum(noise.iter().map(|s| log_logistic(nats(s) - x)).collect())
    }

    fn check(data: &[f32], noise: &[f32]) -> u32 {
        let root = run(data, noise);
        let x = f64::from(root.log_z.to_bits()) * std::f64::consts::LN_2 / 262_144.0;
        let h = stationarity(x, data, noise);
        // Within a few units of the last place of x, or zero as far as f32 can tell.
        let near = |step: f64| stationarity(x + step, data, noise);
        let crossed = near(-2e-5) <= 0.0 && near(2e-5) >= 0.0;
        assert!(crossed || h.abs() < 1e-6 * (data.len() + noise.len()) as f64, "{data:?} {noise:?}: h = {h} at {x}");
        assert!(root.iterations < MAX_ITERATIONS);
        root.iterations
    }

    #[test]
    fn one_row_on_each_side_meets_in_the_middle() {
        for (a, b) in [(0.0, 0.0), (3.0, 1.0), (1.0, 3.0), (4000.0, -4000.0), (-4000.0, 4000.0), (80.0, 79.0)] {
            let root = run(&[a], &[b]);
            assert!((root.log_z.to_nats() - (a + b) / 2.0).abs() < 1e-3, "{a} {b}: {}", root.log_z.to_nats());
        }
    }

    #[test]
    fn adversarial_scores_converge_to_a_stationary_point() {
        let spread: Vec<f32> = (0..500).map(|i| -5000.0 + 20.0 * i as f32).collect();
        let cases: [(&[f32], &[f32]); 9] = [
            (&[5000.0], &[-5000.0; 100]),
            (&[-5000.0; 100], &[5000.0]),
            (&[-5000.0; 100], &[5000.0; 100]),
            (&[5000.0, -5000.0], &[0.0]),
            (&[0.0], &[5000.0, -5000.0]),
            (&[1e-5, 0.0, -1e-5], &[0.0; 3]),
            (&[0.0; 1000], &[-1.0]),
            (&spread, &spread),
            (&[100.0, -100.0, 100.0, -100.0], &[100.0, -100.0]),
        ];
        for (data, noise) in cases {
            check(data, noise);
        }
    }

    #[test]
    fn everyday_scores_take_a_few_steps_and_newton_s_more() {
        let (mut worst, mut halley, mut newton) = (0, 0, 0);
        for seed in 0..50u32 {
            let wave = |i: u32| ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 977) >> 12) % 1000) as f32 / 1000.0;
            let noise: Vec<f32> = (0..100).map(|i| 6.0 * wave(i) - 8.0).collect();
            let data: Vec<f32> = (200..300).map(|i| 6.0 * wave(i)).collect();
            let steps = check(&data, &noise);
            let other = run_with(&data, &noise, Difference::newton_step);
            assert!((other.log_z.to_bits() - run(&data, &noise).log_z.to_bits()).abs() <= 4, "both find the zero");
            (worst, halley, newton) = (worst.max(steps), halley + steps, newton + other.iterations);
        }
        println!("{halley} steps of Halley, {newton} of Newton");
        assert!(worst <= 8 && halley < newton, "{worst} {halley} {newton}");
    }

    proptest! {
        #[test]
        fn it_always_converges(
            data in prop::collection::vec(-5000.0f32..5000.0, 1..40),
            noise in prop::collection::vec(-5000.0f32..5000.0, 1..40),
            squeeze in prop::sample::select(vec![1.0f32, 0.1, 0.01, 0.001]),
        ) {
            let squeezed = |list: &[f32]| list.iter().map(|v| v * squeeze).collect::<Vec<_>>();
            check(&squeezed(&data), &squeezed(&noise));
        }
    }
}
