use super::*;
use crate::kernels::query_slot;
use proptest::prelude::*;

/// The numbers and scales of a row, and the packed row.
struct Row {
    weights: Vec<i8>,
    stored: Vec<i16>,
}

fn row(stride: usize, mut next: impl FnMut() -> i8) -> Row {
    let numbers: Vec<i8> = (0..stride).map(|_| next()).collect();
    let scales: Vec<i8> = (0..stride.div_ceil(GROUP)).map(|_| next()).collect();
    let weights = (0..stride).map(|column| numbers[column] * scales[group_of(column, stride)]).collect();
    Row { weights, stored: pack(&numbers, &scales) }
}

/// Computes the expected result of every kernel from the formula in the documentation.
fn truth(row: &Row, query: &[i16]) -> i32 {
    let stride = query.len();
    let mut groups = vec![(0i32, 0i32); stride.div_ceil(GROUP)];
    for (column, &value) in query.iter().enumerate() {
        let [(scales, scale_at), (word, at)] = place(column, stride);
        let bits = |word: usize, at: u32| {
            let word = to_word([row.stored[2 * word], row.stored[2 * word + 1]]);
            (word << (28 - at)) as i32 >> 28
        };
        let (sum, scale) = &mut groups[group_of(column, stride)];
        *sum = sum.wrapping_add((bits(word, at) * i32::from(value)) << 12);
        *scale = bits(scales, scale_at);
    }
    groups.iter().fold(0i32, |total, (sum, scale)| total.wrapping_add((sum >> 4).wrapping_mul(*scale)))
}

fn in_slots(query: &[i16]) -> Vec<i16> {
    let mut slots = vec![0; query.len()];
    query.iter().enumerate().for_each(|(column, &q)| slots[query_slot(column, query.len())] = q);
    slots
}

fn all_agree(rows: &[Row], query: &[i16]) {
    let slots = in_slots(query);
    let expected: Vec<i32> = rows.iter().map(|row| truth(row, query)).collect();
    let table: Vec<i16> = rows.iter().flat_map(|row| row.stored.clone()).collect();
    let count = rows.len();
    let mut dots = vec![0; count.max(2)];
    let dots = &mut dots[..];
    super::dots(&table, None, &slots, dots);
    assert_eq!(dots[..count], expected, "{} columns", query.len());
    let picked: Vec<u32> = (0..count as u32).rev().step_by(2).collect();
    super::dots(&table, Some(&picked), &slots, dots);
    for (&row, &dot) in picked.iter().zip(&*dots) {
        assert_eq!(dot, expected[row as usize]);
    }
    super::dots(&table, Some(&[count as u32, 0]), &slots, &mut dots[..2]);
    assert_eq!(dots[..2], [0, expected[0]]);
    for (row, &expected) in rows.iter().zip(&expected) {
        assert_eq!(portable::dot(&row.stored, &slots), expected);
    }
}

#[test]
fn every_weight_comes_back() {
    for stride in (4..300).step_by(4) {
        let mut numbers = (0..).map(|i: i32| (i * 7 % 16 - 8) as i8);
        let row = row(stride, || numbers.next().unwrap_or(0));
        assert_eq!(row.stored.len(), row_len(stride));
        let back: Vec<i8> = (0..stride).map(|column| weight(&row.stored, column, stride)).collect();
        assert_eq!(back, row.weights);
        let sum = row.weights.iter().map(|&w| u32::from(w.unsigned_abs()).pow(2)).sum();
        assert_eq!(squares(&row.stored, stride), Some(sum));
    }
}

#[test]
fn nothing_hides_where_there_are_no_columns() {
    for stride in (4..140).step_by(4) {
        let empty = row(stride, || 0).stored;
        let mut used = vec![0u32; empty.len() / 2];
        (0..stride).flat_map(|column| place(column, stride)).for_each(|(word, low)| used[word] |= 0xf << low);
        for bit in 0..16 * empty.len() {
            let mut damaged = empty.clone();
            damaged[bit / 16] |= (1u16 << (bit % 16)) as i16;
            let is_used = used[bit / 32] >> (bit % 32) & 1 == 1 || bit / 16 == SCALE;
            assert_eq!(squares(&damaged, stride).is_some(), is_used, "{stride} columns, bit {bit}");
        }
    }
}

#[test]
fn sums_that_wrap_wrap_alike() {
    let ends = [i16::MIN, i16::MIN + 1, -1, 0, 1, i16::MAX];
    for stride in (4..=300).step_by(4).chain([16_380, 16_384]) {
        for weight in [-8, 7] {
            let rows: Vec<Row> = (0..5).map(|_| row(stride, || weight)).collect();
            ends.iter().for_each(|&value| all_agree(&rows, &vec![value; stride]));
        }
    }
}

/// Checks that the dot product is exact for the longest query that the documentation allows.
#[test]
fn the_longest_query_does_not_overflow() {
    for stride in (4..=512).step_by(4) {
        // Along a group of the smallest weights, which 32 bits hold no more of.
        for weight in [-8i8, 7] {
            let (numbers, mut scales) = (vec![weight; stride], vec![0; stride.div_ceil(GROUP)]);
            scales[0] = 1;
            let first = (0..stride).take_while(|&column| group_of(column, stride) == 0).count();
            let norm = f64::from(1 << 23) / f64::from(least_largest_row(stride)).sqrt();
            let value = (norm / (first as f64).sqrt()).ceil() as i16 - 1;
            let query: Vec<i16> = (0..stride).map(|column| if column < first { value } else { 0 }).collect();
            let mut dots = [0];
            super::dots(&pack(&numbers, &scales), None, &in_slots(&query), &mut dots);
            assert_eq!(dots[0], 256 * i32::from(weight) * i32::from(value) * first as i32, "{stride} columns");
        }
    }
}

proptest! {
    #[test]
    fn every_kernel_gives_the_integers_of_the_plain_loop(
        words in 1usize..70,
        count in 1usize..11,
        seed in any::<u64>(),
    ) {
        let stride = words * 4;
        let mut state = seed | 1;
        let mut next = || { state = state.wrapping_mul(6364136223846793005).wrapping_add(1); (state >> 33) as i16 };
        let rows: Vec<Row> = (0..count).map(|_| row(stride, || (next() % 8) as i8)).collect();
        let query: Vec<i16> = (0..stride).map(|_| next()).collect();
        all_agree(&rows, &query);
    }
}
