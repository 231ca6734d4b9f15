//! The training loop.

use core::sync::atomic::{AtomicBool, Ordering};

use super::adam::Adam;
use super::contrast::Noise;
use super::error::Error;
use super::evaluate::evaluate;
use super::model::LogBilinear;
use super::random;
use super::settings::Settings;
use super::shape::Shape;
use super::step::Workspace;
use super::text::Tokens;
use super::vocabulary::Vocabulary;

/// The number of steps between two progress reports.
const REPORT: u64 = 50;

/// The stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Stepping through the training text.
    Training,
    /// A validation has just ended.
    Validated,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// The number of steps so far.
    pub step: u64,
    /// The most steps of the run.
    pub steps: u64,
    /// Training: the perplexity since the last report (with Z = 1 for the contrastive objective).
    /// Validated: the exactly normalised perplexity on the validation text.
    pub perplexity: f64,
    /// The current learning rate.
    pub learning_rate: f32,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It converged or used up its epochs.
    Finished,
    /// It was told to stop; a later run can continue it.
    Stopped,
}

/// A run in progress: the model, the optimiser and the place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Trainer {
    pub settings: Settings,
    pub vocabulary: Vocabulary,
    pub model: LogBilinear,
    pub adam: Adam,
    pub failures: u32,
    pub best: Option<(f64, Vec<f32>)>,
}

impl Trainer {
    /// Starts a run on `train`.
    pub fn new(settings: Settings, vocabulary: Vocabulary, train: &Tokens) -> Result<Self, Error> {
        settings.check()?;
        train.check(vocabulary.len())?;
        let shape = Shape::new(&settings, &vocabulary);
        let model = LogBilinear::new(shape, &train.counts(), settings.seed);
        let adam = Adam::new(shape.parameters());
        Ok(Self { settings, vocabulary, model, adam, failures: 0, best: None })
    }

    /// Trains until the run has converged, its epochs are used up, or `stop` is set. Calls `report` every few steps and
    /// after every validation.
    pub fn run(
        &mut self,
        train: &Tokens,
        valid: &Tokens,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Self, Progress),
    ) -> Result<Outcome, Error> {
        train.check(self.vocabulary.len())?;
        valid.check(self.vocabulary.len())?;
        let settings = self.settings;
        let noise = Noise::new(&train.counts());
        let n = train.ids().len();
        let per_epoch = n.div_ceil(settings.batch) as u64;
        let steps = per_epoch * u64::from(settings.epochs);
        let check = per_epoch.div_ceil(settings.validations.into());
        let rate = settings.learning_rate * (64.0 / settings.dimension as f32).sqrt();
        let mut gradient = vec![0.0; self.model.shape.parameters()];
        let mut workspace = Workspace::default();
        let mut order = (u64::MAX, Vec::new());
        let (mut sum, mut count) = (0.0, 0);
        while self.adam.steps < steps && self.failures < settings.patience {
            if stop.load(Ordering::Relaxed) {
                return Ok(Outcome::Stopped);
            }
            let step = self.adam.steps;
            let (epoch, start) = (step / per_epoch, (step % per_epoch) as usize * settings.batch);
            if order.0 != epoch {
                order = (epoch, random::order(n, settings.seed, epoch));
            }
            let positions = &order.1[start..n.min(start + settings.batch)];
            let positions = positions.iter().map(|&at| at as usize);
            workspace.batch.fill(&self.model, train, positions);
            let log_p = workspace.gradient(&self.model, &settings, &noise, step, &mut gradient);
            if !log_p.is_finite() {
                return Err(Error::Diverged { step });
            }
            (sum, count) = (sum + log_p, count + 1);
            let left = 1.0 - step as f32 / steps as f32;
            let learning_rate = rate * left * 0.5_f32.powi(self.failures as i32);
            self.adam.step(&mut self.model.values, &mut gradient, learning_rate);
            let step = self.adam.steps;
            let mut tell = |trainer: &Self, stage, perplexity| {
                report(trainer, Progress { stage, step, steps, perplexity, learning_rate });
            };
            if step.is_multiple_of(REPORT) {
                tell(self, Stage::Training, f64::exp(-sum / f64::from(count)));
                (sum, count) = (0.0, 0);
            }
            if step.is_multiple_of(check) || step == steps {
                let perplexity = self.validate(valid)?;
                tell(self, Stage::Validated, perplexity);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Measures the validation perplexity. Keeps the parameters if they are the best so far, or returns to the best
    /// ones.
    fn validate(&mut self, valid: &Tokens) -> Result<f64, Error> {
        let perplexity = evaluate(&self.model, valid)?.perplexity;
        if !perplexity.is_finite() {
            return Err(Error::Diverged { step: self.adam.steps });
        }
        match &self.best {
            Some((best, values)) if perplexity >= *best => {
                self.model.values.copy_from_slice(values);
                self.failures += 1;
            }
            _ => self.best = Some((perplexity, self.model.values.clone())),
        }
        Ok(perplexity)
    }

    /// Returns the model of the best validation, or the current one before the first.
    pub fn best(&self) -> LogBilinear {
        match &self.best {
            Some((_, values)) => LogBilinear { shape: self.model.shape, values: values.clone() },
            None => self.model.clone(),
        }
    }

    /// Returns the words of the model.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Returns the settings of the run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
