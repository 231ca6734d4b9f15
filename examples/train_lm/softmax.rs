//! Maximum likelihood over the whole vocabulary, and the penalty that keeps Z near 1.
//!
//! ```text
//! loss = −(u_w − ln Z) + α (ln Z)²              α = 0: maximum likelihood
//! ∂loss/∂u_i = p_i (1 + 2α ln Z) − [i = w]
//! ```
//!
//! The penalty is self-normalisation after Devlin et al. (2014). The vocabulary is cut into blocks of rows: every block
//! is one task with its own part of the gradient. The shared parts (ln Z and the query's gradient) are added in block
//! order, so that the result does not depend on threads.

use rayon::prelude::*;

use super::batch::Batch;
use super::dense;
use super::model::LogBilinear;

/// The number of rows of a block: with a few hundred queries its scores stay in a core's cache.
const ROWS: usize = 512;

/// The part of a block of rows.
#[derive(Default)]
struct Block {
    /// exp(u − top), query after query.
    scores: Vec<f32>,
    top: Vec<f32>,
    sum: Vec<f32>,
    query_gradient: Vec<f32>,
}

/// The scratch memory of the full softmax.
#[derive(Default)]
pub struct Softmax {
    blocks: Vec<Block>,
    log_z: Vec<f32>,
}

impl Softmax {
    /// Computes ln Z of every query, exactly. Keeps the scores for [`Softmax::backward`].
    pub fn forward(&mut self, model: &LogBilinear, queries: &[f32]) -> &[f32] {
        let d = model.shape.dimension;
        let n = queries.len() / d;
        let rows = &model.values[model.shape.rows()];
        self.blocks.resize_with(model.shape.classes.div_ceil(ROWS), Block::default);
        self.blocks
            .par_iter_mut()
            .zip(rows.par_chunks(ROWS * d))
            .zip(model.bias().par_chunks(ROWS))
            .for_each(|((block, rows), bias)| block.forward(queries, rows, bias, d));
        self.log_z.clear();
        self.log_z.extend((0..n).map(|i| {
            let top = self.blocks.iter().fold(f32::NEG_INFINITY, |top, b| top.max(b.top[i]));
            let sum: f32 = self.blocks.iter().map(|b| b.sum[i] * (b.top[i] - top).exp()).sum();
            top + sum.ln()
        }));
        &self.log_z
    }

    /// Adds the gradient of the mean loss: rows and bias into `gradient`, queries into the batch. [`Softmax::forward`]
    /// must have run on the same batch.
    pub fn backward(&mut self, model: &LogBilinear, batch: &mut Batch, penalty: f32, gradient: &mut [f32]) {
        let d = model.shape.dimension;
        let (row_gradient, rest) = gradient.split_at_mut(model.shape.rows().end);
        let bias_gradient = &mut rest[..model.shape.classes];
        let rows = &model.values[model.shape.rows()];
        let (queries, targets, log_z) = (&batch.queries, &batch.targets, &self.log_z);
        self.blocks
            .par_iter_mut()
            .zip(rows.par_chunks(ROWS * d))
            .zip(row_gradient.par_chunks_mut(ROWS * d))
            .zip(bias_gradient.par_chunks_mut(ROWS))
            .enumerate()
            .for_each(|(i, (((block, rows), row_gradient), bias_gradient))| {
                block.residuals(i * ROWS, bias_gradient.len(), targets, log_z, penalty);
                bias_gradient.fill(0.0);
                for residuals in block.scores.chunks_exact(bias_gradient.len()) {
                    for (g, r) in bias_gradient.iter_mut().zip(residuals) {
                        *g += r;
                    }
                }
                dense::at_b(&block.scores, bias_gradient.len(), queries, d, row_gradient);
                block.query_gradient.resize(queries.len(), 0.0);
                let n = bias_gradient.len();
                dense::a_b(&block.scores, n, rows, d, &mut block.query_gradient);
            });
        batch.query_gradient.fill(0.0);
        for block in &self.blocks {
            for (g, b) in batch.query_gradient.iter_mut().zip(&block.query_gradient) {
                *g += b;
            }
        }
    }
}

impl Block {
    fn forward(&mut self, queries: &[f32], rows: &[f32], bias: &[f32], d: usize) {
        self.scores.resize(queries.len() / d * bias.len(), 0.0);
        dense::a_bt(queries, rows, d, &mut self.scores);
        self.top.clear();
        self.sum.clear();
        for scores in self.scores.chunks_exact_mut(bias.len()) {
            let (top, sum) = exponentiate(scores, bias);
            self.top.push(top);
            self.sum.push(sum);
        }
    }

    /// Turns the scores into ∂(mean loss)/∂u.
    fn residuals(&mut self, start: usize, n: usize, targets: &[u32], log_z: &[f32], penalty: f32) {
        let share = 1.0 / targets.len() as f32;
        for (i, scores) in self.scores.chunks_exact_mut(n).enumerate() {
            let scale = share * (self.top[i] - log_z[i]).exp() * (1.0 + 2.0 * penalty * log_z[i]);
            scores.iter_mut().for_each(|s| *s *= scale);
            let target = (targets[i] as usize).wrapping_sub(start);
            if let Some(s) = scores.get_mut(target) {
                *s -= share;
            }
        }
    }
}

/// Replaces scores by exp(score + bias − top). Returns top, the largest score with its bias, and the sum.
fn exponentiate(scores: &mut [f32], bias: &[f32]) -> (f32, f32) {
    // Sixteen lanes, as the compiler may not reorder a sum to vectorise it.
    const LANES: usize = 16;
    let mut tops = [f32::NEG_INFINITY; LANES];
    for (scores, bias) in scores.chunks_mut(LANES).zip(bias.chunks(LANES)) {
        for ((s, b), top) in scores.iter_mut().zip(bias).zip(&mut tops) {
            *s += b;
            *top = if *s > *top { *s } else { *top };
        }
    }
    let top = tops.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
    let mut sums = [0.0; LANES];
    for scores in scores.chunks_mut(LANES) {
        for (s, sum) in scores.iter_mut().zip(&mut sums) {
            *s = dense::exp(*s - top);
            *sum += *s;
        }
    }
    (top, sums.iter().sum())
}
