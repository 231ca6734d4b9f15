//! Contexts of a text as queries, to tune or test an index.

use zhat::host::Matrix;

use super::error::Error;
use super::model::LogBilinear;
use super::text::Tokens;

/// Queries with their contexts and the words that came next.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The queries, one row for each.
    pub queries: Matrix,
    /// The words of the contexts, one context after the other.
    pub contexts: Vec<u32>,
    /// The next words.
    pub labels: Vec<u32>,
}

impl LogBilinear {
    /// Takes `count` contexts at equal steps over a text; all of them if there are no more.
    ///
    /// # Errors
    /// [`Error::Setting`] if the text was numbered with another vocabulary.
    pub fn sample(&self, tokens: &Tokens, count: usize) -> Result<Sample, Error> {
        tokens.check(self.shape().classes)?;
        let n = tokens.ids().len();
        let count = count.min(n);
        let length = self.shape().context;
        let mut contexts = vec![0; count * length];
        let mut labels = Vec::with_capacity(count);
        for (i, window) in contexts.chunks_exact_mut(length).enumerate() {
            let at = i * n / count;
            tokens.context(at, window);
            labels.push(tokens.ids()[at]);
        }
        Ok(Sample { queries: self.queries(&contexts)?, contexts, labels })
    }
}
