//! The report.json of a language model, which `train_lm` writes and `paper` reads.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The quality of a model's predictions for a text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The number of predictions, one for each word and each sentence end.
    pub tokens: usize,
    /// exp of the mean −ln p, exactly normalised.
    pub perplexity: f64,
    /// The perplexity with ln Z taken as 0: the claim of a self-normalised model.
    pub perplexity_without_z: f64,
    /// The mean of ln Z.
    pub mean_log_z: f64,
    /// The standard deviation of ln Z.
    pub deviation_log_z: f64,
}

/// The training and the quality of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The command line.
    pub command: String,
    /// The name of the training text.
    pub text: String,
    /// Its length in words and sentence ends.
    pub tokens: usize,
    /// The number of entries of the vocabulary.
    pub words: usize,
    /// d.
    pub dimension: usize,
    /// The number of words of a context.
    pub context: usize,
    /// The objective of the training, in words.
    pub objective: String,
    /// The seed.
    pub seed: u64,
    /// The quality on the validation text.
    pub valid: Evaluation,
    /// The quality on the test text, if there was one.
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
