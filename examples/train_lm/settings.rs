//! The settings of a training run.

use super::error::Error;
use super::shape::Tying;

/// The objective that training minimises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// −ln p of the next word, over the whole vocabulary.
    MaximumLikelihood,
    /// Maximum likelihood + α (ln Z)²: Z stays near 1.
    SelfNormalised {
        /// α.
        penalty: f32,
    },
    /// Noise-contrastive estimation with Z clamped to 1.
    Contrastive {
        /// k, the number of noise words that a minibatch shares.
        noise: usize,
    },
}

/// The settings of a training run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The length of a word vector, d.
    pub dimension: usize,
    /// The number of words before the predicted one.
    pub context: usize,
    /// The relation of input and output vectors.
    pub tying: Tying,
    /// The objective.
    pub objective: Objective,
    /// The number of contexts of a step.
    pub batch: usize,
    /// Adam's learning rate at d = 64; at another d it is scaled by √(64/d). It falls linearly to 0 at the end of the
    /// last epoch.
    pub learning_rate: f32,
    /// The share of a query's elements that are dropped in training.
    pub dropout: f32,
    /// The number of passes over the text, unless validation ends the run earlier.
    pub epochs: u32,
    /// The number of validations in a pass. Within a pass perplexity varies by a few per cent (the end of a pass is its
    /// best point), so more than one may halve the learning rate too early.
    pub validations: u32,
    /// Training stops when this many validations were no better than the best before them. Each of them also resets
    /// training to the best parameters, at half the learning rate.
    pub patience: u32,
    /// The seed of everything that is random.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dimension: 64,
            context: 9,
            tying: Tying::Untied,
            objective: Objective::MaximumLikelihood,
            batch: 512,
            learning_rate: 8e-3,
            dropout: 0.0,
            epochs: 4,
            validations: 1,
            patience: 3,
            seed: 1,
        }
    }
}

impl Settings {
    pub fn check(&self) -> Result<(), Error> {
        let rules = [
            ((1..=65_536).contains(&self.dimension), "the dimension must be 1 to 65536"),
            ((1..=1024).contains(&self.context), "the context must be 1 to 1024 words"),
            ((1..=65_536).contains(&self.batch), "a batch must be 1 to 65536 contexts"),
            (!matches!(self.tying, Tying::Mapped { maps } if !(1..=64).contains(&maps)), "there must be 1 to 64 maps"),
            (self.epochs > 0, "training needs at least one epoch"),
            (self.validations > 0, "an epoch needs at least one validation"),
            (self.learning_rate.is_finite() && self.learning_rate > 0.0, "the learning rate must be positive"),
            ((0.0..=0.9).contains(&self.dropout), "the dropout must be in [0, 0.9]"),
            (self.patience > 0, "the patience must be at least one validation"),
            (
                !matches!(self.objective, Objective::Contrastive { noise: 0 }),
                "noise-contrastive estimation needs at least one noise word",
            ),
            (
                !matches!(self.objective, Objective::SelfNormalised { penalty }
                    if !(penalty.is_finite() && penalty >= 0.0)),
                "the penalty can't be negative",
            ),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, reason)) => Err(Error::Setting(reason)),
            None => Ok(()),
        }
    }
}
