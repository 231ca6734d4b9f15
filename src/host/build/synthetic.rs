//! Makes the queries that ask for links: those of the calibration, and synthetic ones for classes that none of them shows.
//!
//! A linear map from rows to the mean of the queries that they win is learned on the classes that do win, by ridge. What real queries
//! differ by from what the map makes of their best class is added to it again, from one query or another.

use std::collections::BTreeMap;

use nalgebra::DMatrix;

use super::links::{LOOKED_AT, Tops};
use super::pipeline::{Linked, Quantised, QueryLabels};
use super::{Targets, parts};
use crate::host::measure::{self, Found};
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::Spectrum;
use crate::host::{BuildError, Matrix, linear};
use crate::model::{Budget, Settings};

/// Queries that ask for links, what each of them counts, and what a search far beyond the budget finds for them.
pub struct LinkProbe<'a> {
    pub queries: &'a Matrix,
    pub weight: f32,
    pub far: Vec<Found<LOOKED_AT>>,
}

impl<'a> LinkProbe<'a> {
    /// Asks the calibration queries and the synthetic ones beyond the budget.
    pub fn all(
        linked: &Linked<'_>,
        settings: Settings,
        labels: Option<&QueryLabels<'a>>,
        synthetic: Option<&'a Matrix>,
        targets: &Targets,
    ) -> Result<Vec<Self>, BuildError> {
        let tunables = &targets.tunables;
        let draft = linked.draft(settings)?;
        let model = draft.model();
        let cap = settings.budget.cap.saturating_mul(tunables.further).min(model.classes() as u32);
        let further = Budget { cap, epsilon: 0.0, expand: Budget::MAX_EXPAND };
        let came = labels.map(|labels| (labels.queries, 1.0));
        let all = came.into_iter().chain(synthetic.map(|queries| (queries, tunables.probe_weight)));
        all.map(|(queries, weight)| Ok(Self { queries, weight, far: measure::found(&model, queries, &further)? }))
            .collect()
    }
}

/// Makes queries for each class, or some, so that searching for them looks at no more than so many rows and nodes: as calibration
/// queries are, or the rows in their place.
pub fn for_each_class(
    weights: &Matrix,
    quantised: &Quantised,
    labels: Option<&QueryLabels<'_>>,
    targets: &Targets,
    looked_at: f32,
) -> Option<Matrix> {
    let tunables = &targets.tunables;
    let each = tunables.further as f32 * targets.work * weights.rows() as f32;
    let most = (looked_at / each.max(1.0)).max(1.0) as usize;
    let queries = match labels {
        _ if tunables.probes_per_class == 0 => return None,
        Some(labels) => {
            let ridge = tunables.synthetic_ridge;
            let map = Synthetic::learn(&quantised.rows, &quantised.spectrum, labels.queries, &labels.tops, ridge)?;
            map.varied(tunables.probes_per_class, most)
        }
        None => parts::stand_ins(weights, most, targets.seed),
    };
    parts::those_that_fit(queries, weights)
}

/// With fewer classes that win nothing is learned.
const FEW: usize = 8;
/// Rows that are mapped at a time.
const BLOCK: usize = 1024;

/// The map, and what it leaves of real queries.
struct Synthetic<'a> {
    layer: &'a QuantisedRows,
    spectrum: &'a Spectrum,
    /// A row's coordinates with a one after them times this are those of a query.
    map: Vec<f32>,
    left: Matrix,
}

impl<'a> Synthetic<'a> {
    /// Learns the map; `tops` are the best rows of each query. `None` where too few classes win.
    fn learn(
        layer: &'a QuantisedRows,
        spectrum: &'a Spectrum,
        queries: &Matrix,
        tops: &[Tops],
        ridge: f64,
    ) -> Option<Self> {
        let (d, coordinates) = (spectrum.len(), spectrum.project(linear::with_ones(queries).data()));
        let mut sums = BTreeMap::<usize, (Vec<f64>, usize)>::new();
        for (query, top) in coordinates.chunks_exact(d.max(1)).zip(tops) {
            let (sum, count) = sums.entry(top.rows[0] as usize).or_insert_with(|| (vec![0.0; d], 0));
            *count += 1;
            sum.iter_mut().zip(query).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let winners: Vec<usize> = sums.keys().copied().collect();
        if winners.len() < FEW {
            return None;
        }
        let p = d + 1;
        let won = with_ones(layer, spectrum, &winners);
        let x = DMatrix::from_row_iterator(winners.len(), p, won.iter().map(|&x| f64::from(x)));
        let means = sums.values().flat_map(|(sum, count)| sum.iter().map(move |x| x / *count as f64));
        let y = DMatrix::from_row_iterator(winners.len(), d, means);
        let gram = x.transpose() * &x;
        let ridge = gram.trace() / p as f64 * ridge;
        let map = (gram + DMatrix::identity(p, p) * ridge).cholesky()?.solve(&(x.transpose() * y));
        let map: Vec<f32> = (0..p * d).map(|at| map[(at / d, at % d)] as f32).collect();
        let best: Vec<usize> = tops.iter().map(|top| top.rows[0] as usize).collect();
        let mut found = Self { layer, spectrum, map, left: queries.clone() };
        let mapped = found.mapped(best, |_, _| ());
        found.left.data.iter_mut().zip(mapped.data).for_each(|(query, mapped)| *query -= mapped);
        Some(found)
    }

    /// Queries that differ as real ones do, at most `most`: several for each class, or for some of them, evenly taken.
    fn varied(&self, per_class: usize, most: usize) -> Matrix {
        let rows = self.layer.len();
        let times = (most / rows).clamp(1, per_class);
        let some = (0..rows).step_by(rows.div_ceil(most).max(1));
        self.mapped((0..times).flat_map(|_| some.clone()).collect(), |i, query| {
            // A stride that is prime to the number of queries takes them all in turn.
            let left = self.left.row(i * 7919 % self.left.rows());
            query.iter_mut().zip(left).for_each(|(x, left)| *x += left);
        })
    }

    /// Maps these rows to queries, each changed by `change`.
    fn mapped(&self, rows: Vec<usize>, change: impl Fn(usize, &mut [f32])) -> Matrix {
        let (p, d) = (self.spectrum.len() + 1, self.layer.dim);
        let mut data = Vec::with_capacity(rows.len() * d);
        for rows in rows.chunks(BLOCK) {
            let coordinates = linear::times(&with_ones(self.layer, self.spectrum, rows), &self.map, p);
            // Without the one that is after each query.
            let queries = self.spectrum.expand(&coordinates);
            data.extend(queries.chunks_exact(d + 1).flat_map(|query| &query[..d]));
        }
        data.chunks_exact_mut(d).enumerate().for_each(|(i, query)| change(i, query));
        Matrix::new(data, d).expect("whole rows")
    }
}

/// The coordinates of rows without their biases, with a one after those of each.
fn with_ones(layer: &QuantisedRows, spectrum: &Spectrum, rows: &[usize]) -> Vec<f32> {
    let one = |&row: &usize| layer.augmented(row, 1).into_iter().take(layer.dim).chain([0.0]);
    let coordinates = spectrum.project(&rows.iter().flat_map(one).collect::<Vec<f32>>());
    coordinates.chunks_exact(spectrum.len()).flat_map(|row| row.iter().copied().chain([1.0])).collect()
}
