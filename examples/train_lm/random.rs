//! Random streams that depend only on the seed, the purpose and a counter.
//!
//! So a run that was stopped and continued draws the same numbers as an uninterrupted one.

use rand_core::Rng;
use rand_pcg::Pcg32;

/// The purpose of a stream: no two purposes share one.
#[derive(Clone, Copy)]
pub enum Purpose {
    Start = 1,
    Order,
    Noise,
    Dropout,
}

/// Returns the stream of `purpose` with the number `counter`.
pub fn stream(seed: u64, purpose: Purpose, counter: u64) -> Pcg32 {
    // One round of splitmix64, so that neighbouring counters start far apart.
    let mut x = seed ^ counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Pcg32::new(x ^ (x >> 31), purpose as u64)
}

/// Draws uniformly from 0..n: the high half of a product, whose bias is below n/2³².
pub fn below(rng: &mut Pcg32, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
}

/// Returns 0..n in the random order of one epoch (Fisher and Yates).
pub fn order(n: usize, seed: u64, epoch: u64) -> Vec<u32> {
    let mut rng = stream(seed, Purpose::Order, epoch);
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        order.swap(i, below(&mut rng, i as u32 + 1) as usize);
    }
    order
}
