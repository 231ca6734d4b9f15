//! MINCE against a plain float64 transcription of the paper's formulas (FMBE's is beside its table, in `host::fmbe`).

use rand_pcg::Pcg32;
use zhat::estimators::{OracleHead, RetrievalError, mince};
use zhat::host::flat_model;
use zhat::internal::mince_by_newton;
use zhat::{Log2, QueryBuffer};

use super::support::{D, N, WORDS, clustered, log_z, query};

/// J(Z) as it stands in section 4.2, before it is simplified.
fn objective(log_z: f64, head: &[f64], noise: &[f64]) -> f64 {
    let (k, l) = (head.len() as f64, noise.len() as f64);
    let nu = l / k / (N as f64 - k);
    let p = |u: f64| (u - log_z).exp();
    let data: f64 = head.iter().map(|&u| (p(u) / (p(u) + nu)).ln()).sum();
    data + noise.iter().map(|&u| (nu / (p(u) + nu)).ln()).sum::<f64>()
}

/// arg max J, as ln Z, by golden sections: no derivative, and none of the solver's ideas.
fn maximum(head: &[f64], noise: &[f64]) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (-60.0, 60.0);
    for _ in 0..100 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if objective(a, head, noise) > objective(b, head, noise) { high = b } else { low = a }
    }
    0.5 * (low + high)
}

#[test]
fn mince_is_the_maximum_of_the_paper_s_objective_and_within_its_bound() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    for (salt, k, l) in [(0, 20, 30), (1, 100, 100), (2, 5, 200), (3, 1, 1), (4, 200, 100)] {
        let query: QueryBuffer<D> = query(&model, 1.5, salt);
        let head = OracleHead::new(&model, &query, k, RetrievalError::None).expect("valid");
        let mut room = [Log2::MIN; N];
        let rng = &mut Pcg32::new(9, 1);
        let found = mince(&model, &query, l, &head.head(), rng, &mut [0; WORDS], &mut room).expect("memory");
        let nats = |score: Log2| f64::from(score.to_bits()) * std::f64::consts::LN_2 / 262_144.0;
        let data: Vec<f64> = head.head().candidates().iter().map(|c| nats(c.score)).collect();
        let noise: Vec<f64> = room[..l].iter().map(|&score| nats(score)).collect();
        // Noise is drawn from the rows outside of the head, and those are below it.
        let least = data.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(noise.iter().all(|&score| score <= least), "k {k}, l {l}: noise from inside the head");
        let truth = maximum(&data, &noise);
        assert!((f64::from(found.log_z()) - truth).abs() < 1e-4, "k {k}, l {l}: {} is not {truth}", found.log_z());
        let bound = log_z(&model, &query) + ((N - k) as f64 / k as f64).ln();
        assert!(truth <= bound, "k {k}, l {l}: {truth} is above {bound}");
        let rng = &mut Pcg32::new(9, 1);
        let newton = mince_by_newton(&model, &query, l, &head.head(), rng, &mut [0; WORDS], &mut room).expect("memory");
        assert!((newton.log_z() - found.log_z()).abs() < 1e-4, "k {k}, l {l}: {}", newton.log_z());
    }
}
