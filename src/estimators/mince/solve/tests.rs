use proptest::prelude::*;

use super::*;

fn run_with(data: &[f32], noise: &[f32], step: fn(&Difference) -> i64) -> Root {
    let logs = |list: &[f32]| list.iter().map(|&nats| Log2::from_nats(nats)).collect::<Vec<_>>();
    solve(logs(data).into_iter(), logs(noise).into_iter(), step)
}

fn run(data: &[f32], noise: &[f32]) -> Root {
    run_with(data, noise, Difference::halley_step)
}

/// ln G(x) − ln H(x) in f64, with the scores as they were rounded.
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
