//! Measures exact perplexity: scores every word for every context.

use super::batch::Batch;
use super::error::Error;
use super::model::LogBilinear;
use super::softmax::Softmax;
use super::text::Tokens;
use super::trained::Evaluation;

/// The number of contexts scored at once.
const BATCH: usize = 512;

/// Measures `model` on a text that was numbered with its vocabulary.
pub fn evaluate(model: &LogBilinear, tokens: &Tokens) -> Result<Evaluation, Error> {
    tokens.check(model.shape.classes)?;
    let (mut batch, mut softmax) = (Batch::default(), Softmax::default());
    let n = tokens.ids().len();
    let (mut score, mut sum, mut square) = (0.0, 0.0, 0.0);
    for start in (0..n).step_by(BATCH) {
        batch.fill(model, tokens, start..n.min(start + BATCH));
        score += batch.target_scores(model);
        for &log_z in softmax.forward(model, &batch.queries) {
            sum += f64::from(log_z);
            square += f64::from(log_z) * f64::from(log_z);
        }
    }
    let n_f = n as f64;
    let mean = sum / n_f;
    Ok(Evaluation {
        tokens: n,
        perplexity: ((sum - score) / n_f).exp(),
        perplexity_without_z: (-score / n_f).exp(),
        mean_log_z: mean,
        deviation_log_z: (square / n_f - mean * mean).max(0.0).sqrt(),
    })
}
