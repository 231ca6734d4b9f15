//! Runs estimators over budgets and settings, to show the effect of more or less work.

use super::{EvaluateError, Evaluation, Method, Options, stored_budget};
use crate::Model;
use crate::host::Matrix;
use crate::model::Budget;

/// A setting and its results.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Point {
    /// The estimator's name.
    pub estimator: &'static str,
    /// The setting that differs from the stored one.
    pub setting: String,
    /// The cap, as a share of N.
    pub cap: f32,
    /// The mean work, see [`EstimatorReport`](super::EstimatorReport).
    pub work_mean: f32,
    /// The largest work.
    pub work_max: f32,
    /// The mean error of Z.
    pub err_mean: f32,
    /// The recall of the best class.
    pub recall_at_1: Option<f32>,
    /// The coverage of the 95 % interval.
    pub coverage95: Option<f32>,
    /// True if no other point is better in both work and error.
    pub pareto: bool,
}

/// Asks every estimator with every budget, a share of N; the default one also with other settings. `step` is told the setting that is
/// being asked, how many were before it, and how many there are.
///
/// # Errors
/// [`EvaluateError`], for the first query that the model refuses.
pub fn sweep(
    model: &Model<'_>,
    queries: &Matrix,
    methods: &[Method],
    shares: &[f32],
    seeds: usize,
    step: &mut dyn FnMut(&str, usize, usize),
) -> Result<Vec<Point>, EvaluateError> {
    let stored = stored_budget(model);
    let least = model.tree().map_or(1, |tree| tree.least_cap()) as u32;
    let mut asked = Vec::new();
    for &method in methods {
        for (setting, epsilon, expand) in settings(method, model, &stored) {
            // The cost of these does not depend on the budget.
            let is_fixed = matches!(method, Method::Exact | Method::Fmbe | Method::SelfNormalised);
            for &share in if is_fixed { &shares[..shares.len().min(1)] } else { shares } {
                let cap = ((share * model.classes() as f32) as u32).max((4 * least).div_ceil(3));
                let budget = Budget { cap, epsilon, expand };
                let options =
                    Options { methods: vec![method], seeds, budget: Some(budget), timed: false, ..Options::default() };
                asked.push((format!("{method}, {setting}, {:.1} %", 100.0 * share), setting.clone(), options));
            }
        }
    }
    let of = asked.len();
    let mut points = Vec::new();
    for (at, (shown, setting, options)) in asked.into_iter().enumerate() {
        step(&shown, at, of);
        let found = Evaluation::run(model, None, queries, &options)?;
        let (Some(found), Some(budget)) = (found.report.estimators.first(), options.budget) else { continue };
        points.push(Point {
            estimator: found.name,
            setting,
            cap: budget.cap as f32 / model.classes() as f32,
            work_mean: found.work_mean,
            work_max: found.work_max,
            err_mean: found.err_mean,
            recall_at_1: found.recall_at_1,
            coverage95: found.coverage95,
            pareto: false,
        });
    }
    let all: Vec<(f32, f32)> = points.iter().map(|point| (point.work_mean, point.err_mean)).collect();
    let front = pareto(&all);
    points.iter_mut().for_each(|point| point.pareto = front.contains(&(point.work_mean, point.err_mean)));
    Ok(points)
}

/// Lists names, ε and links followed for the settings of a method.
fn settings(method: Method, model: &Model<'_>, stored: &Budget) -> Vec<(String, f32, u32)> {
    if !method.needs_index() {
        return vec![("–".into(), 0.0, 0)];
    }
    let mut settings = vec![("stored".to_owned(), stored.epsilon, stored.expand)];
    if method == Method::Moments {
        if stored.epsilon > 0.0 {
            settings.push(("always to the cap".into(), 0.0, stored.expand));
        }
        if model.links().is_some() {
            let others = [0, 2, 4, 8].into_iter().filter(|&expand| expand != stored.expand);
            settings.extend(others.map(|expand| (format!("links of {expand}"), stored.epsilon, expand)));
        }
    }
    settings
}

/// Returns the points that no other point beats in both work and error, in the order of work.
///
/// ```
/// use zhat::host::evaluate::pareto;
///
/// let front = pareto(&[(0.04, 0.02), (0.01, 0.06), (0.02, 0.07), (0.08, 0.02)]);
/// assert_eq!(front, [(0.01, 0.06), (0.04, 0.02)]);
/// ```
pub fn pareto(points: &[(f32, f32)]) -> Vec<(f32, f32)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut least = f32::INFINITY;
    sorted.retain(|&(_, error)| {
        let better = error < least;
        least = least.min(error);
        better
    });
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::build::{Targets, build};
    use crate::host::{Kind, Layer};

    #[test]
    fn every_setting_is_counted() {
        let layer = Layer::generate(500, 8, 1);
        let queries = layer.queries(Kind::LanguageModel, 60, 1);
        let targets = Targets { work: 0.3, cap: 0.6, always_index: true, ..Targets::default() };
        let built = build(&layer.weights, &layer.biases, None, &targets, &mut |_| {}).unwrap();
        let methods = [Method::Exact, Method::Moments, Method::Mimps];
        let mut counted = Vec::new();
        let step = &mut |_: &str, at, of| counted.push((at, of));
        let points = sweep(&built.model.model(), &queries, &methods, &[0.2, 0.5], 2, step).unwrap();
        assert_eq!(counted, (0..points.len()).map(|at| (at, points.len())).collect::<Vec<_>>());
    }
}
