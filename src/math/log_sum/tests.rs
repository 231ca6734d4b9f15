use super::*;

fn sum_of(terms: impl IntoIterator<Item = f32>) -> LogSum {
    let mut sum = LogSum::new();
    terms.into_iter().for_each(|nats| sum.add(Log2::from_nats(nats)));
    sum
}

#[test]
fn equal_terms_share_equally() {
    for n in [1usize, 2, 3, 4096, 100_000, 1_000_000] {
        for nats in [-900.0, -3.3, 0.0, 700.0] {
            let sum = sum_of(core::iter::repeat_n(nats, n));
            let share = sum.share(Log2::from_nats(nats));
            assert!((share * n as f32 - 1.0).abs() < 1e-5, "{n} terms of {nats}: {share}");
        }
    }
}

#[test]
fn no_number_of_terms_overflows() {
    // Doubling by add_sum reaches 2^40 terms without a loop of that length.
    let mut sum = sum_of([5.0]);
    for doublings in 1..=40 {
        let copy = sum;
        sum.add_sum(&copy);
        let expected = 5.0 + doublings as f32 * core::f32::consts::LN_2;
        assert!((sum.ln() - expected).abs() < 1e-4, "{doublings}: {} {expected}", sum.ln());
    }
}

#[test]
fn order_and_spread_do_not_matter() {
    let terms: Vec<f32> = (0..5000).map(|i| ((i * 7919) % 1000) as f32 * 0.09 - 60.0).collect();
    let truth = terms.iter().map(|&t| f64::from(t).exp()).sum::<f64>().ln() as f32;
    let up = sum_of(terms.iter().copied());
    let down = sum_of(terms.iter().rev().copied());
    assert!((up.ln() - truth).abs() < 1e-5, "{} {truth}", up.ln());
    assert!((down.ln() - truth).abs() < 1e-5);
}

#[test]
fn many_terms_at_once_are_the_same_as_one_by_one() {
    let bits: Vec<i32> = (0..1000).map(|i| (i * 7919 % 1000 - 900) * 40_000).collect();
    let mut at_once = LogSum::new();
    at_once.add_all(&bits);
    let mut one_by_one = LogSum::new();
    bits.iter().for_each(|&bits| one_by_one.add(Log2::from_bits(bits)));
    assert_eq!(at_once.ln(), one_by_one.ln());
    let mut in_blocks = LogSum::new();
    bits.chunks(4 * LogSum::CHUNK).for_each(|block| in_blocks.add_all(block));
    assert_eq!(at_once, in_blocks);
}

#[test]
fn one_term_far_above_the_rest_has_all_of_it() {
    let sum = sum_of(core::iter::repeat_n(0.0, 100_000).chain([80.0]));
    assert_eq!(sum.share(Log2::from_nats(80.0)), 1.0);
    assert!(sum.share(Log2::from_nats(0.0)) < 2e-35);
    assert!((sum.ln() - 80.0).abs() < 1e-4);
}

#[test]
fn what_was_added_can_be_taken_off() {
    let mut sum = sum_of([1.0, 2.0, 3.0]);
    sum.subtract_sum(&sum_of([3.0]));
    assert!((sum.ln() - sum_of([1.0, 2.0]).ln()).abs() < 1e-6);
    sum.subtract_sum(&sum_of([10.0]));
    assert!(sum.is_zero());
}

#[test]
fn a_scaled_sum_is_the_product() {
    for nats in [-4000.0, -3.0, 0.0, 700.0] {
        for (number, divisor) in [(1, 1), (1, 3), (10_000, 7), (u32::MAX, 1), (1, u32::MAX), (340_000, 339_999)] {
            for count in [1usize, 70_000] {
                let sum = sum_of(core::iter::repeat_n(nats, count)).scaled(number, divisor);
                let truth = f64::from(nats) + (count as f64 * f64::from(number) / f64::from(divisor)).ln();
                assert!((f64::from(sum.ln()) - truth).abs() < 1e-6 * truth.abs().max(4.0), "{nats} {number}");
                let mut twice = sum;
                twice.add_sum(&sum);
                assert!((twice.share_of_sum(&sum) - 0.5).abs() < 1e-6);
                twice.subtract_sum(&sum);
                assert!((twice.ln() - sum.ln()).abs() < 1e-6 * truth.abs().max(4.0) as f32);
            }
        }
    }
    assert!(sum_of([1.0]).scaled(0, 5).is_zero() && LogSum::new().scaled(5, 5).is_zero());
}

#[test]
fn a_term_wins_as_often_as_its_share() {
    let mut sum = sum_of([0.0, 1.0, 2.0]);
    let share = f64::from(sum.share(Log2::from_nats(1.0)));
    let step = u64::MAX / 100_000;
    let won = (0..100_000).filter(|&i| sum.is_won_by(Log2::from_nats(1.0), i * step)).count();
    assert!((won as f64 / 1e5 - share).abs() < 2e-5, "{won} {share}");
    let mut alone = sum_of([-900.0]);
    assert!(alone.is_won_by(Log2::from_nats(-900.0), u64::MAX));
}

#[test]
fn the_fixed_point_logarithm_agrees_with_the_float_one() {
    let sum = sum_of([-3.0, 4.5, 4.6]);
    assert!((sum.log2().to_nats() - sum.ln()).abs() < 1e-5);
    assert_eq!(LogSum::new().log2(), Log2::MIN);
}

#[test]
fn terms_at_the_ends_of_the_range_are_defined() {
    let mut sum = LogSum::new();
    sum.add(Log2::MIN);
    sum.add(Log2::MAX);
    assert_eq!(sum.share(Log2::MAX), 1.0);
    assert_eq!(sum.share(Log2::MIN), 0.0);
    assert!(sum.ln().is_finite());
}

#[test]
fn a_factor_adds_to_the_logarithm() {
    for nats in [-700.0, -0.3, 0.0, 12.5] {
        for factor in [-40.0, -0.7, 0.0, 0.001, 5.5] {
            let sum = sum_of([nats, nats - 1.0, nats - 30.0]);
            let times = sum.times(Log2::from_nats(factor));
            assert!((times.ln() - sum.ln() - factor).abs() < 1e-4, "{nats}, {factor}: {}", times.ln());
        }
    }
    assert!(LogSum::new().times(Log2::of(8)).is_zero());
}

#[test]
fn rough_bits_are_within_a_tenth_of_a_bit_and_in_order() {
    let mut before = i32::MIN;
    for i in -2000..2000 {
        let sum = sum_of([i as f32 * 0.37]);
        let off = sum.log2().to_bits() - sum.rough_bits();
        assert!((0..=(1 << Log2::FRACTION_BITS) / 10).contains(&off), "{i}: {off}");
        assert!(sum.rough_bits() > before);
        before = sum.rough_bits();
    }
    assert_eq!(LogSum::new().rough_bits(), i32::MIN);
}
