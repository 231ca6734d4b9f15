//! Noise-contrastive estimation with Z clamped to 1 (Gutmann & Hyvärinen 2010; Mnih & Teh 2012).
//!
//! The model learns to tell the true next word w from k noise words x drawn by their frequency p_n:
//!
//! ```text
//! Δ(x) = u_x − ln(k p_n(x))
//! loss = −ln σ(Δ(w)) − Σ_x ln σ(−Δ(x))
//! ```
//!
//! No Z is computed: at the optimum exp(u) is the probability itself, so Z becomes 1 by learning.
//! The k noise words are shared by the contexts of a minibatch, which turns their scores into one
//! matrix product; a word drawn several times is scored once and counted.

use rand_pcg::Pcg32;
use rayon::prelude::*;

use super::alias::Alias;
use super::batch::Batch;
use super::dense;
use super::model::LogBilinear;

/// The number of noise words of a task.
const WORDS: usize = 64;

/// The noise distribution: words by their frequency in the training text.
pub struct Noise {
    alias: Alias,
    log_probability: Vec<f32>,
}

impl Noise {
    /// Makes the distribution from the counts of the words. Each counts at least once, or its score would never be
    /// learnt.
    pub fn new(counts: &[u64]) -> Self {
        let weights: Vec<f64> = counts.iter().map(|&n| n.max(1) as f64).collect();
        let total: f64 = weights.iter().sum();
        let log_probability = weights.iter().map(|w| (w / total).ln() as f32).collect();
        Self { alias: Alias::new(&weights), log_probability }
    }
}

/// Some of the noise words, and their part of the gradient.
#[derive(Default)]
struct Block {
    rows: Vec<f32>,
    scores: Vec<f32>,
    row_gradient: Vec<f32>,
    bias_gradient: Vec<f32>,
    query_gradient: Vec<f32>,
}

/// The scratch memory of a contrastive step.
#[derive(Default)]
pub struct Contrast {
    /// The noise words of the step without repetition, each with the times it was drawn.
    pub words: Vec<(u32, f32)>,
    blocks: Vec<Block>,
}

impl Contrast {
    /// Draws the `k` noise words of a step.
    pub fn draw(&mut self, noise: &Noise, k: usize, rng: &mut Pcg32) {
        let mut drawn: Vec<u32> = (0..k).map(|_| noise.alias.draw(rng)).collect();
        drawn.sort_unstable();
        let times = |same: &[u32]| (same[0], same.len() as f32);
        self.words = drawn.chunk_by(|a, b| a == b).map(times).collect();
    }

    /// Adds the gradient of the mean loss: rows and bias into `gradient`, queries into the batch.
    pub fn backward(&mut self, model: &LogBilinear, batch: &mut Batch, noise: &Noise, k: usize, gradient: &mut [f32]) {
        let (d, log_k) = (model.shape.dimension, (k as f32).ln());
        let (row_gradient, rest) = gradient.split_at_mut(model.shape.rows().end);
        let bias_gradient = &mut rest[..model.shape.classes];
        self.blocks.resize_with(self.words.len().div_ceil(WORDS), Block::default);
        let queries = &batch.queries;
        self.blocks.par_iter_mut().zip(self.words.par_chunks(WORDS)).for_each(|(block, words)| {
            block.backward(model, queries, words, |word| log_k + noise.log_probability[word]);
        });
        batch.query_gradient.fill(0.0);
        for (block, words) in self.blocks.iter().zip(self.words.chunks(WORDS)) {
            add(&mut batch.query_gradient, &block.query_gradient, 1.0);
            for (i, &(word, _)) in words.iter().enumerate() {
                let at = word as usize;
                add(&mut row_gradient[at * d..][..d], &block.row_gradient[i * d..][..d], 1.0);
                bias_gradient[at] += block.bias_gradient[i];
            }
        }
        let share = 1.0 / batch.targets.len() as f32;
        for (i, &word) in batch.targets.iter().enumerate() {
            let (at, query) = (word as usize, &batch.queries[i * d..][..d]);
            let delta = model.score(word, query) - log_k - noise.log_probability[at];
            let residual = -share * logistic(-delta);
            let row = &model.values[at * d..][..d];
            add(&mut batch.query_gradient[i * d..][..d], row, residual);
            add(&mut row_gradient[at * d..][..d], query, residual);
            bias_gradient[at] += residual;
        }
    }
}

impl Block {
    fn backward(
        &mut self,
        model: &LogBilinear,
        queries: &[f32],
        words: &[(u32, f32)],
        log_noise: impl Fn(usize) -> f32,
    ) {
        let d = model.shape.dimension;
        let n = queries.len() / d;
        self.rows.clear();
        for &(word, _) in words {
            self.rows.extend_from_slice(&model.values[word as usize * d..][..d]);
        }
        self.scores.resize(n * words.len(), 0.0);
        dense::a_bt(queries, &self.rows, d, &mut self.scores);
        let offset = |&(word, _): &(u32, f32)| model.bias()[word as usize] - log_noise(word as usize);
        let offsets: Vec<f32> = words.iter().map(offset).collect();
        let shares: Vec<f32> = words.iter().map(|(_, times)| times / n as f32).collect();
        self.bias_gradient.clear();
        self.bias_gradient.resize(words.len(), 0.0);
        for scores in self.scores.chunks_exact_mut(words.len()) {
            for ((s, offset), share) in scores.iter_mut().zip(&offsets).zip(&shares) {
                *s = share * logistic(*s + offset);
            }
            add(&mut self.bias_gradient, scores, 1.0);
        }
        self.row_gradient.resize(words.len() * d, 0.0);
        dense::at_b(&self.scores, words.len(), queries, d, &mut self.row_gradient);
        self.query_gradient.resize(queries.len(), 0.0);
        dense::a_b(&self.scores, words.len(), &self.rows, d, &mut self.query_gradient);
    }
}

#[inline(always)]
fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + dense::exp(-x))
}

fn add(out: &mut [f32], x: &[f32], scale: f32) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += scale * x;
    }
}
