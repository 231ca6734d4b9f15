//! The figures of a training run, for users of its model.

use super::settings::{Objective, Settings};
use super::train::Trainer;
use super::trained::{Evaluation, Summary};

/// Summarises a run that `command` started, on a text of this name and length.
pub fn summary(
    trainer: &Trainer,
    command: &str,
    (text, tokens): (&str, usize),
    valid: Evaluation,
    test: Option<Evaluation>,
) -> Summary {
    let Settings { dimension, context, objective, seed, .. } = *trainer.settings();
    let objective = match objective {
        Objective::MaximumLikelihood => "maximum likelihood".to_owned(),
        Objective::SelfNormalised { penalty } => format!("maximum likelihood with {penalty}·(ln Z)²"),
        Objective::Contrastive { noise } => format!("noise-contrastive estimation with {noise} noise words"),
    };
    let words = trainer.vocabulary().len();
    let (command, text) = (command.to_owned(), text.to_owned());
    Summary { command, text, tokens, words, dimension, context, objective, seed, valid, test }
}
