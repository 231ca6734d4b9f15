//! What holds for every tree, every budget and every memory that are accepted: a class, within the cap, with the right odds.

use rand_pcg::Pcg32;
use zhat::estimators::{HeadBuffer, moments, moments_with_samples, retrieve};
use zhat::host::flat_model;
use zhat::{Budget, Classifier, Error, Model, QueryBuffer, exact};

use super::support::{D, Memory, N, Shape, assert_unbiased, clustered, log_z, model_of_tree, noise, query, tree_model};

/// A small generator that a failure can be repeated with.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 += 1;
        (((noise(self.0 as usize, 77) + 1.0) * 0.5 * limit as f32) as usize).min(limit - 1)
    }

    /// Parts of at least one row each.
    fn parts(&mut self, rows: usize, most: usize) -> Vec<usize> {
        let count = 1 + self.below(most.min(rows));
        let mut parts = vec![1; count];
        let mut left = rows - count;
        for part in &mut parts[1..] {
            let more = self.below(left + 1).min(2 * rows / count);
            *part += more;
            left -= more;
        }
        parts[0] += left;
        parts
    }
}

/// Trees from a single leaf to several levels of families of very different sizes, some above 32.
fn shape(rows: usize, seed: u32) -> Shape {
    let mut random = Random(1000 * seed);
    let (top, branching, leaf, levels) =
        [(8, 4, 8, 6), (70, 3, 2, 8), (3, 40, 30, 3), (1, 2, 1, 12), (40, 70, 5, 4)][seed as usize % 5];
    Shape::grow(rows, levels, |level, _, rows| match level {
        0 => random.parts(rows, top),
        _ if rows <= leaf => Vec::new(),
        _ => random.parts(rows, branching),
    })
}

/// The words that an answer needs at least.
fn least_words(classifier: &Classifier<'_>) -> usize {
    match classifier.classify::<1>(&query::<D>(classifier.model(), 1.0, 0), &mut []) {
        Err(Error::ScratchWords(words)) => words as usize,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_accepted_budget_and_memory_give_a_class_within_the_cap() {
    for (seed, n) in [1, 2, 3, 5, 20, 33, 64, 150, 300, 701, 1500, 3000].into_iter().cycle().take(60).enumerate() {
        let seed = seed as u32;
        let (rows, biases) = clustered(n, D, 1.0);
        let shape = shape(n, seed);
        let file = model_of_tree(&rows, &biases, &shape, u32::MAX, 1.0);
        let model = file.model();
        let (least, nodes) = (model.least_cap(), shape.spans.len());
        let all = Classifier::new(model).expect("any budget");
        assert_eq!(all.with_budget(Budget::new(least as u32 - 1)).err(), Some(Error::Budget(least as u32)));
        let (mut random, least_words) = (Random(seed + 5), least_words(&all));
        for round in 0..12 {
            let cap = (least + [0, 1, random.below(40), random.below(n + nodes)][round % 4]) as u32;
            let epsilon = if round % 3 == 2 { 0.2 } else { 0.0 };
            let budget = Budget::new(cap).with_epsilon(epsilon).with_expand(round as u32 % 9);
            let classifier = all.with_budget(budget).expect("at least the least");
            let enough = model.scratch_words_for(&budget).max(least_words);
            let words = [least_words, enough, least_words + random.below(enough - least_words + 1)][round % 3];
            // What is left of another search does not matter.
            let mut memory = vec![0xdead_beef; words];
            let query = query::<D>(&model, [0.0, 0.01, 1.0, 8.0][random.below(4)], random.0);
            let answer = classifier.classify::<3>(&query, &mut memory).expect("enough memory");
            let name = format!("seed {seed}, round {round}: N = {n}, cap {cap}, {words} of {enough} words");
            assert!(!answer.top.is_empty(), "{name}");
            assert!(answer.work.row_equivalents() <= cap, "{name}: {:?}", answer.work);
            assert!(answer.log_z().is_finite(), "{name}");
            assert!(words < enough || !answer.overflowed(), "{name}");
            if epsilon == 0.0 {
                // A tolerance that nothing keeps to ends no search, however short its memory is.
                let patient = all.with_budget(budget.with_epsilon(f32::MIN_POSITIVE)).expect("the same cap");
                let same = patient.classify::<3>(&query, &mut memory).expect("enough memory");
                assert_eq!(same.work, answer.work, "{name}");
            }
            let mut buffer = HeadBuffer::<2>::new();
            let head = retrieve(&model, &query, &budget, &mut memory, &mut buffer).expect("enough memory");
            assert!(!head.candidates().is_empty(), "{name}");
            let rng = &mut Pcg32::new(u64::from(seed), 1);
            match classifier.sample(&query, &mut memory, rng) {
                Ok(drawn) => assert!(drawn.work.row_equivalents() <= cap && drawn.p <= 1.0, "{name}"),
                Err(error) => assert_eq!((error, cap as usize), (Error::Budget(least as u32 + 1), least), "{name}"),
            }
            let samples = random.below(4).min(cap as usize - least);
            let sampled = moments_with_samples(&model, &query, &budget, samples, &mut memory, rng).expect("enough");
            assert!(sampled.work.row_equivalents() <= cap && sampled.work.rows > 0, "{name}");
            if words > least_words {
                continue;
            }
            let short = classifier.classify::<3>(&query, &mut memory[1..]);
            assert_eq!(short.err(), Some(Error::ScratchWords(least_words as u32)), "{name}");
        }
    }
}

/// A model, and a budget that its least memory is not enough for.
fn cramped(far_factor: f32) -> (zhat::model::ModelBuf, Budget) {
    let (rows, biases) = clustered(N, D, 1.2);
    let mut random = Random(3);
    let shape = Shape::grow(N, 4, |level, _, rows| match level {
        0 => random.parts(rows, 8),
        _ if rows <= 4 => Vec::new(),
        _ => random.parts(rows, 6),
    });
    (model_of_tree(&rows, &biases, &shape, 200, far_factor), Budget::new(120).with_expand(2))
}

#[test]
fn nodes_without_room_for_their_children_keep_their_factor() {
    let ((plain, budget), (doubled, _)) = (cramped(1.0), cramped(2.0));
    let classifiers = [&plain, &doubled]
        .map(|file| Classifier::new(file.model()).and_then(|c| c.with_budget(budget)).expect("an index"));
    let words = least_words(&classifiers[0]);
    let mut short = 0;
    for salt in 0..20 {
        let [plain, doubled] = classifiers.map(|classifier| {
            let query = query::<D>(classifier.model(), 1.0, salt);
            classifier.classify::<1>(&query, &mut vec![0; words]).expect("enough")
        });
        short += usize::from(plain.overflowed());
        assert_eq!((plain.work, plain.overflowed()), (doubled.work, doubled.overflowed()));
        let expected = plain.log_z() + plain.far_share.ln_1p();
        assert!((doubled.log_z() - expected).abs() < 1e-4, "{salt}: {} {expected}", doubled.log_z());
    }
    assert!(short > 10, "{short}: the memory is not short");
}

#[test]
fn samples_are_unbiased_and_draws_have_their_odds_where_memory_is_short() {
    let (file, budget) = cramped(1.0);
    let model = file.model();
    let classifier = Classifier::new(model).and_then(|c| c.with_budget(budget)).expect("an index");
    let words = least_words(&classifier);
    for salt in 0..3 {
        let query = query::<D>(&model, 1.0, salt);
        assert!(classifier.classify::<1>(&query, &mut vec![0; words]).expect("enough").overflowed());
        let run = |seed| {
            let (mut memory, mut rng) = (vec![0; words], Pcg32::new(seed, 3));
            moments_with_samples(&model, &query, &budget, 30, &mut memory, &mut rng).expect("enough").log_z()
        };
        assert_unbiased(&format!("short memory, {salt}"), log_z(&model, &query), 0.02, 1500, run);
        // The best class that the search scores is drawn as often as its p says: nothing comes in the place of what had no
        // room. And every part of the rows is reached. (An eighth of the budget is kept for the far field.)
        let mut rng = Pcg32::new(9, u64::from(salt));
        let mut counts = vec![0_u32; N];
        let mut memory = vec![0; words];
        let (draws, mut p) = (4000, [0.0; N]);
        for _ in 0..draws {
            let drawn = classifier.sample(&query, &mut memory, &mut rng).expect("enough");
            counts[drawn.class as usize] += 1;
            p[drawn.class as usize] = drawn.p;
        }
        let near = classifier.with_budget(budget.with_cap(budget.cap - budget.cap / 8)).expect("enough");
        let best = near.classify::<1>(&query, &mut memory).expect("enough").top[0].class as usize;
        let (share, p) = (counts[best] as f32 / draws as f32, p[best]);
        assert!((share - p).abs() < 4.0 * (p / draws as f32).sqrt(), "{salt}: drawn {share}, p {p}");
        let drawn = counts.iter().filter(|&&count| count > 0).count();
        assert!(drawn > N / 2, "{salt}: {drawn} classes drawn");
    }
}

#[test]
fn a_model_without_an_index_is_answered_exactly_by_the_same_functions() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = flat_model(&rows, &biases).expect("valid");
    let model = file.model();
    let classifier = Classifier::new(model).expect("any model");
    assert!(classifier.is_exact());
    assert_eq!((model.scratch_words(), classifier.budget()), (0, Budget::new(N as u32)));
    assert_eq!(classifier.with_budget(Budget::new(N as u32 - 1)).err(), Some(Error::Budget(N as u32)));
    let query = query::<D>(&model, 1.0, 1);
    let truth = exact::<5>(&model, &query).expect("valid");
    let answer = classifier.classify::<5>(&query, &mut []).expect("no memory");
    assert_eq!((answer.log_z(), &answer.top, answer.work), (truth.log_z(), &truth.top, truth.work));
    let (low, high) = classifier.certain_log_z(&query, &mut []).expect("no memory");
    assert!(low <= truth.log_z() && truth.log_z() <= high && high - low < 1e-3);
    let (top, work) = classifier.certain_top::<5>(&query, &mut []).expect("no memory");
    assert_eq!(work, truth.work);
    assert!(
        top.iter().zip(&truth.top).all(|(found, ranked)| (found.class, found.score) == (ranked.class, ranked.score))
    );
    let mut rng = Pcg32::new(1, 1);
    let draws = 3000;
    let best = (0..draws).filter(|_| {
        let drawn = classifier.sample(&query, &mut [], &mut rng).expect("no memory");
        drawn.class == truth.top[0].class
    });
    let share = best.count() as f32 / draws as f32;
    assert!((share - truth.top[0].p).abs() < 4.0 * (0.25 / draws as f32).sqrt(), "{share} {}", truth.top[0].p);
}

#[test]
fn no_query_and_one_of_another_model_are_errors_everywhere() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = tree_model(&rows, &biases, 8, 100);
    // The same rows with another budget: another file, and another model.
    let other = tree_model(&rows, &biases, 8, 101);
    let model = file.model();
    let mut refused = QueryBuffer::<D>::new(&model, &[0.5; D]).expect("valid");
    assert!(ask(&model, &refused).iter().all(Option::is_none));
    assert_eq!(refused.set(&model, &[f32::NAN; D]), Err(Error::QueryNotFinite));
    assert_eq!(ask(&model, &refused), [Some(Error::NoQuery); 8]);
    refused.set(&model, &[0.5; D]).expect("valid");
    assert_eq!(refused.set(&model, &[1e30; D]), Err(Error::QueryTooLarge));
    assert_eq!(ask(&model, &refused), [Some(Error::NoQuery); 8]);
    assert_eq!(ask(&model, &QueryBuffer::<D>::empty()), [Some(Error::NoQuery); 8]);
    let foreign = QueryBuffer::<D>::new(&other.model(), &[0.5; D]).expect("valid");
    assert_eq!(ask(&model, &foreign), [Some(Error::OtherModel); 8]);
}

/// What every way to ask says to a query.
fn ask(model: &Model<'_>, query: &QueryBuffer<D>) -> [Option<Error>; 8] {
    use zhat::estimators::{Head, mimps, mince, uniform};
    let (memory, rng) = (&mut Memory::new(), &mut Pcg32::new(1, 1));
    let classifier = Classifier::new(*model).expect("an index");
    let budget = classifier.budget();
    let own = QueryBuffer::<D>::new(model, &[0.5; D]).expect("valid");
    let answer = exact::<1>(model, &own).expect("valid");
    [
        classifier.classify::<1>(query, memory).err(),
        classifier.sample(query, memory, rng).err(),
        exact::<1>(model, query).err(),
        answer.probability(model, query, 0).err(),
        moments(model, query, &budget, memory).err(),
        moments_with_samples(model, query, &budget, 5, memory, rng).err(),
        retrieve(model, query, &budget, memory, &mut HeadBuffer::<4>::new()).err(),
        uniform(model, query, 5, rng, memory)
            .and_then(|_| mimps(model, query, 5, &Head::empty(), rng, memory))
            .and_then(|_| mince(model, query, 0, &Head::empty(), rng, memory, &mut []))
            .err(),
    ]
}
