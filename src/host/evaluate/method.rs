//! The estimators by name, all run through one function within the same budget.

use core::fmt;
use core::str::FromStr;

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::Error;
use crate::estimators::head::retrieve_into;
use crate::estimators::{self, Candidate, Estimate, Head, Prediction};
use crate::host::measure::{self, HostScratch};
use crate::math::Log2;
use crate::model::{Budget, Model};

/// The number of rows in the head of NMIMPS, MIMPS and MINCE; the paper's k.
const HEAD: usize = 100;
/// The quantile of the normal distribution for a two-sided 95 %.
const Z95: f32 = 1.96;
/// The most classes in an answer.
pub const TOP: usize = 10;

/// An estimator of Z.
///
/// ```
/// use zhat::host::evaluate::Method;
///
/// assert_eq!("mimps".parse(), Ok(Method::Mimps));
/// assert!(Method::Mimps.is_random() && Method::Mimps.needs_index());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// All rows.
    Exact,
    /// The default: [`Classifier`](crate::Classifier).
    Moments,
    /// Moments with a quarter of the work spent on samples.
    MomentsAndSamples,
    /// Uniform samples, as many as a query takes rows.
    Uniform,
    /// The best rows found and nothing else.
    Nmimps,
    /// The best rows found, and a quarter of the work as samples of the rest.
    Mimps,
    /// The rows of MIMPS, combined by noise-contrastive estimation.
    Mince,
    /// A table of random features.
    Fmbe,
    /// Z = 1.
    SelfNormalised,
}

impl Method {
    /// Every method, in the order of a report.
    pub const ALL: [Self; 9] = [
        Self::Exact,
        Self::Moments,
        Self::MomentsAndSamples,
        Self::Uniform,
        Self::Nmimps,
        Self::Mimps,
        Self::Mince,
        Self::Fmbe,
        Self::SelfNormalised,
    ];

    /// Returns the name in reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Moments => "moments",
            Self::MomentsAndSamples => "moments+samples",
            Self::Uniform => "uniform",
            Self::Nmimps => "nmimps",
            Self::Mimps => "mimps",
            Self::Mince => "mince",
            Self::Fmbe => "fmbe",
            Self::SelfNormalised => "self-normalised",
        }
    }

    /// Returns true if the answer depends on a seed.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::MomentsAndSamples | Self::Uniform | Self::Mimps | Self::Mince)
    }

    /// Returns true if the method names classes; the others estimate Z only.
    pub const fn names_classes(self) -> bool {
        matches!(self, Self::Exact | Self::Moments | Self::Nmimps | Self::Mimps | Self::Mince)
    }

    /// Returns true if the method needs a file with a tree.
    pub const fn needs_index(self) -> bool {
        matches!(self, Self::Moments | Self::MomentsAndSamples | Self::Nmimps | Self::Mimps | Self::Mince)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|method| method.name()).collect();
            format!("no estimator \"{text}\": there are {}", names.join(", "))
        })
    }
}

/// An estimator's answer to one query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// ln Ẑ.
    pub log_z: f32,
    /// The best classes and their scores, best first; empty for methods that estimate Z only.
    pub top: heapless::Vec<(u32, f32), TOP>,
    /// The 95 % intervals of the classes, from the first on; empty if the model or the method has none.
    pub intervals: heapless::Vec<(f32, f32), TOP>,
    /// True if the query is familiar; `None` if the model cannot tell.
    pub familiar: Option<bool>,
    /// Whether its energy is above the model's threshold, where the model has one.
    pub rejected: Option<bool>,
    /// The factors that turn a probability into the ends of its 95 % interval, for estimates that are a sample mean.
    pub sampled: Option<(f32, f32)>,
    /// Row-equivalents.
    pub work: u32,
}

impl Answer {
    fn of(estimate: &Estimate, head: &[Candidate]) -> Self {
        let sampled = estimate.standard_error.map(|error| {
            let (low, high) = (1.0 / (1.0 + Z95 * error), 1.0 - Z95 * error);
            (low, if high > 0.0 { 1.0 / high } else { f32::INFINITY })
        });
        let top = head.iter().take(TOP).map(|candidate| (candidate.class, candidate.score.to_nats())).collect();
        let (log_z, work) = (estimate.log_z(), estimate.work.row_equivalents());
        Self { log_z, top, intervals: heapless::Vec::new(), familiar: None, rejected: None, sampled, work }
    }

    fn predicted(prediction: &Prediction<TOP>) -> Self {
        Self {
            log_z: prediction.log_z(),
            top: prediction.top.iter().map(|ranked| (ranked.class, ranked.score.to_nats())).collect(),
            intervals: (0..prediction.top.len()).map_while(|place| prediction.interval(place)).collect(),
            familiar: prediction.is_familiar(),
            rejected: prediction.is_rejected(),
            sampled: None,
            work: prediction.work.row_equivalents(),
        }
    }
}

/// The memory of one thread for any estimator.
///
/// ```
/// # let file = zhat::doc_example();
/// use zhat::host::evaluate::{Answer, Memory, Method, ask, stored_budget};
///
/// let model = file.model();
/// let mut memory = Memory::new(&model);
/// memory.set(&model, &[0.5, -1.0, 2.0])?;
/// let answer: Answer = ask(Method::Exact, &model, &stored_budget(&model), 1, &mut memory)?;
/// assert_eq!(answer.top[0].0, 2);
/// # Ok::<(), zhat::Error>(())
/// ```
pub struct Memory {
    pub(super) scratch: HostScratch,
    candidates: heapless::Vec<Candidate, HEAD>,
    rows: heapless::Vec<u32, HEAD>,
    noise: Vec<Log2>,
}

impl Memory {
    /// Allocates the memory for a model.
    pub fn new(model: &Model<'_>) -> Self {
        Self {
            scratch: HostScratch::new(model),
            candidates: heapless::Vec::new(),
            rows: heapless::Vec::new(),
            noise: vec![Log2::default(); model.classes()],
        }
    }

    /// Sets the query of the next answers.
    ///
    /// # Errors
    /// Any [`Error`] of [`Query::set`](crate::Query::set).
    pub fn set(&mut self, model: &Model<'_>, query: &[f32]) -> Result<(), Error> {
        self.scratch.query.set(model, query)
    }
}

/// Returns the mean rows of a query: the cap, or the measured mean if searches stop before it. Methods that draw
/// samples get as many, so that all methods are compared at about the same work.
fn typical_work(model: &Model<'_>, budget: &Budget) -> usize {
    let cap = budget.cap as usize;
    match model.measured() {
        Some(measured) if budget.epsilon > 0.0 => cap.min((measured.work * model.classes() as f32) as usize),
        _ => cap,
    }
}

/// Runs an estimator on the query in the memory.
///
/// # Errors
/// [`Error::NoIndex`] or [`Error::MissingSection`] if the file lacks what the method needs, [`Error::Budget`] if the
/// cap is too small.
pub fn ask(
    method: Method,
    model: &Model<'_>,
    budget: &Budget,
    seed: u64,
    memory: &mut Memory,
) -> Result<Answer, Error> {
    let Memory { scratch, candidates, rows, noise } = memory;
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let typical = typical_work(model, budget);
    // A tree with a wide top leaves less than that.
    let quarter = (typical / 4).min((budget.cap as usize).saturating_sub(model.least_cap()));
    match method {
        Method::Exact => return Ok(Answer::predicted(&crate::exact(model, &scratch.query)?)),
        Method::Moments => return Ok(Answer::predicted(&measure::classify(model, budget, scratch)?)),
        _ => {}
    }
    let HostScratch { query, memory } = scratch;
    let query = &**query;
    match method {
        Method::MomentsAndSamples => {
            let estimate = estimators::moments_with_samples(model, query, budget, quarter, memory, &mut rng)?;
            return Ok(Answer::of(&estimate, &[]));
        }
        Method::Uniform => {
            let estimate = estimators::uniform(model, query, typical, &mut rng, memory)?;
            return Ok(Answer::of(&estimate, &[]));
        }
        Method::Fmbe => return Ok(Answer::of(&estimators::fmbe(model, query)?, &[])),
        Method::SelfNormalised => return Ok(Answer::of(&estimators::self_normalised(), &[])),
        _ => {}
    }
    let samples = if method == Method::Nmimps { 0 } else { quarter };
    let search = Budget { cap: budget.cap - samples as u32, ..*budget };
    let head: Head<'_> = retrieve_into(model, query, &search, memory, candidates, rows)?;
    let estimate = match method {
        Method::Mimps => estimators::mimps(model, query, samples, &head, &mut rng, memory)?,
        Method::Mince => estimators::mince(model, query, samples, &head, &mut rng, memory, noise)?,
        _ => estimators::nmimps(model, &head),
    };
    Ok(Answer::of(&estimate, head.candidates()))
}
