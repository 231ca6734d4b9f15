//! The results of an evaluation, for printing and for `--json`.

use serde::Serialize;

use super::figures::LabelFigures;
use crate::model::{FORMAT_VERSION, Model};

/// The results of an evaluation.
///
/// ```
/// # use zhat::host::evaluate::{Evaluation, Method, Options};
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
/// # let labels = vec![0; 20];
/// # let methods = vec![Method::Exact];
/// let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
/// let report = Evaluation::run(&file.model(), None, &queries, &options)?.report;
/// assert!(report.of("exact").is_some() && report.of("moments").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The model.
    pub model: ModelSummary,
    /// The data of the evaluation.
    pub data: Data,
    /// With labels: the quality of the probabilities computed exactly.
    pub labels: Option<Labelled>,
    /// The figures of each estimator.
    pub estimators: Vec<EstimatorReport>,
}

impl Report {
    /// Returns the figures of an estimator, if it was evaluated.
    pub fn of(&self, name: &str) -> Option<&EstimatorReport> {
        self.estimators.iter().find(|estimator| estimator.name == name)
    }
}

/// A model in a few numbers.
///
/// ```
/// # use zhat::host::evaluate::{Evaluation, Method, Options};
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
/// # let labels = vec![0; 20];
/// # let methods = vec![Method::Exact];
/// let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
/// let report = Evaluation::run(&file.model(), None, &queries, &options)?.report;
/// println!("{} classes, a cap of {}", report.model.classes, report.model.cap);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ModelSummary {
    /// The version of its format.
    pub format_version: u16,
    /// The length of the file in bytes.
    pub bytes: usize,
    /// N.
    pub classes: usize,
    /// d.
    pub dim: usize,
    /// The bits of a weight: 8 or 4.
    pub bits: u32,
    /// The number of nodes of the tree; zero without one.
    pub nodes: usize,
    /// The number of links of a row that has any.
    pub links: usize,
    /// The number of rows that have links.
    pub linked: usize,
    /// The cap on row-equivalents that the estimators were given.
    pub cap: u32,
    /// ε: a search stops early if the next node is predicted to hold at most this share of the scored mass.
    pub epsilon: f32,
    /// The number of best rows whose links are followed.
    pub expand: u32,
    /// The temperature that scores were divided by.
    pub temperature: f32,
}

impl ModelSummary {
    /// Summarises a model with its stored budget.
    pub fn new(model: &Model<'_>) -> Self {
        let settings = model.settings();
        let budget = settings.map(|settings| settings.budget);
        Self {
            format_version: FORMAT_VERSION,
            bytes: model.len(),
            classes: model.classes(),
            dim: model.dim(),
            bits: model.bits().count(),
            nodes: model.tree().map_or(0, |tree| tree.len()),
            links: model.links().map_or(0, |links| links.per_row()),
            linked: model.links().map_or(0, |links| links.rows()),
            cap: budget.map_or(model.classes() as u32, |budget| budget.cap),
            epsilon: budget.map_or(0.0, |budget| budget.epsilon),
            expand: budget.map_or(0, |budget| budget.expand),
            temperature: settings.map_or(1.0, |settings| settings.temperature),
        }
    }
}

/// The data of an evaluation.
///
/// ```
/// # use zhat::host::evaluate::{Evaluation, Method, Options};
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
/// # let labels = vec![0; 20];
/// # let methods = vec![Method::Exact];
/// let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
/// let report = Evaluation::run(&file.model(), None, &queries, &options)?.report;
/// println!("{} queries, mean p of the best class {}", report.data.queries, report.data.top_p_mean);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Data {
    /// N.
    pub classes: usize,
    /// d.
    pub dim: usize,
    /// The number of queries.
    pub queries: usize,
    /// The mean exact probability of the best class: near 1 for a confident layer, far below for a flat one.
    pub top_p_mean: f32,
    /// The mean standard deviation of a query's scores over the classes, in nats.
    pub score_spread: f32,
    /// The number of queries whose best class is the best of no calibration query.
    pub unseen_queries: Option<usize>,
}

/// The quality of probabilities, measured against labels.
///
/// ```
/// # use zhat::host::evaluate::{Evaluation, Method, Options};
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
/// # let labels = vec![0; 20];
/// # let methods = vec![Method::Exact];
/// let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
/// let report = Evaluation::run(&file.model(), None, &queries, &options)?.report;
/// let quality = report.labels.expect("labels").exact;
/// println!("{} right, log-loss {}", quality.accuracy, quality.log_loss);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// The share of queries whose best class is the label.
    pub accuracy: f32,
    /// Mean −ln p of the label, of probabilities that add up to one: see [`EstimatorReport::log_loss`].
    pub log_loss: f32,
    /// The expected calibration error: |confidence − accuracy| over 15 bins of the best class's p.
    pub ece: f32,
}

/// The quality of the probabilities of the layers themselves.
///
/// ```
/// # use zhat::host::evaluate::{Evaluation, Method, Options};
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
/// # let labels = vec![0; 20];
/// # let methods = vec![Method::Exact];
/// let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
/// let report = Evaluation::run(&file.model(), None, &queries, &options)?.report;
/// assert!(report.labels.expect("labels").float.is_none()); // no float layer was given
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Labelled {
    /// The given layer, at the model's temperature.
    pub float: Option<Quality>,
    /// The quantised layer with its exact Z.
    pub exact: Quality,
    /// The quantised layer with the assumption Z = 1.
    pub self_normalised: Quality,
}

/// The figures of one estimator. Figures that a method cannot have are `null`.
///
/// ```
/// # use zhat::host::evaluate::{Evaluation, Method, Options};
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
/// # let labels = vec![0; 20];
/// # let methods = vec![Method::Exact];
/// let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
/// let report = Evaluation::run(&file.model(), None, &queries, &options)?.report;
/// let exact = report.of("exact").expect("asked for");
/// assert_eq!(exact.work_mean, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct EstimatorReport {
    /// Its name; the default classifier's is "moments".
    pub name: &'static str,
    /// The number of seeds that the figures are means over; one for methods that use none.
    pub seeds: usize,
    /// The mean work as a share of N: dot products of length d, nodes included.
    pub work_mean: f32,
    /// The work that 95 % of the queries do not exceed.
    pub work_p95: f32,
    /// The largest work.
    pub work_max: f32,
    /// The mean error of Z, |Ẑ−Z|/Z, with Z the exact sum of the same quantised model.
    pub err_mean: f32,
    /// The median error of Z.
    pub err_median: f32,
    /// The error of Z that 95 % of the queries do not exceed.
    pub err_p95: f32,
    /// The error of Z that 99 % of the queries do not exceed.
    pub err_p99: f32,
    /// The mean error of Z, with Z that of the given float layer.
    pub err_float_mean: Option<f32>,
    /// The mean |p − p'|, with p of the best class found and p' of the float layer's best class.
    pub dp_mean: Option<f32>,
    /// The share of queries whose best class was found. A class of equal score counts as found; no class at all does
    /// not.
    pub recall_at_1: Option<f32>,
    /// The share of queries for which the best class of the given float layer was found.
    pub float_recall_at_1: Option<f32>,
    /// The mean share of the k best classes that were found.
    pub recall_at_k: Option<f32>,
    /// k.
    pub k: usize,
    /// `recall_at_1` over the queries whose best class is the best of no calibration query.
    pub unseen_recall_at_1: Option<f32>,
    /// Of the queries whose first class has a 95 % interval, the share where it holds the float layer's p of that class;
    /// without a float layer, the exact p of the quantised one.
    pub coverage95: Option<f32>,
    /// `coverage95` for the classes at places 2 to 5.
    pub coverage95_others: Option<f32>,
    /// The share of familiar queries. The others get no interval.
    pub familiar: Option<f32>,
    /// The share of queries whose energy is above the model's threshold.
    pub rejected: Option<f32>,
    /// The mean width of that interval, in p.
    pub interval_width: Option<f32>,
    /// With labels: the share of queries whose best class is the label. Methods that name no class get the exact best
    /// one.
    pub accuracy: Option<f32>,
    /// With labels: mean −ln p of the label, of probabilities that add up to one. A class that is named has exp(score)/Ẑ; all others
    /// share what that leaves of one in proportion to their own exp(score), so that an Ẑ that is off costs in both directions.
    pub log_loss: Option<f32>,
    /// With labels: the expected calibration error of the best class's p.
    pub ece: Option<f32>,
    /// With labels: what p of the best class is worth, with uncertainties.
    pub figures: Option<LabelFigures>,
    /// The mean time of a query on this host, on one thread, in microseconds.
    pub time_us: f32,
    /// The quotient of that time and the time of `exact` in the same run: below one is faster.
    pub time_ratio_to_exact: f32,
}
