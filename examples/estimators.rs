//! Every estimator with fixed seeds: the bits that it gives on the host are those that it gives on every device.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;
use rand_pcg::Pcg32;
use support::{entry, figure, say};
use zhat::estimators::{
    Estimate, HeadBuffer, fmbe, mimps, mince, moments, moments_with_samples, nmimps, retrieve, self_normalised, uniform,
};
use zhat::math::Log2;
use zhat::{Budget, Classifier, Error, Model, QueryBuffer, Scratch, include_model, seen_words};

/// 300 rows of twelve columns with a tree and links, and a table of random features of each kind.
static MODELS: [&[u8]; 3] = [
    include_model!("../tests/data/maclaurin.zhat"),
    include_model!("../tests/data/centred.zhat"),
    include_model!("../tests/data/positive.zhat"),
];
const QUERY: [f32; 12] = [0.5, -1.0, 0.75, 0.25, -0.5, 1.0, -0.25, 0.0, 0.5, -0.75, 1.0, 0.25];
const WORDS: usize = seen_words(300);
const BUDGET: Budget = Budget { cap: 120, epsilon: 0.0, expand: 4 };

entry!(run);

fn run() -> Result<(), Error> {
    for bytes in MODELS {
        let model = Model::from_bytes(bytes)?;
        // Random features are for small norms.
        let query = QueryBuffer::<12>::new(&model, &QUERY.map(|value| value / 4.0))?;
        show("fmbe", || fmbe(&model, &query))?;
    }
    let model = Model::from_bytes(MODELS[0])?;
    let query = QueryBuffer::<12>::new(&model, &QUERY)?;
    let mut scratch = Scratch::<WORDS, 256>::new();
    let mut marks = [0; WORDS];
    let mut rng = Pcg32::new(42, 7);
    let mut buffer = HeadBuffer::<20>::new();
    let head = retrieve(&model, &query, &BUDGET, &mut scratch, &mut buffer)?;
    show("self-normalised", || Ok(self_normalised()))?;
    show("uniform", || uniform(&model, &query, 40, &mut rng, &mut marks))?;
    show("nmimps", || Ok(nmimps(&model, &head)))?;
    show("mimps", || mimps(&model, &query, 40, &head, &mut rng, &mut marks))?;
    show("mince", || mince(&model, &query, 40, &head, &mut rng, &mut marks, &mut [Log2::MIN; 40]))?;
    show("moments", || moments(&model, &query, &BUDGET, &mut scratch))?;
    show("moments + samples", || moments_with_samples(&model, &query, &BUDGET, 25, &mut scratch, &mut rng))?;
    let classifier = Classifier::new(model)?;
    for _ in 0..8 {
        let drawn = classifier.sample(&query, &mut scratch, &mut rng)?;
        say!("drawn: class {}, p {:#010x}", drawn.class, drawn.p.to_bits());
    }
    Ok(())
}

fn show(name: &str, run: impl FnOnce() -> Result<Estimate, Error>) -> Result<(), Error> {
    let (estimate, instructions) = support::instructions_of(run);
    let estimate = estimate?;
    let Estimate { work, standard_error, iterations, .. } = estimate;
    let (log_z, error) = (estimate.log_z().to_bits(), standard_error.unwrap_or(-1.0).to_bits());
    say!(
        "{name}: ln Z {log_z:#010x}, error {error:#010x}, {} rows, {} nodes, {iterations} steps",
        work.rows,
        work.nodes
    );
    if let Some(instructions) = instructions {
        figure!("{name}: {instructions} instructions");
    }
    Ok(())
}
