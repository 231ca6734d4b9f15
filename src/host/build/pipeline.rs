//! The stages of an index, each made of the one before: `Quantised → Clustered → Fitted → Linked`, and a file.

use super::assemble::{self, BoundsOf, Parts as FileParts};
use super::cluster::{Hierarchy, Metric};
use super::corrections::{GlobalCorrection, Learned, Lesson, NodeFit, learn};
use super::links::{self, CoOccurrence, Links, MissedLinks, Tops};
use super::nodes;
use super::synthetic::LinkProbe;
use super::{Correction, Plan, Tunables};
use crate::host::quantise::{self, QuantisedRows};
use crate::host::spectrum::Spectrum;
use crate::host::{BuildError, Compensation, Matrix, linear};
use crate::math::Log2;
use crate::model::{Bits, Budget, ModelBuf, Section, Settings};
use crate::tree::SpreadFunction;

/// The layer as it will be in the file, before any order, and the directions of the queries.
pub struct Quantised {
    pub rows: QuantisedRows,
    /// The directions of the queries, or of what stands in for them.
    pub spectrum: Spectrum,
    /// True if these are queries.
    is_calibrated: bool,
    compensation: Option<Compensation>,
}

impl Quantised {
    /// Rounds the layer. `like` are queries as they will come; the rows are rounded for them if they were given.
    pub fn new(weights: &Matrix, biases: &[f32], like: &Matrix, is_calibrated: bool, bits: Bits) -> Self {
        let spectrum = Spectrum::of(&linear::with_ones(like));
        let compensation = match bits {
            _ if !is_calibrated => None,
            Bits::Eight => Compensation::in_order_of(&spectrum),
            Bits::Four => Compensation::by_importance_of(&spectrum),
        };
        // Two bits of room: the vectors of the nodes may be larger than any row.
        let exponent = quantise::scale_exponent(quantise::peak(weights.data()), bits) + 2;
        let rows = QuantisedRows::round(weights, biases, exponent, compensation.as_ref(), bits);
        Self { rows, spectrum, is_calibrated, compensation }
    }

    /// Grows the tree of a plan.
    pub fn cluster(&self, plan: &Plan, seed: u64) -> Clustered<'_> {
        let metric = Metric::new(self.is_calibrated.then_some(&self.spectrum), plan.blend);
        let masked: Vec<bool> = self.rows.biases.iter().map(|&bias| bias == i16::MIN).collect();
        let points = metric.all(&self.rows);
        let hierarchy = Hierarchy::build_apart(&points, &masked, plan.branching, plan.leaf, seed);
        Clustered { quantised: self, metric, hierarchy }
    }

    /// Makes a file of the rows alone.
    pub fn without_index(&self, log_z_of_zero: Log2) -> Result<ModelBuf, BuildError> {
        let mut file = self.rows.start_file(None);
        let budget = Budget { cap: self.rows.len() as u32, epsilon: 0.0, expand: 0 };
        file.required(Section::Settings, &Settings { log_z_of_zero, ..with_budget(budget) }.to_words());
        Ok(file.into_model()?)
    }
}

/// Settings with a budget and nothing else that was chosen.
pub fn with_budget(budget: Budget) -> Settings {
    Settings { budget, far_factor: Log2::default(), temperature: 1.0, frontier_words: 0, log_z_of_zero: Log2::MIN }
}

/// Queries to learn from, and what the layer makes of them.
pub struct QueryLabels<'a> {
    pub queries: &'a Matrix,
    /// The best rows of each query, in the order of the classes, and its Z.
    pub tops: Vec<Tops>,
    /// Classes that are high together, and how often.
    together: CoOccurrence,
    /// The queries, prepared for the nodes of any tree.
    lesson: Option<Lesson<'a>>,
}

impl<'a> QueryLabels<'a> {
    /// Joins what the queries say; `tops` are their best rows.
    pub fn new(
        quantised: &'a Quantised,
        queries: &'a Matrix,
        tops: Vec<Tops>,
        links: usize,
        tunables: &'a Tunables,
    ) -> Self {
        let together = links::high_together(quantised.rows.len(), &tops, links);
        let lesson = Lesson::new(&quantised.spectrum, queries, &tops, tunables);
        Self { queries, tops, together, lesson }
    }

    /// The best class of each query.
    pub fn best(&self) -> impl Iterator<Item = u32> {
        self.tops.iter().map(|top| top.rows[0])
    }
}

/// A tree over the rows.
pub struct Clustered<'a> {
    quantised: &'a Quantised,
    metric: Metric<'a>,
    pub hierarchy: Hierarchy,
}

impl<'a> Clustered<'a> {
    /// Finds the nearest rows of each, in the order of the classes.
    pub fn nearest(&self, links: usize) -> Vec<Vec<u32>> {
        links::nearest(&self.quantised.rows, &self.metric, &self.hierarchy, links)
    }

    /// Computes what the nodes predict: by their moments, and by what queries teach.
    pub fn fit(self, like: &Matrix, labels: Option<&QueryLabels<'_>>) -> Fitted<'a> {
        let Self { quantised, hierarchy, .. } = self;
        let rows = quantised.rows.reordered(&hierarchy.order);
        let moments = nodes::moments(&rows, &hierarchy, &quantised.spectrum);
        let spread_function = nodes::spread_function(&rows, &hierarchy, &moments, like);
        Fitted { quantised, hierarchy, rows, moments, spread_function, learned: None }.taught_by(labels)
    }
}

/// A tree whose nodes predict their mass.
pub struct Fitted<'a> {
    quantised: &'a Quantised,
    pub hierarchy: Hierarchy,
    rows: QuantisedRows,
    moments: Vec<NodeFit>,
    spread_function: (f32, f32),
    learned: Option<Vec<Learned>>,
}

impl<'a> Fitted<'a> {
    /// Learns the corrections of the nodes from other queries.
    pub fn taught_by(mut self, labels: Option<&QueryLabels<'_>>) -> Self {
        let (constant, slope) = self.spread_function;
        let function = SpreadFunction { constant, slope, curve_exponent: 0, frozen_exponent: 0 };
        let lesson = labels.and_then(|labels| labels.lesson.as_ref());
        self.learned = lesson.map(|lesson| learn(&self.rows, &self.hierarchy, lesson, &function, &self.moments));
        self
    }

    /// Applies the corrections and lays the links of a plan.
    pub fn link(
        self,
        plan: &Plan,
        labels: Option<&QueryLabels<'_>>,
        near: &[Vec<u32>],
        tunables: &Tunables,
    ) -> Linked<'a> {
        let mut nodes = self.moments.clone();
        if plan.correction == Correction::Full {
            for (node, learned) in nodes.iter_mut().zip(self.learned.iter().flatten()) {
                learned.correct(node, tunables.corrected_power);
            }
        }
        let together = labels.filter(|_| plan.joint_links).map(|labels| &labels.together.lists[..]);
        let linked = labels.filter(|_| plan.linked < 1.0).map(|labels| labels.together.most_reached(plan.linked));
        let links = links::links(&self.hierarchy.order, together, near, linked, plan.links);
        Linked { fitted: self, plan: *plan, nodes, links }
    }
}

/// An index without settings.
pub struct Linked<'a> {
    pub fitted: Fitted<'a>,
    pub plan: Plan,
    nodes: Vec<NodeFit>,
    links: Links,
}

impl Linked<'_> {
    /// Returns the least cap of a search that is sure to score a row.
    pub fn least_cap(&self) -> u32 {
        self.fitted.hierarchy.least_cap() as u32
    }

    /// Adds a function of the query to what all nodes predict.
    pub fn correct(&mut self, correction: &GlobalCorrection) {
        self.nodes.iter_mut().for_each(|node| correction.add_to(node));
    }

    /// Lays links to what the probes miss.
    pub fn reach(
        &mut self,
        settings: Settings,
        probes: &[LinkProbe<'_>],
        tunables: &Tunables,
    ) -> Result<(), BuildError> {
        if settings.budget.expand == 0 || self.links.list.is_empty() || probes.is_empty() {
            return Ok(());
        }
        let order = &self.fitted.hierarchy.order;
        let mut row_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(row, &class)| row_of[class as usize] = row as u32);
        let mut missed = MissedLinks::new(&self.links, probes, &row_of, tunables.worth);
        for place in 0..tunables.places {
            let draft = self.draft(settings)?;
            missed.lay(&draft.model(), &mut self.links, &settings.budget, place)?;
        }
        Ok(())
    }

    /// Makes a file to try: it answers in the same way, and lacks what takes long to compute.
    pub fn draft(&self, settings: Settings) -> Result<ModelBuf, BuildError> {
        self.file(settings, None)
    }

    /// Makes the finished file.
    pub fn assemble(&self, settings: Settings) -> Result<ModelBuf, BuildError> {
        let Fitted { hierarchy, rows, .. } = &self.fitted;
        self.file(settings, Some(&|nodes| nodes::bounds(rows, hierarchy, nodes)))
    }

    fn file(&self, settings: Settings, bounds: Option<BoundsOf<'_>>) -> Result<ModelBuf, BuildError> {
        let Fitted { quantised, hierarchy, rows, spread_function, .. } = &self.fitted;
        assemble::assemble(&FileParts {
            bounds,
            rows,
            order: &hierarchy.order,
            hierarchy,
            fits: &self.nodes,
            spread_function: *spread_function,
            compensation: quantised.compensation.as_ref(),
            links: &self.links,
            settings,
        })
    }
}
