//! Tests of the fixed point of noise-contrastive estimation, on distributions small enough to enumerate.

use crate::adam::Adam;
use crate::contrast::Noise;
use crate::model::LogBilinear;
use crate::settings::{Objective, Settings};
use crate::shape::{Shape, Tying};
use crate::step::Workspace;

const COUNTS: [u64; 5] = [50, 25, 15, 8, 2];

/// Makes a model without context vectors: its biases alone are the distribution.
fn model() -> LogBilinear {
    let shape = Shape { classes: 5, dimension: 1, context: 1, tying: Tying::Untied };
    let mut model = LogBilinear::new(shape, &COUNTS, 1);
    model.values[shape.rows()].fill(0.0);
    model.values[shape.input()].fill(0.0);
    model
}

/// Makes a batch that holds every word as often as the distribution has it.
fn workspace(model: &LogBilinear) -> Workspace {
    let mut workspace = Workspace::default();
    let words = COUNTS.iter().enumerate();
    workspace.batch.targets = words.flat_map(|(w, &n)| std::iter::repeat_n(w as u32, n as usize)).collect();
    workspace.batch.contexts = vec![0; 100];
    workspace.batch.forward(model);
    workspace
}

#[test]
fn biases_come_back_to_a_normaliser_of_one_from_anywhere() {
    let mut model = model();
    let noise = Noise::new(&COUNTS);
    let settings = Settings { objective: Objective::Contrastive { noise: 400 }, ..Settings::default() };
    // Z starts at e² and the words are out of order: only the loss defines the optimum.
    let bias = model.shape.bias();
    for (i, b) in model.values[bias.clone()].iter_mut().enumerate() {
        *b += 2.0 + if i % 2 == 0 { 0.7 } else { -0.7 };
    }
    let mut workspace = workspace(&model);
    let mut adam = Adam::new(model.values.len());
    let mut gradient = vec![0.0; model.values.len()];
    let steps = 3000;
    for step in 0..steps {
        workspace.batch.forward(&model);
        workspace.gradient(&model, &settings, &noise, step, &mut gradient);
        // Only the biases have a gradient: all vectors are zero.
        let rate = 0.02 * (1.0 - step as f32 / steps as f32);
        adam.step(&mut model.values, &mut gradient, rate);
    }
    for (b, n) in model.bias().iter().zip(COUNTS) {
        let p = n as f32 / 100.0;
        assert!((b.exp() / p - 1.0).abs() < 0.02, "{} is not {p}", b.exp());
    }
    let z: f32 = model.bias().iter().map(|b| b.exp()).sum();
    assert!((z - 1.0).abs() < 0.01, "Z = {z}");
}

#[test]
fn the_true_distribution_has_no_expected_gradient() {
    let model = model();
    let noise = Noise::new(&COUNTS);
    let mut workspace = workspace(&model);
    // Noise words in exact proportion, in place of a draw.
    workspace.contrast.words = COUNTS.iter().zip(0..).map(|(&n, w)| (w, n as f32)).collect();
    let mut gradient = vec![0.0; model.values.len()];
    workspace.contrast.backward(&model, &mut workspace.batch, &noise, 100, &mut gradient);
    assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
}
