//! What a network answers against what a model answers, on the same inputs.

use serde::Serialize;

use super::{RunOptions, Seen};
use crate::host::Matrix;
use crate::host::evaluate::{EvaluateError, stored_budget};
use crate::host::input::network::error::{ImportError, Obstacle};
use crate::host::input::network::{Onnx, OutputLayer};
use crate::host::linear::{log_sum_exp, times_transposed};
use crate::host::measure::{exact_predictions, predictions};
use crate::math::Log2;
use crate::{Model, Ranked};

/// What a model is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// What the network puts out: it was run to its end.
    #[default]
    Network,
    /// The layer in floats, with what is known of the operators behind it: the network was not run to its end.
    Layer,
}

/// How well a model agrees with the network that its layer comes from.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// What it was compared with.
    pub against: Comparison,
    /// For a partial model: the operators that it leaves out.
    pub left_out: Option<String>,
    /// Queries that were compared.
    pub queries: usize,
    /// Queries whose best class is the network's.
    pub same: usize,
    /// Mean |p − p'|, p of the model's best class, p' of the network's.
    pub dp_mean: f64,
    /// The largest of them.
    pub dp_max: f64,
    /// Queries whose best class has an interval.
    pub with_interval: usize,
    /// Queries whose 95 % interval holds the network's p of the class.
    pub covered: usize,
    /// Mean work, dot products per query as a share of all rows.
    pub work_mean: f64,
    /// The largest work.
    pub work_max: f64,
    /// With labels: how often the network's best class is right.
    pub network_right: Option<usize>,
    /// With labels: how often the model's best class is right.
    pub model_right: Option<usize>,
    /// Queries whose best class is another one.
    pub differ: Vec<Difference>,
}

/// A query whose best class is another one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Difference {
    /// Which one.
    pub query: usize,
    /// The network's best class.
    pub network_class: usize,
    /// And its p.
    pub network_p: f32,
    /// The model's best class.
    pub model_class: u32,
    /// And its p.
    pub model_p: f32,
}

impl Agreement {
    /// Adds queries whose answers are those of the layer, computed in floats from its own weights.
    ///
    /// # Errors
    /// As [`Agreement::add`].
    pub fn add_layer(
        &mut self,
        model: &Model<'_>,
        layer: &OutputLayer,
        queries: &Matrix,
        labels: Option<&[usize]>,
    ) -> Result<(), EvaluateError> {
        /// Queries at a time: bounds the memory of their probabilities.
        const AT_A_TIME: usize = 64;
        self.against = Comparison::Layer;
        for part in queries.data().chunks(AT_A_TIME * queries.cols()) {
            let Some(queries) = Matrix::new(part.to_vec(), queries.cols()) else { continue };
            let probabilities = probabilities(&layer.weights, &layer.biases, &queries);
            self.add(model, &Seen { queries, probabilities, skipped: 0, done: 0.0 }, labels)?;
        }
        Ok(())
    }

    /// Returns whether the mean |Δp| and the share of other best classes are at most these.
    pub fn is_within(&self, difference: f64, others: f64) -> bool {
        let share = (self.queries - self.same) as f64 / self.queries.max(1) as f64;
        self.dp_mean <= difference && share <= others
    }

    /// Adds what a portion of the inputs shows; `labels` are those of all queries.
    ///
    /// # Errors
    /// If the model can't be asked, or is of another size than the network's layer.
    pub fn add(&mut self, model: &Model<'_>, seen: &Seen, labels: Option<&[usize]>) -> Result<(), EvaluateError> {
        let Some(truth) = &seen.probabilities else { return Ok(()) };
        if seen.queries.cols() != model.dim() {
            return Err(EvaluateError::Size("columns of the layer's input", seen.queries.cols()));
        }
        if truth.cols() != model.classes() {
            return Err(EvaluateError::Size("classes of the network", truth.cols()));
        }
        let answers = match model.tree() {
            Some(_) => predictions::<1>(model, &seen.queries, &stored_budget(model)),
            None => exact_predictions::<1>(model, &seen.queries),
        }
        .map_err(|error| EvaluateError::Query(self.queries, error))?;
        for (answer, p) in answers.iter().zip(truth.iter()) {
            // A tiny budget may not reach any row.
            let none = Ranked { class: 0, score: Log2::MIN, p: 0.0 };
            let best = answer.top.first().copied().unwrap_or(none);
            let (class, most) = p
                .iter()
                .copied()
                .enumerate()
                .fold((0, f32::NEG_INFINITY), |most, next| if next.1 > most.1 { next } else { most });
            // The network may give two classes the same p.
            let found = p[best.class as usize];
            let same = found == most;
            if !same {
                self.differ.push(Difference {
                    query: self.queries,
                    network_class: class,
                    network_p: most,
                    model_class: best.class,
                    model_p: best.p,
                });
            }
            self.same += usize::from(same);
            let dp = f64::from((best.p - most).abs());
            self.dp_mean += (dp - self.dp_mean) / (self.queries + 1) as f64;
            self.dp_max = self.dp_max.max(dp);
            if let Some((low, high)) = answer.interval(0) {
                self.with_interval += 1;
                self.covered += usize::from((low..=high).contains(&found));
            }
            let work = f64::from(answer.work.row_equivalents()) / model.classes() as f64;
            self.work_mean += (work - self.work_mean) / (self.queries + 1) as f64;
            self.work_max = self.work_max.max(work);
            if let Some(&label) = labels.and_then(|labels| labels.get(self.queries)) {
                *self.network_right.get_or_insert(0) += usize::from(class == label);
                *self.model_right.get_or_insert(0) += usize::from(best.class as usize == label);
            }
            self.queries += 1;
        }
        Ok(())
    }
}

/// Softmax of the scores of a layer, for queries of its dimension.
fn probabilities(weights: &Matrix, biases: &[f32], queries: &Matrix) -> Option<Matrix> {
    if queries.cols() != weights.cols() {
        return None;
    }
    let mut data = times_transposed(queries.data(), weights.data(), weights.cols());
    for row in data.chunks_exact_mut(weights.rows()) {
        row.iter_mut().zip(biases).for_each(|(score, bias)| *score += bias);
        let log_z = log_sum_exp(row);
        row.iter_mut().for_each(|score| *score = (*score - log_z).exp());
    }
    Matrix::new(data, weights.rows())
}

/// Runs a network to its end on the first portion of its inputs, and compares its output with the softmax of its layer's
/// scores in floats: the mean |Δp| of the network's best class, or `None` if the engine can't run it.
///
/// # Errors
/// If the inputs are not what the network takes.
pub fn difference(
    network: &Onnx,
    options: &RunOptions<'_>,
    weights: &Matrix,
    biases: &[f32],
) -> Result<Option<f64>, ImportError> {
    let (mut sum, mut count) = (0.0, 0usize);
    let run = network.first_answers(options, &mut |seen| {
        let Some(truth) = &seen.probabilities else { return Ok(()) };
        let own = probabilities(weights, biases, &seen.queries).filter(|own| own.cols() == truth.cols());
        let own =
            own.ok_or_else(|| Obstacle::Inputs("its output has another number of classes than its layer".into()))?;
        for (own, truth) in own.iter().zip(truth.iter()) {
            let best = truth.iter().enumerate().fold(0, |best, (class, p)| if *p > truth[best] { class } else { best });
            sum += f64::from((own[best] - truth[best]).abs());
            count += 1;
        }
        Ok(())
    });
    match run {
        Err(error) if matches!(error.obstacle(), Obstacle::Engine(_)) => Ok(None),
        run => run.map(|()| (count > 0).then(|| sum / count as f64)),
    }
}
