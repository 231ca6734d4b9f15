//! Compares every estimator with the exact answer, on given queries: the evidence before a model is used.
//!
//! There are two references. An estimator's own error is measured against the exact Z of the same quantised model; the
//! end-to-end error is measured against the float layer that the model was made from. Queries are processed in blocks,
//! so memory grows by a few numbers for each query.
//!
//! ```
//! use zhat::host::build::{Targets, build};
//! use zhat::host::evaluate::{Evaluation, FloatLayer, Options};
//! use zhat::host::Matrix;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let wave = |n: usize| (0..n).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<f32>>();
//! # let (weights, biases) = (Matrix::new(wave(16_000), 8).unwrap(), vec![0.0; 2000]);
//! # let queries = Matrix::new(wave(160), 8).unwrap();
//! let built = build(&weights, &biases, None, &Targets::default(), &mut |_| {})?;
//! let layer = FloatLayer { weights: &weights, biases: &biases, temperature: 1.0 };
//! let found = Evaluation::run(&built.model.model(), Some(layer), &queries, &Options::default())?;
//! let moments = found.report.of("moments").unwrap();
//! assert!(moments.work_max <= 0.16);
//! # Ok(()) }
//! ```

mod figures;
mod method;
mod quality;
mod report;
mod same_layer;
mod sweep;
mod tally;
mod truth;

use core::fmt;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use rayon::prelude::*;

pub use super::measure::{exact_predictions, predictions};
pub use figures::{LabelFigures, Surest, TopAnswers};
pub use method::{Answer, Memory, Method, TOP, ask};
pub use quality::Reliability;
pub use report::{Data, EstimatorReport, Labelled, ModelSummary, Quality, Report};
pub use same_layer::{Mismatch, mismatch};
pub use sweep::{Point, pareto, sweep};
pub use truth::{Exact, FloatLayer, QuantisedLayer, Rows, exact, mean_p, quantised, scores};

use super::Matrix;
use crate::model::Budget;
use crate::{Error, Model};
use tally::{Case, Float, Mean, Tally};

/// The number of queries in a block.
const BLOCK: usize = 256;
/// The number of queries that are timed, and the number of rounds.
const TIMED: usize = 48;
const ROUNDS: usize = 3;

/// The choices of an evaluation.
///
/// ```
/// use zhat::host::evaluate::{Method, Options};
///
/// let options = Options { methods: vec![Method::Moments, Method::Mimps], timed: false, ..Options::default() };
/// # assert_eq!(options.k, 5);
/// ```
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The estimators.
    pub methods: Vec<Method>,
    /// The number of seeds for methods that use any.
    pub seeds: usize,
    /// k of recall at k, at most [`TOP`].
    pub k: usize,
    /// A budget to use instead of the stored one.
    pub budget: Option<Budget>,
    /// The queries that the model was built with. A class that is the best of none of them counts as unseen.
    pub calibration: Option<&'a Matrix>,
    /// The true class of each query.
    pub labels: Option<&'a [usize]>,
    /// True to measure times.
    pub timed: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            methods: vec![Method::Exact, Method::Moments],
            seeds: 3,
            k: 5,
            budget: None,
            calibration: None,
            labels: None,
            timed: true,
        }
    }
}

/// Says why an evaluation failed.
///
/// ```
/// use zhat::host::Matrix;
/// use zhat::host::evaluate::{EvaluateError, Evaluation, Options};
///
/// let none = Matrix::new(Vec::new(), 3).expect("no rows of three");
/// let error = Evaluation::run(&zhat::doc_example().model(), None, &none, &Options::default()).unwrap_err();
/// assert_eq!(error, EvaluateError::NoQueries);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EvaluateError {
    /// There are no queries.
    NoQueries,
    /// The model refuses the query of this number.
    Query(usize, Error),
    /// The model cannot be used with this method.
    Method(Method, Error),
    /// The size of an input does not fit the model; holds its name and size.
    Size(&'static str, usize),
}

impl fmt::Display for EvaluateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoQueries => f.write_str("there are no queries"),
            Self::Query(query, error) => write!(f, "query {query}: {error}"),
            Self::Method(method, error) => write!(f, "{method}: {error}"),
            Self::Size(what, size) => write!(f, "{what}: {size} does not fit the model"),
        }
    }
}

impl core::error::Error for EvaluateError {}

/// A report, and the data of plots.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
/// # let model = file.model();
///
/// use zhat::host::evaluate::{Evaluation, Method, Options};
///
/// let options = Options { methods: vec![Method::Exact], timed: false, ..Options::default() };
/// let report = Evaluation::run(&model, None, &queries, &options)?.report;
/// assert!(report.of("exact").expect("asked for").err_mean < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The figures.
    pub report: Report,
    /// With labels: a reliability diagram for each estimator.
    pub reliability: Vec<(&'static str, Reliability)>,
}

impl Evaluation {
    /// Runs all estimators on all queries.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(400, 8, 1);
    /// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
    /// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
    /// # let model = file.model();
    ///
    /// use zhat::host::evaluate::{Evaluation, FloatLayer, Method, Options};
    ///
    /// let float = FloatLayer { weights: &layer.weights, biases: &layer.biases, temperature: 1.0 };
    /// let options = Options { methods: vec![Method::Exact], timed: false, ..Options::default() };
    /// let report = Evaluation::run(&model, Some(float), &queries, &options)?.report;
    /// assert!(report.of("exact").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EvaluateError`].
    pub fn run(
        model: &Model<'_>,
        layer: Option<FloatLayer<'_>>,
        queries: &Matrix,
        options: &Options<'_>,
    ) -> Result<Self, EvaluateError> {
        Self::watched(model, layer, queries, options, &mut |_, _| {})
    }

    /// Does the same, and tells `progress` after how many of the queries it stands, and of how many.
    ///
    /// ```
    /// # use zhat::host::evaluate::{Evaluation, Method, Options};
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let file = zhat::host::flat_model(&layer.weights, &layer.biases)?;
    /// # let queries = layer.queries(zhat::host::Kind::LanguageModel, 10, 2);
    /// let options = Options { methods: vec![Method::Exact], timed: false, ..Options::default() };
    /// let mut last = (0, 0);
    /// Evaluation::watched(&file.model(), None, &queries, &options, &mut |done, of| last = (done, of))?;
    /// assert_eq!(last, (10, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EvaluateError`].
    pub fn watched(
        model: &Model<'_>,
        layer: Option<FloatLayer<'_>>,
        queries: &Matrix,
        options: &Options<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, EvaluateError> {
        check(model, layer, queries, options)?;
        let budget = options.budget.unwrap_or_else(|| stored_budget(model));
        let seen = options.calibration.map(|calibration| best_classes(model, calibration)).transpose()?;
        let labelled = options.labels.is_some();
        let seeds = |method: Method| if method.is_random() { options.seeds.max(1) } else { 1 };
        let mut tallies: Vec<Tally> = Vec::new();
        for &method in &options.methods {
            tallies.push(Tally::new(method, seeds(method), options.k.min(TOP), labelled));
        }
        let mut layers = Layers::default();
        for (index, block) in queries.data().chunks(BLOCK * queries.cols()).enumerate() {
            let first = index * BLOCK;
            progress(first, queries.rows());
            let values = quantised(model, block).map_err(|(i, error)| EvaluateError::Query(first + i, error))?;
            let exacts = exact(&QuantisedLayer(model), &values, queries.cols(), TOP);
            let floats = layer.map(|layer| exact(&layer, block, queries.cols(), 1));
            let case = |i: usize| Case {
                exact: &exacts[i],
                float: layer.zip(floats.as_ref()).map(|(layer, floats)| Float {
                    exact: &floats[i],
                    layer,
                    query: &block[i * queries.cols()..][..queries.cols()],
                }),
                label: options.labels.map(|labels| {
                    let query = &values[i * queries.cols()..][..queries.cols()];
                    (labels[first + i], QuantisedLayer(model).score(labels[first + i], query))
                }),
                unseen: seen.as_ref().map(|seen| !seen.contains(&exacts[i].top[0].0)),
            };
            let cases: Vec<Case<'_>> = (0..exacts.len()).map(case).collect();
            cases.iter().for_each(|case| layers.add(case));
            for (tally, &method) in tallies.iter_mut().zip(&options.methods) {
                for seed in 0..seeds(method) as u64 {
                    for (answer, case) in ask_all(model, method, block, &budget, seed, first)?.iter().zip(&cases) {
                        tally.add(answer, case);
                    }
                }
            }
        }
        progress(queries.rows(), queries.rows());
        let times = if options.timed { times(model, queries, &options.methods, &budget) } else { Vec::new() };
        let micros = |at: usize| times.get(at).map_or(0.0, |time: &Duration| time.as_secs_f32() * 1e6);
        let estimators = tallies
            .iter_mut()
            .enumerate()
            .map(|(i, tally)| tally.report(model.classes(), micros(i + 1), micros(0)))
            .collect();
        let summary = ModelSummary {
            cap: budget.cap,
            epsilon: budget.epsilon,
            expand: budget.expand,
            ..ModelSummary::new(model)
        };
        let reliability = tallies
            .iter_mut()
            .zip(&options.methods)
            .filter_map(|(tally, method)| tally.reliability.take().map(|reliability| (method.name(), reliability)))
            .collect();
        let data = layers.data(model, queries.rows(), seen.is_some());
        let labels = labelled.then(|| layers.labelled(layer.is_some()));
        Ok(Self { report: Report { model: summary, data, labels, estimators }, reliability })
    }
}

/// Returns the stored budget; all rows if the file has none.
pub fn stored_budget(model: &Model<'_>) -> Budget {
    let all = Budget { cap: model.classes() as u32, epsilon: 0.0, expand: 0 };
    model.settings().map_or(all, |settings| settings.budget)
}

fn check(
    model: &Model<'_>,
    layer: Option<FloatLayer<'_>>,
    queries: &Matrix,
    options: &Options<'_>,
) -> Result<(), EvaluateError> {
    let fits = |what, size: usize, expected: usize| {
        if size == expected { Ok(()) } else { Err(EvaluateError::Size(what, size)) }
    };
    if queries.rows() == 0 {
        return Err(EvaluateError::NoQueries);
    }
    fits("columns of the queries", queries.cols(), model.dim())?;
    if let Some(layer) = layer {
        fits("rows of the weights", layer.weights.rows(), model.classes())?;
        fits("columns of the weights", layer.weights.cols(), model.dim())?;
        fits("biases", layer.biases.len(), model.classes())?;
    }
    if let Some(labels) = options.labels {
        fits("labels", labels.len(), queries.rows())?;
        let outside = labels.iter().find(|&&label| label >= model.classes());
        outside.map_or(Ok(()), |&label| Err(EvaluateError::Size("label", label)))?;
    }
    match options.calibration {
        Some(calibration) => fits("columns of the calibration queries", calibration.cols(), model.dim()),
        None => Ok(()),
    }
}

/// Collects the classes that are the best of any query.
fn best_classes(model: &Model<'_>, queries: &Matrix) -> Result<HashSet<u32>, EvaluateError> {
    let mut best = HashSet::new();
    for block in queries.data().chunks(BLOCK * queries.cols()) {
        let values = quantised(model, block).map_err(|(i, error)| EvaluateError::Query(i, error))?;
        best.extend(exact(&QuantisedLayer(model), &values, queries.cols(), 1).iter().map(|exact| exact.top[0].0));
    }
    Ok(best)
}

fn ask_all(
    model: &Model<'_>,
    method: Method,
    block: &[f32],
    budget: &Budget,
    seed: u64,
    first: usize,
) -> Result<Vec<Answer>, EvaluateError> {
    block
        .par_chunks_exact(model.dim())
        .enumerate()
        .map_init(
            || Memory::new(model),
            |memory, (i, query)| {
                memory.set(model, query).map_err(|error| EvaluateError::Query(first + i, error))?;
                let seed = seed << 32 | (first + i) as u64;
                ask(method, model, budget, seed, memory).map_err(|error| EvaluateError::Method(method, error))
            },
        )
        .collect()
}

/// Measures the mean time of a query on one thread: of `exact`, then of each method. In each of a few rounds all
/// methods take turns, and the fastest round of each query counts, so that other load on the host does not.
fn times(model: &Model<'_>, queries: &Matrix, methods: &[Method], budget: &Budget) -> Vec<Duration> {
    let step = queries.rows().div_ceil(TIMED).max(1);
    let sample: Vec<&[f32]> = queries.iter().step_by(step).collect();
    let mut all = vec![Method::Exact];
    all.extend(methods.iter().filter(|&&method| method != Method::Exact));
    let mut memory = Memory::new(model);
    let mut best = vec![Duration::MAX; all.len() * sample.len()];
    for _ in 0..ROUNDS {
        for (i, (query, best)) in sample.iter().zip(best.chunks_exact_mut(all.len())).enumerate() {
            for (&method, best) in all.iter().zip(best) {
                let start = Instant::now();
                // These queries were all answered before.
                if memory.set(model, query).is_ok() {
                    let _ = core::hint::black_box(ask(method, model, budget, i as u64, &mut memory));
                }
                *best = start.elapsed().min(*best);
            }
        }
    }
    let mean = |method: &Method| {
        let at = all.iter().position(|other| other == method).unwrap_or(0);
        best.iter().skip(at).step_by(all.len()).sum::<Duration>() / sample.len().max(1) as u32
    };
    core::iter::once(&Method::Exact).chain(methods).map(mean).collect()
}

/// Figures on the layers, independent of any estimator.
#[derive(Default)]
struct Layers {
    top_p: Mean,
    spread: Mean,
    unseen: usize,
    float: Reliability,
    exact: Reliability,
    one: Reliability,
}

impl Layers {
    fn add(&mut self, case: &Case<'_>) {
        self.top_p.add(case.exact.top_p());
        self.spread.add(case.exact.spread);
        self.unseen += usize::from(case.unseen == Some(true));
        let Some((label, score)) = case.label else { return };
        let (class, best) = case.exact.top[0];
        let hit = class as usize == label;
        self.exact.add(case.exact.top_p(), hit, (score - case.exact.log_z).exp());
        self.one.add(best.exp(), hit, score.exp());
        if let Some(float) = &case.float {
            let p = (float.layer.score(label, float.query) - float.exact.log_z).exp();
            self.float.add(float.exact.top_p(), float.exact.top[0].0 as usize == label, p);
        }
    }

    fn data(&self, model: &Model<'_>, queries: usize, calibrated: bool) -> Data {
        Data {
            classes: model.classes(),
            dim: model.dim(),
            queries,
            top_p_mean: self.top_p.get().unwrap_or(0.0),
            score_spread: self.spread.get().unwrap_or(0.0),
            unseen_queries: calibrated.then_some(self.unseen),
        }
    }

    fn labelled(&self, float: bool) -> Labelled {
        Labelled {
            float: float.then(|| self.float.quality()),
            exact: self.exact.quality(),
            self_normalised: self.one.quality(),
        }
    }
}
