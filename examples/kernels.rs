//! Checks that every kernel on this processor computes the integers of a plain 64-bit loop, modulo 2^32: all strides,
//! extreme values, and slices that do not start on a word; for int8 rows and for 4-bit ones. Also checks the sums of
//! squares, the sums of powers, and square roots against libm.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use support::{entry, say};
use zhat::internal::{dot, dot_picked, dot_rows, four_bit, pair, query_slot, sqrt, squares, weights};
use zhat::model::Aligned;
use zhat::{Log2, LogSum};

const MAX_STRIDE: usize = 300;
/// Odd, so that a kernel that takes rows by twos or fours has one left.
const ROWS: usize = 5;
/// The offset at which a slice does not start on a word.
const OFFSET: usize = 1;

entry!(run);

fn run() -> Result<(), &'static str> {
    let mut random = Pcg32::seed_from_u64(1);
    let mut compared = 0;
    let mut mixed = 0;
    for stride in (4..=MAX_STRIDE).step_by(4) {
        for case in 0..5 {
            let mut values = || value(case, random.next_u32());
            for (row_offset, query_offset) in [(0, 0), (OFFSET, 0), (0, OFFSET), (OFFSET, OFFSET)] {
                let mut rows = Aligned([0_i16; OFFSET + ROWS * MAX_STRIDE / 2]);
                let mut query = Aligned([0_i16; OFFSET + MAX_STRIDE]);
                let rows = &mut rows.0[row_offset..][..ROWS * stride / 2];
                let query = &mut query.0[query_offset..][..stride];
                rows.iter_mut().for_each(|pair| *pair = values().0);
                (0..stride).for_each(|column| query[query_slot(column, stride)] = values().1);
                let expected = all_agree(rows, query)?;
                squares_agree(rows, stride)?;
                compared += 2 * ROWS + 7;
                mixed = expected.iter().fold(mixed, |mixed: u32, &sum| mixed.rotate_left(1) ^ sum as u32);
            }
        }
    }
    roots_agree(&mut random)?;
    sums_agree(&mut Pcg32::seed_from_u64(2))?;
    say!("{compared} dot products are those of a plain loop; all of them mixed are {mixed:#010x}");
    let (compared, mixed) = four_bits(&mut random)?;
    say!("4-bit rows: {compared} dot products are those of a plain loop; all of them mixed are {mixed:#010x}");
    Ok(())
}

/// Checks the kernels for 4-bit rows, which always start on a word. Where a group's sum wraps, the plain loop does not,
/// so there only the mixed number shows that all processors agree.
fn four_bits(random: &mut Pcg32) -> Result<(usize, u32), &'static str> {
    const LEN: usize = four_bit::row_len(MAX_STRIDE);
    let (mut compared, mut mixed) = (0, 0u32);
    for stride in (4..=MAX_STRIDE).step_by(4) {
        let len = four_bit::row_len(stride);
        for case in 0..4 {
            let mut rows = Aligned([0_i16; ROWS * LEN]);
            let mut query = Aligned([0_i16; MAX_STRIDE]);
            let (rows, query) = (&mut rows.0[..ROWS * len], &mut query.0[..stride]);
            rows.iter_mut().for_each(|bits| *bits = random.next_u32() as i16);
            (0..stride).for_each(|column| query[query_slot(column, stride)] = value_of(case, random.next_u32()));
            let mut dots = [0; ROWS];
            four_bit::dots(rows, None, query, &mut dots);
            let mut others = [0; ROWS];
            four_bit::dots(rows, Some(&[4, 0, 3, 1, 2]), query, &mut others);
            if [others[1], others[3], others[4], others[2], others[0]] != dots {
                return Err("picked 4-bit rows differ");
            }
            compared += 2 * ROWS;
            for (row, dot) in rows.chunks_exact(len).zip(dots) {
                let product = |column| {
                    i64::from(four_bit::weight(row, column, stride)) * i64::from(query[query_slot(column, stride)])
                };
                if case < 2 && (256 * (0..stride).map(product).sum::<i64>()) as i32 != dot {
                    return Err("a 4-bit kernel differs from a plain loop");
                }
                mixed = mixed.rotate_left(1) ^ dot as u32;
            }
        }
    }
    Ok((compared, mixed))
}

/// Makes a query's value: in the first two cases so small that no group's sum wraps, then any.
fn value_of(case: u32, random: u32) -> i16 {
    match case {
        0 => random as i16 >> 4,
        1 => 2047 * if random & 1 == 0 { 1 } else { -1 },
        2 => i16::MIN,
        _ => random as i16,
    }
}

/// Checks that adding many powers at once gives the same sum as adding them one by one: terms of all sizes, above the
/// sum as well.
fn sums_agree(random: &mut Pcg32) -> Result<(), &'static str> {
    // So few that the sum never renormalises, which it would do at different terms in the two cases.
    const TERMS: usize = 15;
    for round in 0..2_000 {
        let spread = 1 << (round % 31);
        let count = round % (TERMS + 1);
        let mut terms = [0; TERMS];
        terms.iter_mut().for_each(|term| {
            *term = match random.next_u32() % 16 {
                0 => i32::MIN,
                bits => (random.next_u32() % spread) as i32 - (bits << 24) as i32,
            }
        });
        let (mut at_once, mut one_by_one) = (LogSum::new(), LogSum::new());
        let terms = &terms[..count];
        at_once.add_all(terms);
        terms.iter().for_each(|&term| one_by_one.add(Log2::from_bits(term)));
        if at_once != one_by_one {
            return Err("a sum of powers differs");
        }
    }
    Ok(())
}

/// Checks that the square root has libm's bits, for random numbers of all kinds.
fn roots_agree(random: &mut Pcg32) -> Result<(), &'static str> {
    for _ in 0..10_000 {
        let x = f32::from_bits(random.next_u32());
        let (root, truth) = (sqrt(x), libm::sqrtf(x));
        if root.to_bits() != truth.to_bits() && !(root.is_nan() && truth.is_nan()) {
            return Err("a square root is not libm's");
        }
    }
    Ok(())
}

/// Checks that the squares of every row add up to those of a plain loop and that −128 is found, also for the rows
/// without it.
fn squares_agree(rows: &[i16], stride: usize) -> Result<(), &'static str> {
    for row in rows.chunks_exact(stride / 2) {
        let mut sound = Aligned([0_i16; MAX_STRIDE / 2]);
        let sound = &mut sound.0[..stride / 2];
        let within = |pair| weights(pair).map(|weight| weight.max(-127));
        sound.iter_mut().zip(row).for_each(|(place, &stored)| *place = pair(within(stored)[0], within(stored)[1]));
        if squares(row) != squares_of(row) || squares(sound) != squares_of(sound) {
            return Err("squares differ");
        }
    }
    Ok(())
}

fn squares_of(row: &[i16]) -> Option<u32> {
    let (mut sum, mut is_sound) = (0, true);
    for weight in row.iter().flat_map(|&pair| weights(pair)) {
        sum += u32::from(weight.unsigned_abs()) * u32::from(weight.unsigned_abs());
        is_sound &= weight != i8::MIN;
    }
    is_sound.then_some(sum)
}

/// Makes two weights and a query value: random ones, or the ends of their ranges and beyond.
fn value(case: u32, random: u32) -> (i16, i16) {
    let sign = |bit: u32| if random & bit == 0 { 1 } else { -1 };
    match case {
        0 => (pair(-127, -127), i16::MAX),
        1 => (i16::MIN, i16::MIN),
        2 => (pair(127 * sign(1), 127 * sign(2)), i16::MAX * i16::from(sign(4))),
        _ => (random as i16, (random >> 16) as i16),
    }
}

/// Computes the dot products of all rows; an error unless every kernel gives the same.
fn all_agree(rows: &[i16], query: &[i16]) -> Result<[i32; ROWS], &'static str> {
    let mut expected = [0; ROWS];
    for (sum, row) in expected.iter_mut().zip(rows.chunks_exact(query.len() / 2)) {
        *sum = truth(row, query);
        if dot(row, query) != *sum {
            return Err("dot differs");
        }
    }
    let mut dots = [0; ROWS];
    dot_rows(rows, query, &mut dots);
    if dots != expected {
        return Err("dot_rows differs");
    }
    for picked in [&[4, 0, 3, 1][..], &[2, 4, 1]] {
        dot_picked(rows, picked, query, &mut dots);
        if picked.iter().zip(&dots).any(|(&row, &dot)| dot != expected[row as usize]) {
            return Err("dot_picked differs");
        }
    }
    Ok(expected)
}

/// Computes the dot product in 64 bits, with each column at its slot for this processor.
fn truth(row: &[i16], query: &[i16]) -> i32 {
    let value = |column| query.get(query_slot(column, query.len())).map_or(0, |&value| i64::from(value));
    let mut sum = 0;
    for (at, &pair) in row.iter().enumerate() {
        sum += i64::from(pair) * value(2 * at + 1) + 256 * i64::from(weights(pair)[0]) * value(2 * at);
    }
    sum as i32
}
