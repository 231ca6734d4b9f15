//! One minibatch: from positions in the text to the gradient of the mean loss.

use super::batch::Batch;
use super::contrast::{Contrast, Noise};
use super::model::LogBilinear;
use super::random::{self, Purpose};
use super::settings::{Objective, Settings};
use super::softmax::Softmax;

/// The memory that steps reuse.
#[derive(Default)]
pub struct Workspace {
    pub batch: Batch,
    softmax: Softmax,
    pub contrast: Contrast,
}

impl Workspace {
    /// Adds the gradient of the batch's mean loss to `gradient`, which must be zero. Returns the mean ln p of the true
    /// words, which for the contrastive objective assumes Z = 1.
    pub fn gradient(
        &mut self,
        model: &LogBilinear,
        settings: &Settings,
        noise: &Noise,
        step: u64,
        gradient: &mut [f32],
    ) -> f64 {
        if settings.dropout > 0.0 {
            let mut rng = random::stream(settings.seed, Purpose::Dropout, step);
            self.batch.drop_out(settings.dropout, &mut rng);
        }
        let mut log_p = self.batch.target_scores(model);
        let penalty = match settings.objective {
            Objective::MaximumLikelihood => Some(0.0),
            Objective::SelfNormalised { penalty } => Some(penalty),
            Objective::Contrastive { noise: k } => {
                let mut rng = random::stream(settings.seed, Purpose::Noise, step);
                self.contrast.draw(noise, k, &mut rng);
                self.contrast.backward(model, &mut self.batch, noise, k, gradient);
                None
            }
        };
        if let Some(penalty) = penalty {
            let log_z = self.softmax.forward(model, &self.batch.queries);
            log_p -= log_z.iter().copied().map(f64::from).sum::<f64>();
            self.softmax.backward(model, &mut self.batch, penalty, gradient);
        }
        self.batch.backward(model, gradient);
        log_p / self.batch.targets.len() as f64
    }
}
