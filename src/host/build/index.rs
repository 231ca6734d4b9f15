//! An index in the making: a tree is grown once, and what queries teach is laid over it in several ways.

use super::asking::Asking;
use super::assemble::{self, BoundsOf, Parts};
use super::hierarchy::Hierarchy;
use super::links::{Links, Together, Tops};
use super::metric::Metric;
use super::predict::{Learned, Lesson, NodeFit};
use super::reach::Reach;
use super::shift::Shift;
use super::{Plan, bounds, links, moments, predict, reach, spread_function};
use crate::host::quantise::{self, QuantisedRows};
use crate::host::spectrum::Spectrum;
use crate::host::{BuildError, Compensation, Matrix, linear};
use crate::model::{Bits, ModelBuf, Settings};
use crate::tree::SpreadFunction;

/// The layer as it will be in the file, before any order, and what the queries say about all of it.
pub struct Source {
    pub rows: QuantisedRows,
    /// The directions of the queries, or of what stands in for them.
    pub spectrum: Spectrum,
    /// Whether these are queries.
    is_calibrated: bool,
    compensation: Option<Compensation>,
}

impl Source {
    /// `like` are queries as they will come; the rows are rounded for them if they were given.
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
}

/// Queries to learn from, and what the layer makes of them.
pub struct Taught<'a> {
    pub queries: &'a Matrix,
    /// The best rows of each query, in the order of the classes, and its Z.
    pub tops: Vec<Tops>,
    /// Which classes are high together, and how often.
    together: Together,
    /// What the nodes of any tree learn from.
    lesson: Option<Lesson<'a>>,
}

impl<'a> Taught<'a> {
    pub fn new(source: &'a Source, queries: &'a Matrix, links: usize) -> Self {
        let tops = links::top_rows(&source.rows, queries);
        let together = links::high_together(&source.rows, &source.spectrum, queries, &tops, links);
        let lesson = Lesson::new(&source.spectrum, queries, &tops);
        Self { queries, tops, together, lesson }
    }

    /// The best class of each query.
    pub fn best(&self) -> Vec<u32> {
        self.tops.iter().map(|top| top.rows[0]).collect()
    }

    /// ln Z of each query.
    pub fn log_z(&self) -> Vec<f32> {
        self.tops.iter().map(|top| top.log_z).collect()
    }
}

/// A tree and the moments of its nodes.
pub struct Grown<'a> {
    source: &'a Source,
    pub hierarchy: Hierarchy,
    metric: Metric<'a>,
    rows: QuantisedRows,
    moments: Vec<NodeFit>,
    spread_function: (f32, f32),
}

impl<'a> Grown<'a> {
    /// `like` are queries as they will come.
    pub fn new(source: &'a Source, plan: &Plan, like: &Matrix, seed: u64) -> Self {
        let metric = Metric::new(source.is_calibrated.then_some(&source.spectrum), plan.blend);
        let hierarchy = Hierarchy::build(&metric.all(&source.rows), plan.branching, plan.leaf, seed);
        let rows = source.rows.reordered(&hierarchy.order);
        let moments = moments::moments(&rows, &hierarchy, &source.spectrum);
        let spread_function = spread_function::fit(&rows, &hierarchy, &moments, like);
        Self { source, hierarchy, metric, rows, moments, spread_function }
    }

    /// What the queries teach about the nodes.
    pub fn learn(&self, taught: &Taught<'_>) -> Option<Vec<Learned>> {
        let (constant, slope) = self.spread_function;
        let function = SpreadFunction { constant, slope, curve_exponent: 0, frozen_exponent: 0 };
        let lesson = taught.lesson.as_ref()?;
        Some(predict::learn(&self.rows, &self.hierarchy, lesson, &function, &self.moments))
    }

    /// The nearest rows of each, in the order of the classes.
    pub fn nearest(&self, links: usize) -> Vec<Vec<u32>> {
        links::nearest(&self.source.rows, &self.metric, &self.hierarchy, links)
    }

    /// The tree with a plan's corrections and links.
    pub fn index<'g>(
        &'g self,
        plan: &Plan,
        learned: Option<&[Learned]>,
        taught: Option<&Taught<'_>>,
        near: &[Vec<u32>],
    ) -> Index<'g> {
        let mut fits = self.moments.clone();
        for (fit, learned) in fits.iter_mut().zip(learned.unwrap_or(&[])) {
            learned.correct(fit, plan.correction);
        }
        let together = taught.filter(|_| plan.joint_links).map(|taught| &taught.together.lists[..]);
        let linked = taught.filter(|_| plan.linked < 1.0).map(|taught| taught.together.most_reached(plan.linked));
        let links = links::links(&self.hierarchy.order, together, near, linked, plan.links);
        Index { grown: self, fits, links }
    }
}

/// An index without settings.
pub struct Index<'g> {
    grown: &'g Grown<'g>,
    fits: Vec<NodeFit>,
    links: Links,
}

impl Index<'_> {
    /// The least cap of a search that is sure to score a row.
    pub fn least_cap(&self) -> u32 {
        self.grown.hierarchy.least_cap() as u32
    }

    /// Adds a function of the query to what all nodes predict.
    pub fn shift(&mut self, shift: &Shift) {
        self.fits.iter_mut().for_each(|fit| shift.add_to(fit));
    }

    /// Lays links to what the queries miss.
    pub fn reach(&mut self, settings: Settings, asking: &[Asking<'_>]) -> Result<(), BuildError> {
        if settings.budget.expand == 0 || self.links.list.is_empty() || asking.is_empty() {
            return Ok(());
        }
        let mut row_of = vec![0; self.grown.rows.len()];
        self.grown.hierarchy.order.iter().enumerate().for_each(|(row, &class)| row_of[class as usize] = row as u32);
        let mut reach = Reach::new(&self.links, asking, &row_of);
        for place in 0..reach::PLACES {
            let draft = self.draft(settings)?;
            reach.lay(&draft.model(), &mut self.links, &settings.budget, place)?;
        }
        Ok(())
    }

    /// The finished file.
    pub fn assemble(&self, settings: Settings) -> Result<ModelBuf, BuildError> {
        let Grown { hierarchy, rows, .. } = self.grown;
        self.with_bounds(settings, Some(&|nodes| bounds::bounds(rows, hierarchy, nodes)))
    }

    /// A file to try: it answers in the same way, and lacks what takes long to compute.
    pub fn draft(&self, settings: Settings) -> Result<ModelBuf, BuildError> {
        self.with_bounds(settings, None)
    }

    fn with_bounds(&self, settings: Settings, bounds: Option<BoundsOf<'_>>) -> Result<ModelBuf, BuildError> {
        let Grown { source, hierarchy, rows, spread_function, .. } = self.grown;
        assemble::assemble(&Parts {
            bounds,
            rows,
            order: &hierarchy.order,
            hierarchy,
            fits: &self.fits,
            spread_function: *spread_function,
            compensation: source.compensation.as_ref(),
            links: &self.links,
            settings,
        })
    }
}
