//! Whole numbers from the caller's generator, in a fixed number of steps.

use rand_core::Rng;

/// A number below `limit` (zero for a limit of zero). Multiply and shift: one number costs one draw, always, and no
/// outcome is off by more than limit·2⁻⁶⁴.
pub(super) fn below(rng: &mut impl Rng, limit: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// Draws `count` different numbers below `limit`, each set of them equally likely (Floyd's algorithm: one draw and one
/// mark for each, however large the share of the whole). Asked for as many as there are or more, it gives all of them
/// and draws nothing.
///
/// Bentley, Floyd, "Programming Pearls: a sample of brilliance", 1987.
pub(super) fn distinct(
    rng: &mut impl Rng,
    count: usize,
    limit: usize,
    mut marks: crate::search::Seen<'_>,
    mut each: impl FnMut(usize),
) {
    if count >= limit {
        (0..limit).for_each(each);
        return;
    }
    for last in limit - count..limit {
        let drawn = below(rng, last as u64 + 1) as usize;
        if marks.insert(drawn) {
            each(drawn);
        } else {
            marks.insert(last);
            each(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg32;

    use super::*;
    use crate::search::Seen;

    #[test]
    fn every_subset_is_equally_likely() {
        let mut rng = Pcg32::new(7, 1);
        let mut counts = [0u32; 32];
        let trials = 40_000;
        for _ in 0..trials {
            let mut set = 0;
            distinct(&mut rng, 3, 5, Seen::new(&mut [0]), |drawn| set |= 1 << drawn);
            counts[set] += 1;
        }
        for (set, &count) in counts.iter().enumerate() {
            if set.count_ones() == 3 {
                // Ten subsets: 4 000 each, give or take a standard deviation of 60.
                assert!((3700..4300).contains(&count), "{set:#b}: {count}");
            } else {
                assert_eq!(count, 0);
            }
        }
    }

    #[test]
    fn all_of_them_are_all_of_them() {
        for count in [6, 7, 100] {
            let mut drawn = Vec::new();
            distinct(&mut Pcg32::new(1, 1), count, 6, Seen::new(&mut [0]), |number| drawn.push(number));
            assert_eq!(drawn, [0, 1, 2, 3, 4, 5]);
        }
        distinct(&mut Pcg32::new(1, 1), 0, 6, Seen::new(&mut [0]), |_| panic!("asked for none"));
        assert_eq!(below(&mut Pcg32::new(1, 1), 0), 0);
    }
}
