//! The log-bilinear language model (Mnih & Hinton 2007; Mnih & Teh 2012).
//!
//! ```text
//! q = Σ_j c_j ∘ r_{w_j}        the query: the context's word vectors, weighted by position
//! u_w = v_w·q + b_w            the score of word w as the next one
//! p(w) = exp(u_w) / Z(q)
//! ```
//!
//! ∘ is the product element by element: the context matrices are diagonal. [`Tying`] describes how r and v relate.

use core::ops::Range;

use rand_core::Rng;
use rayon::prelude::*;
use zhat::host::Matrix;

use super::dense;
use super::error::Error;
use super::random::{self, Purpose};
use super::shape::{Shape, Tying};

/// The parameters of a log-bilinear model, and its predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct LogBilinear {
    pub shape: Shape,
    /// Rows, bias, context weights, then the input table or the map: one vector, so that the optimiser and a checkpoint
    /// need not know the parts.
    pub values: Vec<f32>,
}

impl LogBilinear {
    /// Creates a model that predicts every word by its frequency, with small random vectors.
    pub fn new(shape: Shape, counts: &[u64], seed: u64) -> Self {
        let mut values = vec![0.0; shape.parameters()];
        let mut rng = random::stream(seed, Purpose::Start, 0);
        let spread = 0.5 / (shape.dimension as f32).sqrt();
        let mut fill = |range: Range<usize>, values: &mut [f32]| {
            for x in &mut values[range] {
                *x = (rng.next_u32() as f32 / u32::MAX as f32 - 0.5) * 2.0 * spread;
            }
        };
        fill(shape.rows(), &mut values);
        if shape.tying == Tying::Untied {
            fill(shape.input(), &mut values);
        }
        let total: u64 = counts.iter().map(|&n| n.max(1)).sum();
        for (b, &n) in values[shape.bias()].iter_mut().zip(counts) {
            *b = (n.max(1) as f32 / total as f32).ln();
        }
        values[shape.weights()].fill(1.0 / shape.context as f32);
        if let Some(map) = shape.map() {
            // Only the first map starts as the identity, or all of them would learn the same.
            fill(map.clone(), &mut values);
            for i in 0..shape.dimension {
                values[map.start + i * (shape.width() + 1)] += 1.0;
            }
        }
        Self { shape, values }
    }

    /// Returns the sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the output rows v, one for each word.
    pub fn rows(&self) -> Matrix {
        self.matrix(self.shape.rows(), self.shape.dimension)
    }

    /// Returns the bias b of every word.
    pub fn bias(&self) -> &[f32] {
        &self.values[self.shape.bias()]
    }

    /// Returns the input vectors r, one for each word; the rows themselves unless the model is untied.
    pub fn input(&self) -> Matrix {
        self.matrix(self.shape.input(), self.shape.dimension)
    }

    /// Returns the context weights c, one row for each position, the oldest word first. With several maps, a row has
    /// the weights for the first map, then those for the second, and so on.
    pub fn context_weights(&self) -> Matrix {
        self.matrix(self.shape.weights(), self.shape.width())
    }

    /// Returns the maps side by side, \[M_1 M_2 …\], if there are any: d rows, q = \[M_1 M_2 …\] × the sums.
    pub fn map(&self) -> Option<Matrix> {
        self.shape.map().map(|range| self.matrix(range, self.shape.width()))
    }

    fn matrix(&self, range: Range<usize>, cols: usize) -> Matrix {
        Matrix::new(self.values[range].to_vec(), cols).expect("a part is a number of whole rows")
    }

    /// Computes the queries of `contexts`, which are windows of the model's context length one after the other, each
    /// with its oldest word first.
    pub fn queries(&self, contexts: &[u32]) -> Result<Matrix, Error> {
        let Shape { classes, dimension, context, .. } = self.shape;
        if !contexts.len().is_multiple_of(context) {
            return Err(Error::ContextLength { words: contexts.len(), context });
        }
        if let Some(&word) = contexts.iter().find(|&&word| word as usize >= classes) {
            return Err(Error::NoSuchWord { word, classes });
        }
        let n = contexts.len() / context;
        let mut sums = vec![0.0; n * self.shape.width()];
        let mut queries = vec![0.0; n * dimension];
        self.forward(contexts, &mut sums, &mut queries);
        Ok(Matrix::new(queries, dimension).expect("queries are rows of the dimension"))
    }

    #[cfg(test)]
    /// Makes a context of the words of `vocabulary` in a text: the last ones that fit, after `</s>` for missing ones.
    pub fn context(&self, vocabulary: &super::vocabulary::Vocabulary, words: &str) -> Vec<u32> {
        let ids: Vec<u32> = words.split_whitespace().map(|word| vocabulary.id(word)).collect();
        let used = &ids[ids.len().saturating_sub(self.shape.context)..];
        let mut context = vec![vocabulary.end(); self.shape.context - used.len()];
        context.extend(used);
        context
    }

    /// Computes Σ_j c_j ∘ r_{w_j} into `sums`, and its product with the maps into `queries`.
    pub fn forward(&self, contexts: &[u32], sums: &mut [f32], queries: &mut [f32]) {
        let Shape { dimension, context, .. } = self.shape;
        let input = &self.values[self.shape.input()];
        let weights = &self.values[self.shape.weights()];
        let width = self.shape.width();
        sums.par_chunks_mut(width).zip(contexts.par_chunks(context)).with_min_len(32).for_each(|(sum, words)| {
            sum.fill(0.0);
            for (&word, c) in words.iter().zip(weights.chunks_exact(width)) {
                let r = &input[word as usize * dimension..][..dimension];
                let parts = sum.chunks_exact_mut(dimension).zip(c.chunks_exact(dimension));
                for (sum, c) in parts {
                    dense::add_product(sum, c, r);
                }
            }
        });
        match self.shape.map() {
            Some(map) => dense::a_bt(sums, &self.values[map], width, queries),
            None => queries.copy_from_slice(sums),
        }
    }

    #[cfg(test)]
    /// Computes the score of every word for `query`, which has the model's dimension.
    pub fn scores(&self, query: &[f32]) -> Result<Vec<f32>, Error> {
        if query.len() != self.shape.dimension {
            return Err(Error::Setting("the query's length is not the model's dimension"));
        }
        Ok((0..self.shape.classes as u32).map(|word| self.score(word, query)).collect())
    }

    /// Computes v_w·q + b_w.
    pub fn score(&self, word: u32, query: &[f32]) -> f32 {
        let d = self.shape.dimension;
        let row = &self.values[word as usize * d..][..d];
        dense::dot(row, query) + self.bias()[word as usize]
    }
}
