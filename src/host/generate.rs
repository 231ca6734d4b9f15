//! Generates a synthetic layer and queries for it, for tests, examples and measurements without a trained model.
//!
//! Rows form clusters, and clusters form groups of clusters, as word vectors do. Class i has the i-th largest bias,
//! which falls by Zipf's law. A query is a row with noise. Its length decides how confident the layer is, so the length
//! is searched for until the mean probability of the best class is that of the [`Kind`].
//!
//! The same seed gives the same bits on every host: integers, basic float operations in a fixed order, and libm.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::Matrix;

/// The kind of layer that the queries imitate.
///
/// ```
/// use zhat::host::{Kind, Layer};
///
/// let queries = Layer::generate(100, 8, 1).queries(Kind::LanguageModel, 10, 2);
/// assert_eq!((queries.rows(), queries.cols()), (10, 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Queries of a language model: the best class has a probability of 0.3 on average, and the tail matters.
    LanguageModel,
    /// Queries of a confident classifier: the best class has a probability of 0.95 on average.
    Classifier,
}

impl Kind {
    /// Returns the mean probability of the best class.
    const fn mean_top(self) -> f64 {
        match self {
            Self::LanguageModel => 0.3,
            Self::Classifier => 0.95,
        }
    }

    /// Returns the smallest and the largest norm of the noise, for rows of norm 1: easy and hard queries.
    const fn noise(self) -> (f64, f64) {
        match self {
            Self::LanguageModel => (0.3, 1.8),
            Self::Classifier => (0.1, 0.5),
        }
    }
}

/// Rows and biases of a layer.
///
/// ```
/// let layer = zhat::host::Layer::generate(100, 8, 1);
/// assert_eq!((layer.weights.rows(), layer.biases.len()), (100, 100));
/// ```
#[derive(Clone, Debug)]
pub struct Layer {
    /// One row for each class.
    pub weights: Matrix,
    /// One bias for each class, in nats.
    pub biases: Vec<f32>,
    /// The seed of the sample with which the length of queries is found: the same for every call.
    seed: u64,
}

/// The share of a row that is its cluster's, and of a cluster that is its group's; the rest is its own.
const SHARED: f64 = 0.6;
/// The offset that is added to the rank in Zipf's law (Mandelbrot's correction).
const RANK_OFFSET: f64 = 2.7;
/// The number of queries with which the length is found, and of halvings of the interval in that search.
const SAMPLE: usize = 24;
const HALVINGS: usize = 20;

impl Layer {
    /// Makes a layer of `classes` rows of `dim` columns.
    ///
    /// ```
    /// use zhat::host::{Kind, Layer, flat_model};
    ///
    /// let layer = Layer::generate(500, 16, 1);
    /// let queries = layer.queries(Kind::Classifier, 10, 2);
    /// let file = flat_model(&layer.weights, &layer.biases)?;
    /// let query = zhat::QueryBuffer::<16>::new(&file.model(), queries.row(0))?;
    /// assert!(zhat::exact::<1>(&file.model(), &query)?.top[0].p > 0.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `classes` or `dim` is zero.
    pub fn generate(classes: usize, dim: usize, seed: u64) -> Self {
        assert!(classes > 0 && dim > 0, "a layer has rows and columns");
        let mut random = Random::new(seed);
        let clusters = libm::sqrt(classes as f64) as usize + 1;
        let groups = libm::sqrt(clusters as f64) as usize + 1;
        let groups: Vec<Vec<f64>> = (0..groups).map(|_| random.direction(dim)).collect();
        let clusters: Vec<Vec<f64>> = (0..clusters).map(|_| random.near(&groups, dim)).collect();
        let mut data = Vec::with_capacity(classes * dim);
        for _ in 0..classes {
            let row = random.near(&clusters, dim);
            let length = 0.75 + 0.5 * random.unit();
            data.extend(row.iter().map(|x| (x * length) as f32));
        }
        let biases = (0..classes).map(|class| -libm::log(class as f64 + RANK_OFFSET) as f32).collect();
        let weights = Matrix { data, cols: dim };
        Self { weights, biases, seed }
    }

    /// Generates queries for this layer. Different seeds give different queries of the same norm.
    pub fn queries(&self, kind: Kind, count: usize, seed: u64) -> Matrix {
        let length = self.length(kind);
        let mut random = Random::new(!seed);
        let directions = (0..count).flat_map(|_| self.direction(kind, &mut random));
        Matrix { data: directions.map(|x| (x * length) as f32).collect(), cols: self.weights.cols() }
    }

    /// Draws a row by its bias (or any row, for a classifier), and adds noise. The result has norm 1.
    fn direction(&self, kind: Kind, random: &mut Random) -> Vec<f64> {
        let classes = self.biases.len() as f64;
        let class = match kind {
            // The inverse of Zipf's distribution function, ln(1 + x) with the offset.
            Kind::LanguageModel => {
                RANK_OFFSET * (libm::exp(random.unit() * libm::log(1.0 + classes / RANK_OFFSET)) - 1.0)
            }
            Kind::Classifier => random.unit() * classes,
        };
        let row = self.weights.row((class as usize).min(self.biases.len() - 1));
        let (least, most) = kind.noise();
        let amount = least + (most - least) * random.unit();
        let noise = random.direction(row.len());
        normalised(row.iter().zip(noise).map(|(&x, noise)| f64::from(x) + amount * noise).collect())
    }

    /// Finds the norm at which the mean probability of the best class is that of the kind.
    fn length(&self, kind: Kind) -> f64 {
        let mut random = Random::new(self.seed);
        let dots: Vec<Vec<f64>> = (0..SAMPLE)
            .map(|_| {
                let query = self.direction(kind, &mut random);
                self.weights.iter().map(|row| dot(row, &query)).collect()
            })
            .collect();
        let (mut low, mut high) = (0.0, 200.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let sum: f64 = dots.iter().map(|dots| self.top_probability(dots, middle)).sum();
            if sum < kind.mean_top() * SAMPLE as f64 { low = middle } else { high = middle }
        }
        low
    }

    fn top_probability(&self, dots: &[f64], length: f64) -> f64 {
        let scores = || dots.iter().zip(&self.biases).map(|(dot, &bias)| dot * length + f64::from(bias));
        let best = scores().fold(f64::NEG_INFINITY, f64::max);
        // Terms this far below add nothing that a mean over a sample shows.
        1.0 / scores().filter(|score| best - score < 30.0).map(|score| libm::exp(score - best)).sum::<f64>()
    }
}

fn dot(row: &[f32], query: &[f64]) -> f64 {
    row.iter().zip(query).fold(0.0, |sum, (&x, y)| sum + f64::from(x) * y)
}

fn normalised(mut vector: Vec<f64>) -> Vec<f64> {
    let length = libm::sqrt(vector.iter().fold(0.0, |sum, x| sum + x * x));
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

/// Generates random directions of norm 1, uniformly distributed.
pub(super) fn directions(count: usize, dim: usize, seed: u64) -> impl Iterator<Item = Vec<f32>> {
    let mut random = Random::new(seed);
    (0..count).map(move |_| random.direction(dim).into_iter().map(|x| x as f32).collect())
}

struct Random(Pcg64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// Draws a uniform number in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws a nearly normal number: the sum of four uniform numbers, all from one draw.
    fn normal(&mut self) -> f64 {
        let draw = self.0.next_u64();
        let sum = (0..4).fold(0, |sum, part| sum + (draw >> (16 * part) & 0xffff));
        sum as f64 / f64::from(1 << 16) - 2.0
    }

    /// Draws a direction of norm 1.
    fn direction(&mut self, dim: usize) -> Vec<f64> {
        normalised((0..dim).map(|_| self.normal()).collect())
    }

    /// Draws one of the centres and adds a part of its own. The result has norm 1.
    fn near(&mut self, centres: &[Vec<f64>], dim: usize) -> Vec<f64> {
        let centre = &centres[(self.unit() * centres.len() as f64) as usize];
        let own = self.direction(dim);
        let share = (libm::sqrt(SHARED), libm::sqrt(1.0 - SHARED));
        normalised(centre.iter().zip(own).map(|(c, own)| share.0 * c + share.1 * own).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::flat_model;
    use crate::{QueryBuffer, exact};

    fn mean_top(kind: Kind, classes: usize) -> f32 {
        let layer = Layer::generate(classes, 64, 7);
        let file = flat_model(&layer.weights, &layer.biases).expect("valid");
        let queries = layer.queries(kind, 100, 1);
        let top = |query| {
            let query = QueryBuffer::<64>::new(&file.model(), query).expect("valid");
            exact::<1>(&file.model(), &query).expect("valid").top[0].p
        };
        queries.iter().map(top).sum::<f32>() / 100.0
    }

    #[test]
    fn queries_of_a_language_model_are_flat() {
        let mean = mean_top(Kind::LanguageModel, 10_000);
        assert!((0.2..0.4).contains(&mean), "{mean}");
    }

    #[test]
    fn queries_of_a_classifier_are_confident() {
        let mean = mean_top(Kind::Classifier, 10_000);
        assert!(mean > 0.9, "{mean}");
    }

    #[test]
    fn a_seed_stands_for_the_same_bits_everywhere() {
        let layer = Layer::generate(300, 12, 3);
        let bits = |values: &[f32]| values.iter().fold(0u32, |hash, x| hash.rotate_left(5) ^ x.to_bits());
        let queries = layer.queries(Kind::LanguageModel, 3, 4);
        assert_eq!(
            [bits(layer.weights.data()), bits(&layer.biases), bits(queries.data())],
            [1_046_249_969, 3_765_142_095, 2_546_702_504]
        );
        assert_ne!(queries, layer.queries(Kind::LanguageModel, 3, 5));
    }
}
