//! Compares every gradient with finite differences of its loss, written out plainly in f64.

use crate::contrast::Noise;
use crate::model::LogBilinear;
use crate::random::{Purpose, below, stream};
use crate::settings::{Objective, Settings};
use crate::shape::{Shape, Tying};
use crate::step::Workspace;

/// More than one block of rows, with a last block that is not full.
const CLASSES: usize = 523;
const SHAPE: Shape = Shape { classes: CLASSES, dimension: 6, context: 3, tying: Tying::Untied };
const TYINGS: [Tying; 3] = [Tying::Untied, Tying::Tied, Tying::Mapped { maps: 2 }];
const NOISE: usize = 200;

/// Computes the scores by the definition of the model in its documentation.
fn scores(shape: Shape, values: &[f64], words: &[u32], mask: &[f64]) -> Vec<f64> {
    let d = shape.dimension;
    let (c, r) = (&values[shape.weights()], &values[shape.input()]);
    let width = shape.width();
    let mut q = vec![0.0; width];
    for (j, &word) in words.iter().enumerate() {
        for k in 0..width {
            q[k] += c[j * width + k] * r[word as usize * d + k % d];
        }
    }
    if let Some(map) = shape.map() {
        let m = &values[map];
        q = (0..d).map(|i| (0..width).map(|k| m[i * width + k] * q[k]).sum()).collect();
    }
    q.iter_mut().zip(mask).for_each(|(q, m)| *q *= m);
    let (v, b) = (&values[shape.rows()], &values[shape.bias()]);
    (0..shape.classes).map(|w| b[w] + (0..d).map(|k| v[w * d + k] * q[k]).sum::<f64>()).collect()
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

struct Case {
    shape: Shape,
    objective: Objective,
    model: LogBilinear,
    counts: Vec<u64>,
    workspace: Workspace,
    settings: Settings,
}

impl Case {
    fn new(tying: Tying, objective: Objective, dropout: f32) -> Self {
        let shape = Shape { tying, ..SHAPE };
        let mut rng = stream(11, Purpose::Start, 1);
        let counts: Vec<u64> = (0..CLASSES).map(|_| below(&mut rng, 50).into()).collect();
        let mut model = LogBilinear::new(shape, &counts, 5);
        for x in &mut model.values {
            *x += below(&mut rng, 2000) as f32 / 2000.0 - 0.5;
        }
        let mut workspace = Workspace::default();
        workspace.batch.contexts = (0..7 * 3).map(|_| below(&mut rng, CLASSES as u32)).collect();
        workspace.batch.targets = (0..7).map(|_| below(&mut rng, CLASSES as u32)).collect();
        workspace.batch.contexts[4] = workspace.batch.contexts[1]; // A word at two places.
        workspace.batch.forward(&model);
        let settings = Settings { objective, dropout, ..Settings::default() };
        Self { shape, objective, model, counts, workspace, settings }
    }

    fn loss(&self, values: &[f64]) -> f64 {
        let batch = &self.workspace.batch;
        let total: f64 = self.counts.iter().map(|&n| n.max(1) as f64).sum();
        let mut loss = 0.0;
        for (i, &target) in batch.targets.iter().enumerate() {
            let words = &batch.contexts[i * 3..][..3];
            let mask: Vec<f64> = match batch.mask().get(i * 6..i * 6 + 6) {
                Some(mask) => mask.iter().map(|&m| m.into()).collect(),
                None => vec![1.0; 6],
            };
            let u = scores(self.shape, values, words, &mask);
            let log_z = u.iter().map(|u| u.exp()).sum::<f64>().ln();
            let noise = |w: usize| (NOISE as f64 * self.counts[w].max(1) as f64 / total).ln();
            loss += match self.objective {
                Objective::MaximumLikelihood => log_z - u[target as usize],
                Objective::SelfNormalised { penalty } => {
                    log_z - u[target as usize] + f64::from(penalty) * log_z * log_z
                }
                Objective::Contrastive { .. } => {
                    let words = &self.workspace.contrast.words;
                    softplus(noise(target as usize) - u[target as usize])
                        + words
                            .iter()
                            .map(|&(w, times)| (w as usize, f64::from(times)))
                            .map(|(w, times)| times * softplus(u[w] - noise(w)))
                            .sum::<f64>()
                }
            };
        }
        loss / batch.targets.len() as f64
    }

    /// Compares the gradient at every context weight, the map, and a sample of the tables.
    fn check(mut self) {
        let noise = Noise::new(&self.counts);
        let mut gradient = vec![0.0; self.shape.parameters()];
        self.workspace.gradient(&self.model, &self.settings, &noise, 0, &mut gradient);
        let mut values: Vec<f64> = self.model.values.iter().map(|&x| x.into()).collect();
        let tables = self.shape.rows().len() + self.shape.bias().len();
        let dense = self.shape.weights().chain(self.shape.map().unwrap_or(0..0));
        // The words that occur have the large gradients: all of their vectors are checked.
        let used = self.workspace.batch.contexts.iter().chain(&self.workspace.batch.targets);
        let used = used.map(|&w| w as usize * 6 + w as usize % 6);
        let input = self.shape.input().start;
        let sample = used.clone().chain(used.map(|at| input + at)).chain((0..tables).step_by(23));
        let (mut difference, mut norm) = (0.0, 0.0);
        for at in dense.chain(sample) {
            let h = 1e-5;
            let x = values[at];
            values[at] = x + h;
            let up = self.loss(&values);
            values[at] = x - h;
            let down = self.loss(&values);
            values[at] = x;
            let expected = (up - down) / (2.0 * h);
            let error = f64::from(gradient[at]) - expected;
            assert!(
                error.abs() < 1e-4 * (1.0 + expected.abs()),
                "{:?} {:?} parameter {at}: {} but {expected}",
                self.shape.tying,
                self.objective,
                gradient[at],
            );
            difference += error * error;
            norm += expected * expected;
        }
        assert!(norm > 1e-4, "the gradient is not all zero");
        assert!((difference / norm).sqrt() < 1e-4, "{}", (difference / norm).sqrt());
    }
}

#[test]
fn likelihood_gradient_is_that_of_its_loss() {
    for tying in TYINGS {
        Case::new(tying, Objective::MaximumLikelihood, 0.0).check();
    }
}

#[test]
fn penalty_gradient_is_that_of_its_loss() {
    let objective = Objective::SelfNormalised { penalty: 0.3 };
    for tying in TYINGS {
        Case::new(tying, objective, 0.0).check();
    }
}

#[test]
fn contrastive_gradient_is_that_of_its_loss() {
    let objective = Objective::Contrastive { noise: NOISE };
    for tying in TYINGS {
        Case::new(tying, objective, 0.0).check();
    }
}

#[test]
fn dropout_gradient_is_that_of_the_thinned_model() {
    Case::new(Tying::Mapped { maps: 1 }, Objective::MaximumLikelihood, 0.4).check();
}
