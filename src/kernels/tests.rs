use super::*;
use proptest::prelude::*;

/// Puts the values of the columns where the kernels of this platform expect them.
fn in_slots(query: &[i16]) -> Vec<i16> {
    let mut slots = vec![0; query.len()];
    query.iter().enumerate().for_each(|(column, &q)| slots[query_slot(column, query.len())] = q);
    slots
}

/// Computes the expected result of every kernel from the formula in the documentation, modulo 2^32.
fn truth(row: &[i16], query: &[i16]) -> i32 {
    let terms = row.iter().zip(query.as_chunks().0).map(|(&pair, &[even, odd])| {
        i64::from(pair) * i64::from(odd) + 256 * i64::from(weights(pair)[0]) * i64::from(even)
    });
    terms.sum::<i64>() as i32
}

fn all_agree(rows: &[i16], query: &[i16]) {
    let (pairs, slots) = (query.len() / 2, in_slots(query));
    let expected: Vec<i32> = rows.chunks(pairs).map(|row| truth(row, query)).collect();
    let count = expected.len();
    let mut dots = vec![0; count];
    dot_rows(rows, &slots, &mut dots);
    assert_eq!(dots, expected);
    let picked: Vec<u32> = (0..count as u32).rev().step_by(2).collect();
    dot_picked(rows, &picked, &slots, &mut dots);
    for (&row, &dot) in picked.iter().zip(&dots) {
        assert_eq!(dot, expected[row as usize]);
    }
    dot_picked(rows, &[0, count as u32], &slots, &mut dots[..1]);
    assert_eq!(dots[0], expected[0]);
    for (row, &expected_here) in rows.chunks(pairs).zip(&expected) {
        assert_eq!(dot(row, &slots), expected_here);
        assert_eq!(portable::dot(row, &slots), expected_here);
    }
}

#[test]
fn every_pair_of_weights_comes_back() {
    for even in -127..=127 {
        for odd in -127..=127 {
            let pair = pair(even, odd);
            assert_eq!(pair, i16::from(even) + 256 * i16::from(odd));
            assert_eq!(weights(pair), [even, odd]);
        }
    }
    // And nothing else passes for weights.
    let sound = (i16::MIN..=i16::MAX).filter(|&pair| !weights(pair).contains(&i8::MIN));
    assert_eq!(sound.count(), 255 * 255);
    assert_eq!(pair(0, 0), 0);
}

#[test]
fn squares_are_those_of_the_weights_and_minus_128_is_none() {
    let every: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    for word in every.chunks_exact(2) {
        let all = || word.iter().flat_map(|&pair| weights(pair));
        let sum = all().map(|weight| u32::from(weight.unsigned_abs()).pow(2)).sum::<u32>();
        let expected = all().all(|weight| weight != i8::MIN).then_some(sum);
        assert_eq!((squares(word), squares::portable(word)), (expected, expected), "{word:?}");
    }
    let largest = [pair(-127, 127); MAX_DIM / 2];
    assert_eq!(squares(&largest), Some(127 * 127 * MAX_DIM as u32));
    assert_eq!(squares(&[]), Some(0));
}

#[test]
fn slots_are_a_permutation() {
    for stride in (4..200).step_by(4) {
        let mut slots: Vec<usize> = (0..stride).map(|column| query_slot(column, stride)).collect();
        let mut query = vec![0; stride];
        let mut columns = 0..;
        for_each_pair(&mut query, |even, odd| [*even, *odd] = core::array::from_fn(|_| columns.next().unwrap_or(0)));
        assert!((0..stride).all(|column| usize::from(query[slots[column]] as u16) == column));
        slots.sort_unstable();
        assert!(slots.into_iter().eq(0..stride));
    }
}

#[test]
fn sums_that_wrap_wrap_alike() {
    let ends = [i16::MIN, i16::MIN + 1, -1, 0, 255, 0x7f80, i16::MAX];
    for stride in (4..=300).step_by(4).chain([MAX_DIM - 4, MAX_DIM]) {
        for pair in ends {
            for value in ends {
                all_agree(&vec![pair; 5 * stride / 2], &vec![value; stride]);
            }
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
        let rows: Vec<i16> = (0..stride / 2 * count).map(|_| next()).collect();
        let query: Vec<i16> = (0..stride).map(|_| next()).collect();
        all_agree(&rows, &query);
    }
}
