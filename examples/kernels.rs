//! Every kernel on this processor gives the integers of a plain 64-bit loop: all strides, extreme values, and slices
//! that do not start on a word.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use support::{entry, say};
use zhat::format::Aligned;
use zhat::kernels::{dot, dot_pair, dot_picked, dot_rows, max_query, query_slot};

const MAX_STRIDE: usize = 300;
/// Odd, so that a kernel that takes rows by twos or fours has one left.
const ROWS: usize = 5;
/// Bytes and values before the slices: what starts here is not on a word.
const OFFSET: usize = 1;

entry!(run);

fn run() -> Result<(), &'static str> {
    let mut random = Pcg32::seed_from_u64(1);
    let mut compared = 0;
    let mut mixed = 0;
    for stride in (4..=MAX_STRIDE).step_by(4) {
        for case in 0..5 {
            let mut values = || value(case, max_query(stride), random.next_u32());
            for (row_offset, query_offset) in [(0, 0), (OFFSET, 0), (0, OFFSET), (OFFSET, OFFSET)] {
                let mut rows = Aligned([0_i8; OFFSET + ROWS * MAX_STRIDE]);
                let mut query = Aligned([0_i16; OFFSET + MAX_STRIDE]);
                let rows = &mut rows.0[row_offset..][..ROWS * stride];
                let query = &mut query.0[query_offset..][..stride];
                rows.iter_mut().for_each(|weight| *weight = values().0);
                (0..stride).for_each(|column| query[query_slot(column)] = values().1);
                let expected = all_agree(rows, query)?;
                compared += 2 * ROWS + 1;
                mixed = expected.iter().fold(mixed, |mixed: u32, &sum| mixed.rotate_left(1) ^ sum as u32);
            }
        }
    }
    say!("{compared} dot products are those of a plain loop; all of them mixed are {mixed:#010x}");
    Ok(())
}

/// A weight and a query value: random ones, or the ends of their ranges.
fn value(case: u32, limit: i16, random: u32) -> (i8, i16) {
    match case {
        0 => (-128, limit),
        1 => (-128, -limit),
        2 => (if random & 1 == 0 { -128 } else { 127 }, if random & 2 == 0 { limit } else { -limit }),
        _ => (random as i8, ((random >> 8) as i16).clamp(-limit, limit)),
    }
}

/// The dot products of all rows, if every way to get them gives the same.
fn all_agree(rows: &[i8], query: &[i16]) -> Result<[i32; ROWS], &'static str> {
    let mut expected = [0; ROWS];
    for (sum, row) in expected.iter_mut().zip(rows.chunks_exact(query.len())) {
        *sum = truth(row, query)?;
        if dot(row, query) != *sum {
            return Err("dot differs");
        }
    }
    let mut dots = [0; ROWS];
    dot_rows(rows, query, &mut dots);
    if dots != expected {
        return Err("dot_rows differs");
    }
    let picked = [4, 0, 3];
    dot_picked(rows, &picked, query, &mut dots);
    if picked.iter().zip(&dots).any(|(&row, &dot)| dot != expected[row as usize]) {
        return Err("dot_picked differs");
    }
    let mut pair = rows.chunks_exact(query.len());
    if let (Some(first), Some(second)) = (pair.next(), pair.next())
        && dot_pair([first, second], query) != expected[..2]
    {
        return Err("dot_pair differs");
    }
    Ok(expected)
}

/// In 64 bits, with each column where the kernels of this processor look for it.
fn truth(row: &[i8], query: &[i16]) -> Result<i32, &'static str> {
    let mut sum = 0;
    for (column, &weight) in row.iter().enumerate() {
        sum += i64::from(weight) * i64::from(query.get(query_slot(column)).copied().unwrap_or(0));
    }
    i32::try_from(sum).map_err(|_| "a dot product left 32 bits")
}
