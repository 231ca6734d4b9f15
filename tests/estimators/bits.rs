//! The same seed gives the same bits. The example `estimators` compares all of them between the host and devices; its
//! models are written here.

use rand_pcg::Pcg32;
use zhat::estimators::{moments_with_samples, uniform};
use zhat::host::with_fmbe;
use zhat::model::FmbeKind;
use zhat::{Budget, Classifier};

use super::support::{D, Memory, N, WORDS, clustered, query, tree_model};

/// `cargo test --features std --test estimators -- --ignored` writes them again.
#[test]
#[ignore = "writes the models of the example"]
fn write_the_models_of_the_example() {
    let (rows, biases) = clustered(N, D, 0.6);
    let file = tree_model(&rows, &biases, 8, 100);
    let kinds = [("maclaurin", FmbeKind::Maclaurin), ("centred", FmbeKind::Centred), ("positive", FmbeKind::Positive)];
    for (name, kind) in kinds {
        let path = format!("{}/tests/data/{name}.zhat", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, &*with_fmbe(&file, kind, 100, 11).expect("small")).expect("written");
    }
}

#[test]
fn the_seed_decides_every_bit() {
    let (rows, biases) = clustered(N, D, 1.0);
    let file = tree_model(&rows, &biases, 8, 100);
    let model = file.model();
    let query = query::<D>(&model, 1.5, 0);
    let budget = Budget::new(120).with_expand(4);
    let classifier = Classifier::new(model).expect("a tree");
    let run = |seed| {
        let (mut rng, mut memory) = (Pcg32::new(seed, 1), Memory::new());
        let sampled = uniform(&model, &query, 40, &mut rng, &mut [0; WORDS]).expect("memory");
        let mixed = moments_with_samples(&model, &query, &budget, 25, &mut memory, &mut rng).expect("a budget");
        let drawn = classifier.sample(&query, &mut memory, &mut rng).expect("memory");
        (sampled, mixed, drawn)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
    assert_ne!(run(1).1, run(2).1);
}

#[test]
fn tables_do_not_depend_on_how_many_threads_made_them() {
    let (rows, biases) = clustered(100, D, 0.5);
    let file = zhat::host::flat_model(&rows, &biases).expect("valid");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for kind in [FmbeKind::Maclaurin, FmbeKind::Centred, FmbeKind::Positive] {
        let alone = one.install(|| with_fmbe(&file, kind, 200, 11).expect("small"));
        assert_eq!(*alone, *with_fmbe(&file, kind, 200, 11).expect("small"), "{kind:?}");
    }
}
