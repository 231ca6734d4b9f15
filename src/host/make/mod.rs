//! From what a user has and wants to a finished model file: splits the queries, fits the temperature, meets a limit on
//! the error or on the size, adds names, and measures the result on queries that nothing was tuned on.

mod error;
mod flash;
mod parts;
mod request;

pub use error::MakeError;
pub use request::{Knobs, Request};

use parts::Parts;

use crate::host::build::{Built, Chosen, NoIndex, Plan, Stage, Targets, build, indices};
use crate::host::evaluate::{EvaluateError, Evaluation, FloatLayer, Method, Options, Report};
use crate::host::label::{
    KnownFigures, MapFigures, Mapped, SetFigures, SetsError, fit_map, set_figures, shifted, with_known, with_sets,
};
use crate::host::{BuildError, Matrix, fit_temperature};
use crate::model::{FileWriter, Measured, ModelBuf, Names, Section, Settings, Trust};

/// Works that are tried for a limit on the error: from a half per cent to all of it, each 1.4 times the one before.
const LEAST_WORK: f32 = 0.005;
const STEPS: usize = 15;
/// With fewer labelled queries none are put aside for sets of classes.
const LEAST_LABELS: usize = 80;

/// A step of making a model, for progress display.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::make::{Request, Step, make};
///
/// let request = Request { max_error: Some(0.05), ..Request::new(&layer.weights, &layer.biases) };
/// let mut reported = false;
/// make(&request, &mut |step| reported |= step == Step::Report)?;
/// assert!(reported);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Fits the temperature.
    Temperature,
    /// Builds for the targets.
    Build(Stage),
    /// Builds with fewer links or larger leaves, to fit the flash.
    Smaller(Plan, Stage),
    /// Builds for this work, to meet the limit on the error: which try of a bisection.
    Work {
        /// The work that is tried.
        work: f32,
        /// The number of the try, from one.
        at: usize,
        /// Of how many at most.
        of: usize,
        /// The stage of its build.
        stage: Stage,
    },
    /// Measures the result on the queries put aside.
    Report,
}

/// A finished model.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::make::{Request, make};
///
/// let made = make(&Request::new(&layer.weights, &layer.biases), &mut |_| {})?;
/// assert_eq!((made.model.model().classes(), made.temperature), (60, 1.0));
/// assert!(made.index.is_err() && made.report.is_none()); // few rows, and no queries
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Made {
    /// The file.
    pub model: ModelBuf,
    /// The index that it has, or why it has none.
    pub index: Result<Chosen, NoIndex>,
    /// The figures of queries that nothing was tuned on, if there were any.
    pub report: Option<Report>,
    /// The temperature: scores were divided by it.
    pub temperature: f32,
    /// How sets of classes did on labels that nothing was made from: one for each level, if there were such labels.
    pub sets: Vec<SetFigures>,
    /// How well inputs that are none of the classes are told, if there were examples of them, and queries, in sufficient number.
    pub known: Option<KnownFigures>,
    /// Which map from scores to probabilities was fitted, if one was asked for.
    pub map: Option<MapFigures>,
    /// The layer that the model was made from, where that is not the one that was given: weights and biases.
    pub layer: Option<(Matrix, Vec<f32>)>,
}

/// Makes a model.
///
/// ```
/// # let layer = zhat::host::Layer::generate(400, 8, 1);
///
/// use zhat::host::make::{Request, make};
/// use zhat::host::{Kind, Matrix};
///
/// let queries = layer.queries(Kind::Classifier, 200, 2); // yours: inputs of the layer
/// let request = Request { queries: Some(&queries), ..Request::new(&layer.weights, &layer.biases) };
/// let made = make(&request, &mut |step| println!("{step:?}"))?;
/// std::fs::write(std::env::temp_dir().join("model.zhat"), &*made.model)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`MakeError`].
pub fn make(request: &Request<'_>, progress: &mut dyn FnMut(Step)) -> Result<Made, MakeError> {
    check(request)?;
    let parts = Parts::of(request);
    let (tuned, held) = (parts.tune.as_ref().or(request.queries), parts.held.as_ref().or(request.report));
    let mut temperature = 1.0;
    let mut map = None;
    let mut changed = None;
    if let (true, Some(fit)) = (request.fit_temperature || request.fit_map, parts.fit()) {
        progress(Step::Temperature);
        if request.fit_map {
            let Mapped { weights, biases, figures } = fit_map(request.weights, request.biases, fit);
            temperature = figures.temperature;
            changed = Some((weights, biases));
            map = Some(figures);
        } else {
            temperature = fit_temperature(request.weights, request.biases, fit.queries, fit.labels);
            changed = (temperature != 1.0).then(|| at_temperature(request, temperature));
        }
    }
    if let Some((before, after)) = request.priors {
        let (weights, biases) = changed.unwrap_or_else(|| (request.weights.clone(), request.biases.to_vec()));
        let biases = shifted(&biases, before, after);
        changed = Some((weights, biases));
    }
    let (weights, biases) = match &changed {
        Some((weights, biases)) => (weights, &biases[..]),
        None => (request.weights, request.biases),
    };
    let maker = Maker { request, weights, biases, queries: tuned };
    let Built { mut model, index, .. } = maker.built(progress)?;
    progress(Step::Report);
    let mut report = match held {
        Some(held) => {
            let layer = FloatLayer { weights, biases, temperature: 1.0 };
            // Other labelled queries are not those that are reported on.
            let is_of_held = request.labelled.is_none() || request.report_labels.is_some();
            let labels = parts.test().filter(|_| is_of_held).map(|test| test.labels);
            let options = Options { methods: vec![Method::Moments], timed: false, labels, ..Default::default() };
            Some(Evaluation::run(&model.model(), Some(layer), held, &options)?.report)
        }
        None => None,
    };
    if let Some(report) = &mut report {
        report.model.temperature = temperature;
    }
    let mut sets = Vec::new();
    if let Some(&level) = request.sets.first() {
        let labelled = parts.sets().ok_or(SetsError::Labels { level, found: 0, least: LEAST_LABELS })?;
        model = with_sets(&model, labelled, parts.fit(), request.sets)?;
        if let Some(test) = parts.test() {
            sets = set_figures(&model.model(), test, Some(&parts.building())).map_err(SetsError::Model)?;
        }
    }
    let mut known = None;
    if let (Some(unknown), Some(tuned), Some(held)) = (request.unknown, tuned, held) {
        let made = with_known(&model, tuned, held, unknown, request.targets.reject).map_err(BuildError::File)?;
        known = made.map(|(with, figures)| {
            model = with;
            figures
        });
    }
    let model = finish(model, temperature, request, report.as_ref())?;
    Ok(Made { model, index, report, temperature, sets, known, map, layer: changed })
}

fn check(request: &Request<'_>) -> Result<(), MakeError> {
    let same = |what, found: usize, expected: usize| {
        if found == expected { Ok(()) } else { Err(MakeError::Length { what, found, expected }) }
    };
    if let Some(names) = request.names {
        same("names", names.len(), request.weights.rows())?;
    }
    let of_what = [(request.labels, request.labelled.or(request.queries)), (request.report_labels, request.report)];
    for (labels, queries) in of_what.into_iter().filter_map(|(labels, queries)| labels.zip(queries)) {
        same("labels", labels.len(), queries.rows())?;
        if let Some(&label) = labels.iter().find(|&&label| label >= request.weights.rows()) {
            return Err(EvaluateError::Size("label", label).into());
        }
    }
    for priors in request.priors.iter().flat_map(|&(before, after)| [before, after]) {
        same("shares of classes", priors.len(), request.weights.rows())?;
    }
    if let Some(report) = request.report {
        same("columns of the queries to report on", report.cols(), request.weights.cols())?;
    }
    if let Some(unknown) = request.unknown {
        same("columns of the queries of no class", unknown.cols(), request.weights.cols())?;
    }
    if let Some(labelled) = request.labelled {
        same("columns of the queries with labels", labelled.cols(), request.weights.cols())?;
    }
    Ok(())
}

fn at_temperature(request: &Request<'_>, temperature: f32) -> (Matrix, Vec<f32>) {
    let data = request.weights.data().iter().map(|w| w / temperature).collect();
    let weights = Matrix::new(data, request.weights.cols()).expect("whole rows");
    (weights, request.biases.iter().map(|b| b / temperature).collect())
}

struct Maker<'a> {
    request: &'a Request<'a>,
    weights: &'a Matrix,
    biases: &'a [f32],
    queries: Option<&'a Matrix>,
}

impl Maker<'_> {
    fn built(&self, progress: &mut dyn FnMut(Step)) -> Result<Built, MakeError> {
        let Request { targets, knobs, max_error, flash, .. } = self.request;
        if let Some(limit) = *flash {
            let rows = self.fixed_bytes();
            if rows > limit {
                return Err(MakeError::Flash { limit, least: rows, rows });
            }
        }
        let plans = knobs.apply(targets.plans(self.queries.is_some(), self.request.weights.rows()));
        let targets = Targets { plans, ..targets.clone() };
        let built = self.build(&targets, &mut |stage| progress(Step::Build(stage)))?;
        let built = match *flash {
            Some(limit) => self.smaller(built, &targets, limit, progress)?,
            None => built,
        };
        match *max_error {
            Some(limit) => self.least_work(built, &targets, limit, progress),
            None => Ok(built),
        }
    }

    fn build(&self, targets: &Targets, progress: &mut dyn FnMut(Stage)) -> Result<Built, MakeError> {
        Ok(build(self.weights, self.biases, self.queries, targets, progress)?)
    }

    /// Bisects the works for the least one that keeps to the limit on the error.
    fn least_work(
        &self,
        built: Built,
        targets: &Targets,
        limit: f32,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Built, MakeError> {
        let plans = match built.index {
            Ok(Chosen { plan, .. }) => vec![plan],
            // More work may be enough for a search.
            Err(NoIndex::Work { .. }) => targets.plans.clone(),
            // All rows are scored: there is no error.
            Err(_) => return Ok(built),
        };
        let work = |step: usize| (LEAST_WORK * 2.0_f32.powf(step as f32 / 2.0)).min(1.0);
        let error = |built: &Built| built.index.as_ref().map_or(0.0, |chosen| chosen.expected.error);
        let ratio = (targets.cap / targets.work).max(1.0);
        // A bisection halves what is left; at last all rows are tried.
        let (mut at, of) = (0, STEPS.ilog2() as usize + 2);
        let mut tries = |step: usize| {
            let work = work(step);
            at += 1;
            let targets = Targets { work, cap: (work * ratio).min(1.0), plans: plans.clone(), ..targets.clone() };
            self.build(&targets, &mut |stage| progress(Step::Work { work, at, of, stage }))
        };
        let (mut low, mut high) = (0, STEPS);
        let mut best: Option<Built> = None;
        while low < high {
            let middle = (low + high) / 2;
            match tries(middle) {
                Ok(Built { index: Err(NoIndex::Work { .. }), .. }) => low = middle + 1,
                Ok(tried) if error(&tried) <= limit => {
                    high = middle;
                    best = Some(tried);
                }
                // Too little work for a search is too little for the limit.
                Ok(_) | Err(MakeError::Build(BuildError::Work { .. })) => low = middle + 1,
                Err(error) => return Err(error),
            }
        }
        match best {
            Some(best) => Ok(best),
            None => {
                let tried = tries(STEPS)?;
                let reached = error(&tried);
                if reached <= limit { Ok(tried) } else { Err(MakeError::Error { limit, reached, work: work(STEPS) }) }
            }
        }
    }
}

/// The file with its temperature, names and figures.
fn finish(
    model: ModelBuf,
    temperature: f32,
    request: &Request<'_>,
    report: Option<&Report>,
) -> Result<ModelBuf, MakeError> {
    if temperature == 1.0 && request.names.is_none() && !request.lookup && report.is_none() {
        return Ok(model);
    }
    let (settings, trust) = (model.model().settings().copied(), model.model().trust());
    let mut file = FileWriter::reopen(&model).map_err(BuildError::File)?;
    if request.lookup {
        add_lookup(&mut file, &model);
    }
    // A large model is not held more often than it has to be.
    drop(model);
    if let Some(settings) = settings {
        file.required(Section::Settings, &Settings { temperature, ..settings }.to_words());
    }
    if let Some(names) = request.names {
        file.optional(Section::Names, &Names::encode(names));
    }
    if let Some((report, found)) = report.and_then(|report| Some((report, report.of("moments")?))) {
        let measured = Measured {
            queries: report.data.queries as u32,
            error: found.err_mean,
            recall: found.recall_at_1.unwrap_or(0.0),
            coverage: found.coverage95.unwrap_or(0.0),
            work: found.work_mean,
            max_work: found.work_max,
            top_p: report.data.top_p_mean,
            spread: report.data.score_spread,
        };
        file.optional(Section::Measured, &measured.to_words());
        // The builder knows of fewer queries.
        if let (Some(trust), Some(reject_rate)) = (trust, found.rejected) {
            file.optional(Section::Trust, &Trust { reject_rate, ..trust }.to_words());
        }
    }
    Ok(file.into_model().map_err(BuildError::File)?)
}

/// The row of each class, where that is not the class itself.
fn add_lookup(file: &mut FileWriter, model: &ModelBuf) {
    let model = model.model();
    if model.has(Section::ClassOfRow) {
        let mut row_of_class = vec![0; model.classes()];
        (0..model.classes()).for_each(|row| row_of_class[model.class_of_row(row)] = row as u32);
        indices(file, Section::RowOfClass, &row_of_class, model.classes());
    }
}
