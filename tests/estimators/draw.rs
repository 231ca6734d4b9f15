//! Drawn classes come with the probabilities that they should have.

use rand_pcg::Pcg32;
use zhat::{Budget, Classifier, exact};

use super::support::{D, Memory, N, clustered, query, tree_model};

/// The classes that were drawn, by class.
fn counts(classifier: &Classifier<'_>, query: &zhat::Query, draws: u32, seed: u64) -> Vec<u32> {
    let mut rng = Pcg32::new(seed, 1);
    let mut memory = Memory::new();
    let mut counts = vec![0; classifier.model().classes()];
    for _ in 0..draws {
        let drawn = classifier.sample(query, &mut memory, &mut rng).expect("memory");
        assert!(drawn.work.row_equivalents() <= classifier.budget().cap, "{drawn:?}");
        assert!((0.0..=1.0).contains(&drawn.p));
        counts[drawn.class as usize] += 1;
    }
    counts
}

#[test]
fn frequencies_are_the_softmax_when_everything_is_opened() {
    let (rows, biases) = clustered(40, D, 1.0);
    let file = tree_model(&rows, &biases, 4, 200);
    let model = file.model();
    let classifier = Classifier::new(model).expect("a tree");
    let draws = 20_000;
    for salt in 0..3 {
        let query = query::<D>(&model, 1.0, salt);
        let truth = exact::<40>(&model, &query).expect("valid");
        let counts = counts(&classifier, &query, draws, u64::from(salt));
        // Pearson's statistic over the classes that are expected five times or more, the others together as one.
        let (mut statistic, mut cells, mut rare) = (0.0, 0, (0.0, 0.0));
        for ranked in &truth.top {
            let (expected, seen) = (f64::from(ranked.p) * f64::from(draws), f64::from(counts[ranked.class as usize]));
            if expected >= 5.0 {
                statistic += (seen - expected).powi(2) / expected;
                cells += 1;
            } else {
                rare = (rare.0 + expected, rare.1 + seen);
            }
        }
        if rare.0 > 1.0 {
            statistic += (rare.1 - rare.0).powi(2) / rare.0;
        }
        // Mean `cells`, variance twice that: five deviations above is one in a million.
        let limit = f64::from(cells) + 5.0 * (2.0 * f64::from(cells)).sqrt();
        assert!(cells > 10 && statistic < limit, "query {salt}, seed {salt}: {statistic} of {cells} cells");
    }
}

#[test]
fn scored_classes_keep_their_odds_and_far_ones_are_reached_on_a_small_budget() {
    let (rows, biases) = clustered(N, D, 0.6);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    let budget = Budget::new(110).with_expand(2);
    let classifier = Classifier::new(model).and_then(|c| c.with_budget(budget)).expect("a tree");
    let query = query::<D>(&model, 1.0, 1);
    let draws = 60_000;
    let counts = counts(&classifier, &query, draws, 3);
    let frequency = |class: u32| f64::from(counts[class as usize]) / f64::from(draws);
    // What the search scores without the eighth that drawing keeps for itself.
    let scored = classifier.with_budget(budget.with_cap(110 - 110 / 8)).expect("a tree");
    let scored = scored.classify::<4>(&query, &mut Memory::new()).expect("memory").top;
    for ranked in &scored {
        let error = (f64::from(ranked.p) / f64::from(draws)).sqrt();
        assert!((frequency(ranked.class) - f64::from(ranked.p)).abs() < 4.0 * error, "{ranked:?}: {counts:?}");
    }
    let truth = exact::<N>(&model, &query).expect("valid");
    let reached = counts.iter().filter(|&&count| count > 0).count();
    assert!(reached > N * 9 / 10, "{reached} of {N} classes");
    let distance: f64 = truth.top.iter().map(|t| (frequency(t.class) - f64::from(t.p)).abs()).sum();
    println!("total variation {}", distance / 2.0);
    assert!(distance / 2.0 < 0.12, "total variation {}", distance / 2.0);
}

#[test]
fn the_least_budget_still_draws_or_says_what_it_needs() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    let least = model.least_cap() as u32;
    let query = query::<D>(&model, 1.0, 1);
    let with = |cap| {
        let budget = Budget::new(cap).with_expand(2);
        Classifier::new(model).and_then(|c| c.with_budget(budget)).expect("the least")
    };
    let mut rng = Pcg32::new(1, 1);
    assert_eq!(with(least).sample(&query, &mut Memory::new(), &mut rng).err(), Some(zhat::Error::Budget(least + 1)));
    for cap in least + 1..least + 20 {
        counts(&with(cap), &query, 50, 1);
    }
}
