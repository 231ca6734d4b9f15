//! `zhat.build`: the options of `zhat build` for arrays.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use serde::Serialize;
use zhat::host::BuildError;
use zhat::host::build::{Plan, Targets, TrialResult};
use zhat::host::evaluate::Report;
use zhat::host::input::network::{InputScale, as_partial, with_input_scale};
use zhat::host::make::{Knobs, MakeError, Request, make};
use zhat::host::report::describe::Description;
use zhat::host::report::warnings;

use crate::cli::build::Limits;
use crate::cli::{Failure, args, progress::described};
use crate::error::{failure, value};
use crate::model::Model;
use crate::queries::{labels, matrix};
use crate::work::interruptible;

/// The options of `zhat build`, apart from arrays. Shares, sizes and times are text, as the command reads them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    work: Option<String>,
    cap: Option<String>,
    max_error: Option<String>,
    flash: Option<String>,
    instructions: Option<String>,
    deadline: Option<String>,
    clock: Option<String>,
    bits: String,
    reject: String,
    seed: u64,
    fit_temperature: bool,
    lookup: bool,
    input_scale: Option<f32>,
    input_zero_point: i8,
    blend: Option<f32>,
    branching: Option<usize>,
    leaf: Option<usize>,
    links: Option<usize>,
    linked: Option<String>,
    left_out: Option<String>,
    is_oriented: bool,
}

/// The facts about a model beside its file.
#[derive(Serialize)]
struct Built {
    plan: Option<Plan>,
    temperature: f32,
    expected: Option<TrialResult>,
    report: Option<Report>,
    warnings: Vec<String>,
}

/// Why there is no model.
enum Refused {
    Failure(Failure),
    Make(MakeError),
    Build(BuildError),
}

/// Builds a model: returns it and, as JSON, what is known of it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of Python")]
pub fn build(
    py: Python<'_>,
    weights: PyReadonlyArray2<'_, f32>,
    bias: Option<PyReadonlyArray1<'_, f32>>,
    queries: Option<PyReadonlyArray2<'_, f32>>,
    labelled: Option<PyReadonlyArray1<'_, i64>>,
    test_queries: Option<PyReadonlyArray2<'_, f32>>,
    names: Option<Vec<String>>,
    options: Options,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Model, String)> {
    let weights = matrix("weights", &weights)?;
    let biases = match &bias {
        Some(bias) => bias.as_slice().map_err(value)?.to_vec(),
        None => vec![0.0; weights.rows()],
    };
    let queries = queries.map(|queries| matrix("queries", &queries)).transpose()?;
    let report = test_queries.map(|queries| matrix("test_queries", &queries)).transpose()?;
    let labels = labelled.map(|array| labels(&array, weights.rows())).transpose()?;
    let limits = options.limits()?;
    let (work, cap) = limits.shares(weights.rows(), weights.cols()).map_err(failure)?;
    let targets = Targets {
        work,
        cap,
        bits: limits.bits,
        linked: read("linked", options.linked.as_deref(), args::share)?,
        reject: args::share(&options.reject).map_err(|error| value(format!("reject: {error}")))?,
        seed: options.seed,
        ..Targets::default()
    };
    let (blend, branching, leaf, links) = (options.blend, options.branching, options.leaf, options.links);
    expect_within("blend", blend, 0.0..=1.0)?;
    expect_within("branching", branching, 2..=1024)?;
    expect_within("leaf", leaf, 1..=65536)?;
    expect_within("links", links, 0..=64)?;
    let max_error = read("max_error", options.max_error.as_deref(), args::positive)?;
    let flash = read("flash", options.flash.as_deref(), args::size)?;
    let input = options.input_scale.map(|scale| InputScale { scale, zero_point: options.input_zero_point });
    if let Some(InputScale { scale, .. }) = input.filter(|input| !(input.scale.is_finite() && input.scale > 0.0)) {
        return Err(value(format!("input_scale: {scale} is not above zero")));
    }
    if (labels.is_some() || options.fit_temperature) && queries.is_none() {
        return Err(value("labels need queries"));
    }
    if options.fit_temperature && labels.is_none() {
        return Err(value("fit_temperature needs labels"));
    }
    let made = interruptible(py, progress.as_ref(), move |watch| {
        let request = Request {
            queries: queries.as_ref(),
            labels: labels.as_deref(),
            fit_temperature: options.fit_temperature,
            report: report.as_ref(),
            names: names.as_deref(),
            targets,
            knobs: Knobs { blend, branching, leaf, links },
            max_error,
            flash,
            lookup: options.lookup,
            ..Request::new(&weights, &biases)
        };
        let mut made = make(&request, &mut |step| {
            let (what, done, of) = described(step);
            watch.step(&what, done, of);
        })?;
        limits.expect_in_time(&made, weights.rows(), weights.cols()).map_err(Refused::Failure)?;
        if let Some(input) = input {
            made.model = with_input_scale(&made.model, input)?;
        }
        if let Some(left_out) = &options.left_out {
            made.model = as_partial(&made.model, left_out)?;
        }
        let model = made.model.model();
        let mut found = Description::of(&model).warnings;
        if options.is_oriented {
            let of_shape = warnings::of_shape(&model);
            found.retain(|warning| of_shape.as_ref() != Some(warning));
        }
        if let Some(queries) = &queries {
            found.extend(warnings::of_queries("queries", queries));
        }
        if let Some(report) = &report {
            found.extend(warnings::of_queries("test_queries", report));
            found.extend(queries.iter().flat_map(|own| warnings::of_scale("test_queries", report, "queries", own)));
        }
        let chosen = made.index.as_ref().ok();
        let built = Built {
            plan: chosen.map(|chosen| chosen.plan),
            expected: chosen.map(|chosen| chosen.expected.clone()),
            temperature: made.temperature,
            report: made.report,
            warnings: found,
        };
        Ok((made.model, built))
    });
    let (file, built) = made?.map_err(Refused::into_py)?;
    Ok((Model::new(file), serde_json::to_string(&built).map_err(value)?))
}

impl Options {
    fn limits(&self) -> PyResult<Limits> {
        if self.work.is_some() && (self.instructions.is_some() || self.max_error.is_some()) {
            return Err(value("work, instructions and max_error: give one of them"));
        }
        if self.instructions.is_some() && self.max_error.is_some() {
            return Err(value("instructions and max_error: give one of them"));
        }
        if self.deadline.is_some() && self.cap.is_some() {
            return Err(value("cap and deadline: give one of them"));
        }
        if self.deadline.is_some() != self.clock.is_some() {
            return Err(value("deadline and clock: one needs the other"));
        }
        let deadline = read("deadline", self.deadline.as_deref(), args::duration)?;
        let clock = read("clock", self.clock.as_deref(), args::frequency)?;
        Ok(Limits {
            work: read("work", Some(self.work.as_deref().unwrap_or("4%")), args::share)?.unwrap_or_default(),
            cap: read("cap", self.cap.as_deref(), args::share)?,
            instructions: read("instructions", self.instructions.as_deref(), args::instructions)?,
            deadline: deadline.zip(clock).map(|(seconds, clock)| (seconds * clock) as u64),
            has_max_error: self.max_error.is_some(),
            bits: args::bits(&self.bits).map_err(|error| value(format!("bits: {} is not {error}", self.bits)))?,
        })
    }
}

/// Reads an option as the command does.
fn read<T>(name: &str, text: Option<&str>, parse: impl Fn(&str) -> Result<T, String>) -> PyResult<Option<T>> {
    text.map(parse).transpose().map_err(|error| value(format!("{name}: {error}")))
}

fn expect_within<T: PartialOrd + std::fmt::Display>(
    name: &str,
    number: Option<T>,
    range: std::ops::RangeInclusive<T>,
) -> PyResult<()> {
    match number.filter(|number| !range.contains(number)) {
        Some(number) => Err(value(format!("{name}: {number} is not {} to {}", range.start(), range.end()))),
        None => Ok(()),
    }
}

impl Refused {
    fn into_py(self) -> PyErr {
        match self {
            Self::Failure(error) => failure(error),
            Self::Make(error) => value(error),
            Self::Build(error) => value(error),
        }
    }
}

impl From<MakeError> for Refused {
    fn from(error: MakeError) -> Self {
        Self::Make(error)
    }
}

impl From<BuildError> for Refused {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}
