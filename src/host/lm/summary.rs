//! The figures of a training run, for users of its model.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::evaluate::Evaluation;
use super::settings::{Objective, Settings};
use super::train::Trainer;

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

impl Summary {
    /// Of a run that was started by a command, on a text of this name and length.
    pub fn new(
        trainer: &Trainer,
        command: &str,
        (text, tokens): (&str, usize),
        valid: Evaluation,
        test: Option<Evaluation>,
    ) -> Self {
        let Settings { dimension, context, objective, seed, .. } = *trainer.settings();
        let objective = match objective {
            Objective::MaximumLikelihood => "maximum likelihood".to_owned(),
            Objective::SelfNormalised { penalty } => format!("maximum likelihood with {penalty}·(ln Z)²"),
            Objective::Contrastive { noise } => format!("noise-contrastive estimation with {noise} noise words"),
        };
        let words = trainer.vocabulary().len();
        let (command, text) = (command.to_owned(), text.to_owned());
        Self { command, text, tokens, words, dimension, context, objective, seed, valid, test }
    }
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
