//! The zero of G(x) − H(x), G(x) = Σ s(x − aᵢ), H(x) = Σ s(bⱼ − x), with s the logistic function.
//!
//! Solved as h(x) = ln G(x) − ln H(x) = 0, which has the same zero and none of the difficulties: where all data lies
//! above all noise by hundreds of nats, both sums and their difference are far below what a float can hold, but h is a
//! straight line there. G grows and H falls, so h grows strictly, from −∞ to +∞: one zero, and every value of h tells
//! on which side of it x is.
//!
//! A step is Halley's, x − 2hh′/(2h′² − hh″), if it stays inside the bracket, and the bracket's middle otherwise, or
//! where [`PATIENCE`] steps have not halved the bracket. The bracket is kept in fixed point, 34 bits at most, so
//! [`MAX_ITERATIONS`] are enough for any scores. Halley's step has order three; with 100 rows of data and of noise
//! it takes 4.0 steps, where Newton's takes 5.0, and MINCE as a whole 58 344 instructions on a Cortex-M4F, where Newton's step
//! makes it 66 146 (`cargo device estimators`, a head of 20 rows and 40 of noise).

use crate::math::{Log2, float};

/// Steps that may pass before the bracket has to be halved: Halley's method often comes from one side only.
const PATIENCE: u32 = 6;
/// Never reached: 34 bits at one more than that each.
const MAX_ITERATIONS: u32 = (PATIENCE + 1) * 34;
/// A step below this many units of the last place (2⁻¹⁸) ends it: far below what scores are worth.
const DONE: i64 = 2;

pub(super) struct Root {
    pub log_z: Log2,
    pub iterations: u32,
}

/// Data and noise are not empty.
pub(super) fn solve(
    data: impl ExactSizeIterator<Item = Log2> + Clone,
    noise: impl ExactSizeIterator<Item = Log2> + Clone,
    step: impl Fn(&Difference) -> i64,
) -> Root {
    // Data far below the noise makes every s(t) one, and with as many of the one as of the other h is zero all over the
    // gap, to a float. Then s(t) = 1 − s(−t) says the same with the sides exchanged, where no term is near one.
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
    // At c below the least score, G < k·s(−c) and H > l·s(c): h is negative once c ≥ ln(k/l); and the same above.
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
            // Not clamp: it panics where the ends are crossed, and here they never are.
            x = next.max(low).min(high);
            break;
        }
        x = if steps >= PATIENCE || next <= low || next >= high { low + (high - low) / 2 } else { next };
    }
    Root { log_z: Log2::from_bits(x.clamp(i32::MIN.into(), i32::MAX.into()) as i32), iterations }
}

/// h and its first two derivatives, in nats: the first three of J, in other words.
pub(super) struct Difference {
    value: f32,
    slope: f32,
    curve: f32,
}

impl Difference {
    /// In units of the last place.
    #[inline]
    pub fn halley_step(&self) -> i64 {
        let Self { value, slope, curve } = *self;
        let below = 2.0 * slope * slope - value * curve;
        units(if below > 0.0 { -2.0 * value * slope / below } else { -value / slope })
    }

    /// The same without the last derivative.
    #[inline]
    pub fn newton_step(&self) -> i64 {
        units(-self.value / self.slope)
    }
}

/// Zero slopes (sums that no longer change) leave it to the bracket.
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
    /// The largest t, if negative, is taken out of all terms: the sum is then at least a half, and nothing underflows
    /// that would be seen in it.
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

/// 2^(bits·2⁻¹⁸).
fn power(bits: i64) -> f32 {
    Log2::from_bits(bits.clamp(i32::MIN.into(), i32::MAX.into()) as i32).exp2()
}

#[cfg(test)]
mod tests;
