//! Tests of training a language model, on small generated languages.

use std::sync::atomic::{AtomicBool, Ordering};

use rand_core::Rng;
use rand_pcg::Pcg32;
use zhat::Error as ModelError;
use zhat::host::flat_model;
use zhat::language::Context;

use crate::error::Error;
use crate::evaluate::evaluate;
use crate::settings::{Objective, Settings};
use crate::shape::Tying;
use crate::text::Tokens;
use crate::train::{Outcome, Stage, Trainer};
use crate::trained::Evaluation;
use crate::vocabulary::Vocabulary;

/// A Markov chain over words and the sentence end, which is state 0.
struct Chain {
    transitions: Vec<Vec<f64>>,
}

impl Chain {
    /// Makes a random chain: from every state some words are likely, none is impossible.
    fn new(states: usize, seed: u64) -> Self {
        let mut rng = Pcg32::new(seed, 7);
        let mut row = || {
            let weights: Vec<f64> = (0..states).map(|_| (6.0 * uniform(&mut rng)).exp()).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter().map(|w| w / sum).collect()
        };
        let mut transitions: Vec<Vec<f64>> = (0..states).map(|_| row()).collect();
        // A sentence has at least one word.
        let end = transitions[0][0];
        transitions[0].iter_mut().for_each(|p| *p /= 1.0 - end);
        transitions[0][0] = 0.0;
        Self { transitions }
    }

    fn text(&self, tokens: usize, seed: u64) -> String {
        let mut rng = Pcg32::new(seed, 9);
        let (mut text, mut state) = (String::new(), 0);
        for _ in 0..tokens {
            let mut u = uniform(&mut rng);
            let row = &self.transitions[state];
            let next = row.iter().position(|p| {
                u -= p;
                u < 0.0
            });
            state = next.unwrap_or(row.len() - 1);
            text += &if state == 0 { "\n".to_owned() } else { format!("w{state} ") };
        }
        text
    }

    /// Returns exp of the entropy rate: Σ_i π_i H(row i) under the stationary distribution π.
    fn perplexity(&self) -> f64 {
        let n = self.transitions.len();
        let mut stationary = vec![1.0 / n as f64; n];
        for _ in 0..1000 {
            let next = |j| stationary.iter().zip(&self.transitions).map(|(p, row)| p * row[j]).sum();
            stationary = (0..n).map(next).collect();
        }
        let entropy = |row: &Vec<f64>| -> f64 { -row.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>() };
        stationary.iter().zip(&self.transitions).map(|(p, row)| p * entropy(row)).sum::<f64>().exp()
    }
}

fn uniform(rng: &mut Pcg32) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

fn small() -> Settings {
    Settings { dimension: 20, context: 2, batch: 64, learning_rate: 0.006, epochs: 5, ..Settings::default() }
}

/// Trains on one text of the chain and measures on another.
fn learn(chain: &Chain, settings: Settings) -> Evaluation {
    let text = chain.text(40_000, 1);
    let vocabulary = Vocabulary::from_text(&text, None).unwrap();
    let train = Tokens::new(&text, &vocabulary).unwrap();
    let valid = Tokens::new(&chain.text(10_000, 2), &vocabulary).unwrap();
    let test = Tokens::new(&chain.text(20_000, 3), &vocabulary).unwrap();
    let mut trainer = Trainer::new(settings, vocabulary, &train).unwrap();
    let outcome = trainer.run(&train, &valid, &AtomicBool::new(false), &mut |_, _| {});
    assert_eq!(outcome.unwrap(), Outcome::Finished);
    evaluate(&trainer.best(), &test).unwrap()
}

#[test]
fn perplexity_falls_to_the_entropy_of_the_language() {
    let chain = Chain::new(20, 4);
    let target = chain.perplexity();
    for tying in [Tying::Untied, Tying::Mapped { maps: 1 }] {
        let found = learn(&chain, Settings { tying, ..small() });
        let ratio = found.perplexity / target;
        assert!((0.95..1.05).contains(&ratio), "{tying:?}: {} of {target}", found.perplexity);
    }
}

#[test]
fn contrastive_training_reaches_the_entropy_and_learns_to_be_normalised() {
    let chain = Chain::new(20, 4);
    let target = chain.perplexity();
    let objective = Objective::Contrastive { noise: 50 };
    let found = learn(&chain, Settings { objective, ..small() });
    let ratio = found.perplexity / target;
    assert!((0.95..1.05).contains(&ratio), "{} of {target}", found.perplexity);
    assert!(found.mean_log_z.abs() < 0.03, "{found:?}");
    assert!(found.deviation_log_z < 0.1, "{found:?}");
}

#[test]
fn penalty_normalises_and_costs_little() {
    let chain = Chain::new(20, 4);
    let plain = learn(&chain, small());
    let objective = Objective::SelfNormalised { penalty: 1.0 };
    let found = learn(&chain, Settings { objective, ..small() });
    assert!(found.perplexity < 1.02 * plain.perplexity);
    assert!(found.mean_log_z.abs() < 0.02, "{found:?}");
    assert!(found.deviation_log_z < 0.05, "{found:?}");
}

/// Runs a few dozen steps on `threads` threads.
fn short_run(settings: Settings, threads: usize) -> Trainer {
    let chain = Chain::new(600, 4);
    let text = chain.text(6_000, 1);
    let vocabulary = Vocabulary::from_text(&text, None).unwrap();
    let train = Tokens::new(&text, &vocabulary).unwrap();
    let mut trainer = Trainer::new(settings, vocabulary, &train).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| trainer.run(&train, &train, &AtomicBool::new(false), &mut |_, _| {})).unwrap();
    trainer
}

#[test]
fn a_seed_gives_one_model_on_any_number_of_threads() {
    let objectives = [
        Objective::MaximumLikelihood,
        Objective::SelfNormalised { penalty: 0.1 },
        Objective::Contrastive { noise: 300 },
    ];
    for objective in objectives {
        let settings = Settings { objective, epochs: 1, dropout: 0.1, tying: Tying::Mapped { maps: 2 }, ..small() };
        let one = short_run(settings, 1);
        assert!(one == short_run(settings, 1), "{objective:?} twice");
        assert!(one == short_run(settings, 3), "{objective:?} on three threads");
        let other = short_run(Settings { seed: 2, ..settings }, 1);
        assert!(one.best() != other.best(), "{objective:?} with another seed");
    }
}

#[test]
fn a_stopped_run_continues_from_its_checkpoint_as_if_nothing_had_happened() {
    let chain = Chain::new(30, 4);
    let text = chain.text(6_000, 1);
    let vocabulary = Vocabulary::from_text(&text, None).unwrap();
    let train = Tokens::new(&text, &vocabulary).unwrap();
    let settings = Settings { epochs: 2, dropout: 0.1, ..small() };
    let mut whole = Trainer::new(settings, vocabulary.clone(), &train).unwrap();
    whole.run(&train, &train, &AtomicBool::new(false), &mut |_, _| {}).unwrap();

    let mut half = Trainer::new(settings, vocabulary, &train).unwrap();
    let stop = AtomicBool::new(false);
    let outcome = half.run(&train, &train, &stop, &mut |_, progress| {
        stop.store(progress.stage == Stage::Training && progress.step >= 100, Ordering::Relaxed);
    });
    assert_eq!(outcome.unwrap(), Outcome::Stopped);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    half.save(&path).unwrap();
    let mut rest = Trainer::load(&path).unwrap();
    assert!(rest == half, "a checkpoint holds the whole run");
    let outcome = rest.run(&train, &train, &AtomicBool::new(false), &mut |_, _| {});
    assert_eq!(outcome.unwrap(), Outcome::Finished);
    assert!(rest == whole);
}

#[test]
fn a_rate_that_is_far_too_high_is_reported_with_its_step() {
    let text = Chain::new(20, 4).text(2_000, 1);
    let vocabulary = Vocabulary::from_text(&text, None).unwrap();
    let train = Tokens::new(&text, &vocabulary).unwrap();
    let settings = Settings { learning_rate: 1e30, ..small() };
    let mut trainer = Trainer::new(settings, vocabulary, &train).unwrap();
    let error = trainer.run(&train, &train, &AtomicBool::new(false), &mut |_, _| {});
    assert!(matches!(error, Err(Error::Diverged { step: 1 })), "{error:?}");
}

#[test]
fn a_text_of_another_vocabulary_is_refused() {
    let text = "a b c\na c\n";
    let vocabulary = Vocabulary::from_text(text, None).unwrap();
    let train = Tokens::new(text, &vocabulary).unwrap();
    let smaller = Vocabulary::from_text(text, Some(4)).unwrap();
    let other = Tokens::new(text, &smaller).unwrap();
    let mut trainer = Trainer::new(small(), vocabulary, &train).unwrap();
    let outcome = trainer.run(&train, &other, &AtomicBool::new(false), &mut |_, _| {});
    assert!(matches!(outcome, Err(Error::Setting(_))));
    assert!(evaluate(&trainer.best(), &other).is_err());
}

#[test]
fn a_trained_model_predicts_the_next_word() {
    let text = "the cat sat on the mat\nthe dog sat on the rug\n".repeat(50);
    let vocabulary = Vocabulary::from_text(&text, None).unwrap();
    let tokens = Tokens::new(&text, &vocabulary).unwrap();
    let settings = Settings { dimension: 8, context: 3, batch: 16, learning_rate: 0.02, ..Settings::default() };
    let mut trainer = Trainer::new(settings, vocabulary.clone(), &tokens).unwrap();
    trainer.run(&tokens, &tokens, &AtomicBool::new(false), &mut |_, _| {}).unwrap();
    let model = trainer.best();
    assert!(evaluate(&model, &tokens).unwrap().perplexity < 2.0);
    let queries = model.queries(&model.context(&vocabulary, "the dog sat")).unwrap();
    let scores = model.scores(queries.row(0)).unwrap();
    let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
    assert_eq!(vocabulary.words()[best], "on");
}

#[test]
fn a_device_makes_the_query_of_the_trained_model() {
    let text = "the cat saw the dog\nthe dog saw the cat run\n";
    let vocabulary = Vocabulary::from_text(text, None).unwrap();
    let tokens = Tokens::new(text, &vocabulary).unwrap();
    let settings = Settings { tying: Tying::Mapped { maps: 2 }, dimension: 8, context: 3, ..Settings::default() };
    let trained = Trainer::new(settings, vocabulary.clone(), &tokens).unwrap().best();
    let folder = tempfile::tempdir().unwrap();
    trained.export(&vocabulary, folder.path()).unwrap();
    let context = std::fs::read(folder.path().join("context.bin")).unwrap();
    let context: Vec<u32> = context.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    let context = Context::from_bytes(bytemuck::cast_slice(&context), 8).unwrap();
    let file = flat_model(&trained.rows(), trained.bias()).unwrap();
    let model = file.model();
    let words = trained.context(&vocabulary, "saw the dog");
    let expected = trained.queries(&words).unwrap();
    let words: Vec<usize> = words.iter().map(|&word| word as usize).collect();
    let query = context.query::<8, 16>(&model, &words).unwrap();
    for (a, b) in query.iter().zip(expected.row(0)) {
        assert!((a - b).abs() < 0.01, "{query:?}\n{:?}", expected.row(0));
    }
    assert_eq!(context.query::<8, 16>(&model, &[0, 1]), Err(ModelError::QueryLength));
    assert_eq!(context.query::<8, 24>(&model, &words), Err(ModelError::QueryLength));
    assert_eq!(context.query::<8, 16>(&model, &[0, 1, 99]), Err(ModelError::NoSuchClass));
}
