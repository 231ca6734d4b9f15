//! Queries that are made up for classes that no query showed.
//!
//! A linear map from rows to the mean of the queries that they win is learned on the classes that do win, by ridge. What real queries
//! differ by from what the map makes of their best class is added to it again, from one query or another.

use std::collections::BTreeMap;

use nalgebra::DMatrix;

use super::links::Tops;
use crate::host::quantise::QuantisedRows;
use crate::host::spectrum::Spectrum;
use crate::host::{Matrix, linear};

/// With fewer classes that win nothing is learned.
const FEW: usize = 8;
/// λ, as a share of the mean square of the rows.
const RIDGE: f64 = 0.05;
/// Rows that are mapped at a time.
const BLOCK: usize = 1024;
/// Queries that are made up for each class, where these are not too many.
const VARIED: usize = 2;

/// The map, and what it leaves of real queries.
pub struct MadeUp<'a> {
    layer: &'a QuantisedRows,
    spectrum: &'a Spectrum,
    /// A row's coordinates with a one after them times this are those of a query.
    map: Vec<f32>,
    left: Matrix,
}

impl<'a> MadeUp<'a> {
    /// Learns the map; `tops` are the best rows of each query. `None` where too few classes win.
    pub fn learn(layer: &'a QuantisedRows, spectrum: &'a Spectrum, queries: &Matrix, tops: &[Tops]) -> Option<Self> {
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
        let ridge = gram.trace() / p as f64 * RIDGE;
        let map = (gram + DMatrix::identity(p, p) * ridge).cholesky()?.solve(&(x.transpose() * y));
        let map: Vec<f32> = (0..p * d).map(|at| map[(at / d, at % d)] as f32).collect();
        let best: Vec<usize> = tops.iter().map(|top| top.rows[0] as usize).collect();
        let mut found = Self { layer, spectrum, map, left: queries.clone() };
        let mapped = found.mapped(best, |_, _| ());
        found.left.data.iter_mut().zip(mapped.data).for_each(|(query, mapped)| *query -= mapped);
        Some(found)
    }

    /// What the map makes of each class.
    pub fn one_each(&self) -> Matrix {
        self.mapped((0..self.layer.len()).collect(), |_, _| ())
    }

    /// Queries that differ as real ones do, at most `most`: several for each class, or for some of them, evenly taken.
    pub fn varied(&self, most: usize) -> Matrix {
        let rows = self.layer.len();
        let times = (most / rows).clamp(1, VARIED);
        let some = (0..rows).step_by(rows.div_ceil(most).max(1));
        self.mapped((0..times).flat_map(|_| some.clone()).collect(), |i, query| {
            // A stride that is prime to the number of queries takes them all in turn.
            let left = self.left.row(i * 7919 % self.left.rows());
            query.iter_mut().zip(left).for_each(|(x, left)| *x += left);
        })
    }

    /// What the map makes of these rows, each changed by `change`.
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
