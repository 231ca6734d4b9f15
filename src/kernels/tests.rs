use super::*;
use proptest::prelude::*;

/// Puts the columns where the kernels of this platform look for them.
fn in_slots(query: &[i16]) -> Vec<i16> {
    let mut slots = vec![0; query.len()];
    query.iter().enumerate().for_each(|(column, &q)| slots[query_slot(column)] = q);
    slots
}

fn truth(row: &[i8], query: &[i16]) -> i32 {
    let sum: i64 = row.iter().zip(query).map(|(&r, &q)| i64::from(r) * i64::from(q)).sum();
    i32::try_from(sum).expect("max_query keeps the sum in 32 bits")
}

#[test]
fn extreme_rows_do_not_overflow_at_any_length() {
    for stride in (4..=MAX_DIM).step_by(4).filter(|s| s % 512 < 8 || *s == MAX_DIM) {
        for sign in [1, -1] {
            let row = vec![-128i8; stride];
            let query = vec![sign * max_query(stride); stride];
            assert_eq!(dot(&row, &query), truth(&row, &query), "{stride}");
            assert_eq!(dot_pair([&row, &row], &query), [truth(&row, &query); 2]);
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
        let mut next = || { state = state.wrapping_mul(6364136223846793005).wrapping_add(1); (state >> 33) as i32 };
        let rows: Vec<i8> = (0..stride * count).map(|_| next() as i8).collect();
        let query: Vec<i16> = (0..stride).map(|_| next() as i16).collect();
        let slots = in_slots(&query);
        let expected: Vec<i32> = rows.chunks(stride).map(|row| truth(row, &query)).collect();
        let mut dots = vec![0; count];
        dot_rows(&rows, &slots, &mut dots);
        prop_assert_eq!(&dots, &expected);
        let picked: Vec<u32> = (0..count as u32).rev().step_by(2).collect();
        dot_picked(&rows, &picked, &slots, &mut dots);
        for (&row, &dot) in picked.iter().zip(&dots) {
            prop_assert_eq!(dot, expected[row as usize]);
        }
        dot_picked(&rows, &[0, count as u32], &slots, &mut dots[..1]);
        prop_assert_eq!(dots[0], expected[0]);
        for (row, &expected) in rows.chunks(stride).zip(&expected) {
            prop_assert_eq!(dot(row, &slots), expected);
            prop_assert_eq!(portable::dot(row, &slots), expected);
            prop_assert_eq!(dot_pair([row, &rows[..stride]], &slots), [expected, truth(&rows[..stride], &query)]);
        }
    }
}
