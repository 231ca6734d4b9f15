//! What a user has and wants.

use crate::host::Matrix;
use crate::host::build::{Plan, Targets};

/// Holds what a model is made from, and what for.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::build::Targets;
/// use zhat::host::make::Request;
///
/// let targets = Targets { work: 0.05, cap: 0.2, ..Targets::default() };
/// let request = Request { targets, ..Request::new(&layer.weights, &layer.biases) };
/// # assert!(request.queries.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// One row for each class.
    pub weights: &'a Matrix,
    /// One bias for each class.
    pub biases: &'a [f32],
    /// Queries to tune on.
    pub queries: Option<&'a Matrix>,
    /// The true class of each of them; of each of `labelled`, where there are such.
    pub labels: Option<&'a [usize]>,
    /// Other queries that the labels are of. Nothing else is tuned on them.
    pub labelled: Option<&'a Matrix>,
    /// The shares of the inputs for which sets of classes are to hold the true one.
    pub sets: &'a [f32],
    /// Divides scores by the temperature that suits the labels best.
    pub fit_temperature: bool,
    /// Whether to fit the temperature and, where labels held out say that it is better, a bias or a factor of each class.
    pub fit_map: bool,
    /// The shares of the classes among the inputs that the layer was trained for, and among those of the deployment.
    pub priors: Option<(&'a [f32], &'a [f32])>,
    /// Queries to report on; without them, the last fifth of `queries` is put aside for that.
    pub report: Option<&'a Matrix>,
    /// The true class of each of `report`.
    pub report_labels: Option<&'a [usize]>,
    /// Queries of inputs that are none of the classes.
    pub unknown: Option<&'a Matrix>,
    /// A name for each class.
    pub names: Option<&'a [String]>,
    /// Work, cap, seed, and plans to try.
    pub targets: Targets,
    /// Choices that are not to be tuned.
    pub knobs: Knobs,
    /// The least work whose mean error is at most this, instead of the targets' work.
    pub max_error: Option<f32>,
    /// The most bytes that the file may have.
    pub flash: Option<usize>,
    /// Stores the row of each class in the file, for those who ask for the scores of given classes.
    pub lookup: bool,
}

impl<'a> Request<'a> {
    /// A request with default targets.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    ///
    /// let request = zhat::host::make::Request::new(&layer.weights, &layer.biases);
    /// # assert!(request.queries.is_none());
    /// ```
    pub fn new(weights: &'a Matrix, biases: &'a [f32]) -> Self {
        Self {
            weights,
            biases,
            queries: None,
            labels: None,
            labelled: None,
            sets: &[],
            fit_temperature: false,
            fit_map: false,
            priors: None,
            report: None,
            report_labels: None,
            unknown: None,
            names: None,
            targets: Targets::default(),
            knobs: Knobs::default(),
            max_error: None,
            flash: None,
            lookup: false,
        }
    }
}

/// Choices made by hand: `None` leaves them to the builder.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::host::make::{Knobs, Request};
///
/// let knobs = Knobs { links: Some(0), ..Knobs::default() };
/// let request = Request { knobs, ..Request::new(&layer.weights, &layer.biases) };
/// # assert_eq!(request.knobs.links, Some(0));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Knobs {
    /// See [`Plan`].
    pub blend: Option<f32>,
    /// See [`Plan`].
    pub branching: Option<usize>,
    /// See [`Plan`].
    pub leaf: Option<usize>,
    /// See [`Plan`].
    pub links: Option<usize>,
}

impl Knobs {
    pub(super) fn apply(&self, plans: Vec<Plan>) -> Vec<Plan> {
        let mut turned: Vec<Plan> = Vec::new();
        for plan in plans {
            let plan = Plan {
                blend: self.blend.unwrap_or(plan.blend),
                branching: self.branching.unwrap_or(plan.branching),
                leaf: self.leaf.unwrap_or(plan.leaf),
                links: self.links.unwrap_or(plan.links),
                ..plan
            };
            if !turned.contains(&plan) {
                turned.push(plan);
            }
        }
        turned
    }
}
