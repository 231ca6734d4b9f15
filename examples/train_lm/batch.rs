//! A minibatch: its contexts, its queries, and the gradient from queries to parameters.

use rand_core::Rng;
use rand_pcg::Pcg32;
use rayon::prelude::*;

use super::dense;
use super::model::LogBilinear;
use super::text::Tokens;

/// The rows of the input table to which one task adds gradients.
const ROWS: usize = 256;

/// Contexts and the words that follow them, with the memory of one step.
#[derive(Default)]
pub struct Batch {
    pub contexts: Vec<u32>,
    pub targets: Vec<u32>,
    /// Σ_j c_j ∘ r_{w_j}, context after context.
    sums: Vec<f32>,
    pub queries: Vec<f32>,
    /// ∂(mean loss)/∂q, which an objective computes.
    pub query_gradient: Vec<f32>,
    sum_gradient: Vec<f32>,
    /// The factors that dropout multiplied the queries by; empty without dropout.
    mask: Vec<f32>,
}

impl Batch {
    /// Takes the contexts and next words at `positions` of a text, and computes their queries.
    pub fn fill(&mut self, model: &LogBilinear, tokens: &Tokens, positions: impl ExactSizeIterator<Item = usize>) {
        let (n, context) = (positions.len(), model.shape.context);
        self.contexts.resize(n * context, 0);
        self.targets.clear();
        for (window, at) in self.contexts.chunks_exact_mut(context).zip(positions) {
            tokens.context(at, window);
            self.targets.push(tokens.ids()[at]);
        }
        self.forward(model);
    }

    #[cfg(test)]
    pub fn mask(&self) -> &[f32] {
        &self.mask
    }

    /// Computes the queries of the contexts.
    pub fn forward(&mut self, model: &LogBilinear) {
        let n = self.targets.len();
        for buffer in [&mut self.sums, &mut self.sum_gradient] {
            buffer.resize(n * model.shape.width(), 0.0);
        }
        for buffer in [&mut self.queries, &mut self.query_gradient] {
            buffer.resize(n * model.shape.dimension, 0.0);
        }
        self.mask.clear();
        model.forward(&self.contexts, &mut self.sums, &mut self.queries);
    }

    /// Sets a share `rate` of the queries' elements to 0 and scales the others to keep the mean.
    pub fn drop_out(&mut self, rate: f32, rng: &mut Pcg32) {
        let limit = (rate * 256.0).round() as u8;
        let scale = 256.0 / (256.0 - f32::from(limit));
        let mut bytes = vec![0; self.queries.len()];
        rng.fill_bytes(&mut bytes);
        self.mask.extend(bytes.iter().map(|&byte| if byte < limit { 0.0 } else { scale }));
        self.queries.iter_mut().zip(&self.mask).for_each(|(q, m)| *q *= m);
    }

    /// Adds the gradient of everything before the query: map, context weights and input vectors.
    pub fn backward(&mut self, model: &LogBilinear, gradient: &mut [f32]) {
        let shape = model.shape;
        let (d, width, context) = (shape.dimension, shape.width(), shape.context);
        let queries = &mut self.query_gradient;
        queries.iter_mut().zip(&self.mask).for_each(|(g, m)| *g *= m);
        match shape.map() {
            Some(map) => {
                dense::at_b(queries, d, &self.sums, width, &mut gradient[map.clone()]);
                dense::a_b(queries, d, &model.values[map], width, &mut self.sum_gradient);
            }
            None => self.sum_gradient.copy_from_slice(queries),
        }
        let input = &model.values[shape.input()];
        let weights = &model.values[shape.weights()];
        let (contexts, sums) = (&self.contexts, &self.sum_gradient);
        gradient[shape.weights()].par_chunks_mut(width).enumerate().for_each(|(j, out)| {
            for (window, g) in contexts.chunks_exact(context).zip(sums.chunks_exact(width)) {
                let r = &input[window[j] as usize * d..][..d];
                for (out, g) in out.chunks_exact_mut(d).zip(g.chunks_exact(d)) {
                    dense::add_product(out, g, r);
                }
            }
        });
        // Every task searches all contexts for its own words: that is cheaper than sorting them, and each row's sum
        // runs in the same order on any number of threads.
        gradient[shape.input()].par_chunks_mut(ROWS * d).enumerate().for_each(|(i, rows)| {
            for (at, &word) in contexts.iter().enumerate() {
                let own = (word as usize).wrapping_sub(i * ROWS);
                if own < ROWS {
                    let g = &sums[at / context * width..][..width];
                    let c = &weights[at % context * width..][..width];
                    for (g, c) in g.chunks_exact(d).zip(c.chunks_exact(d)) {
                        dense::add_product(&mut rows[own * d..][..d], g, c);
                    }
                }
            }
        });
    }

    /// Returns the sum of the true words' scores.
    pub fn target_scores(&self, model: &LogBilinear) -> f64 {
        let queries = self.queries.chunks_exact(model.shape.dimension);
        self.targets.iter().zip(queries).map(|(&w, q)| f64::from(model.score(w, q))).sum()
    }
}
