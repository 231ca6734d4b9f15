//! What `train_lm` writes to report.json about a language model, and `paper` reads.

use core::fmt;

use serde::{Deserialize, Serialize};

/// How well a model predicts a text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The number of predictions, one a word and one a sentence end.
    pub tokens: usize,
    /// exp of the mean −ln p, exactly normalised.
    pub perplexity: f64,
    /// The same with ln Z taken as 0: what a self-normalised model claims.
    pub perplexity_without_z: f64,
    /// The mean of ln Z.
    pub mean_log_z: f64,
    /// The standard deviation of ln Z.
    pub deviation_log_z: f64,
}

/// How a model was trained and how good it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What was typed.
    pub command: String,
    /// The name of the training text.
    pub text: String,
    /// Its length in words and sentence ends.
    pub tokens: usize,
    /// Entries of the vocabulary.
    pub words: usize,
    /// d.
    pub dimension: usize,
    /// Words of a context.
    pub context: usize,
    /// What was minimised, in words.
    pub objective: String,
    /// The seed.
    pub seed: u64,
    /// On the validation text.
    pub valid: Evaluation,
    /// On a test text, if there was one.
    pub test: Option<Evaluation>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (on, found) = self.test.map_or(("validation", self.valid), |test| ("test", test));
        write!(
            f,
            "Trained on {} ({} tokens) by {}; {on} perplexity {:.1} exactly normalised, {:.1} with Z = 1; ln Z is {:.3} ± {:.3}.",
            self.text,
            self.tokens,
            self.objective,
            found.perplexity,
            found.perplexity_without_z,
            found.mean_log_z,
            found.deviation_log_z
        )
    }
}
