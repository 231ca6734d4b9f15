//! The paper's retrieval: maximum inner products as nearest neighbours, in a k-means tree.
//!
//! Bachrach et al. (2014), Neyshabur and Srebro (2015): with one more dimension all rows have the length M of the longest,
//!
//! ```text
//! v′ = (v, b, √(M² − ‖v‖² − b²))        q′ = (q, 1, 0)        ‖v′ − q′‖² = M² + ‖q′‖² − 2·u
//! ```
//!
//! so that the nearest row has the highest score u = v·q + b. The tree is hierarchical k-means in that distance. The
//! search is that of FLANN (Muja and Lowe, 2009): it goes down to the nearest leaf, then continues from the nearest
//! centre that it passed by, where the order is the centre's squared distance less 0.2 times its variance, until
//! `checks` rows were scored. (FLANN does not count centres; here they count as work.) A centre c has the score c·q′ −
//! ‖c‖²/2, which falls as its distance grows: centres are rows of an int8 model with a bias, and cost what rows cost.
//! FLANN also skips clusters that a bound excludes; this does not.

use std::collections::BinaryHeap;

use zhat::estimators::Head;
use zhat::host::evaluate::{QuantisedLayer, Rows};
use zhat::host::{BuildError, Matrix, flat_model};
use zhat::internal::{self, Hierarchy, Span};
use zhat::model::{Model, ModelBuf};
use zhat::{Candidate, Error, Log2, Query};

use super::linear;
use super::scratch::HostScratch;

/// FLANN's default: the children of a node, and the most rows of a leaf.
const BRANCHING: usize = 32;
/// FLANN's default for `cb_index`: the weight of a cluster's variance.
const VARIANCE: f32 = 0.2;

/// The tree over the rows of a model.
pub struct KMeansTree {
    centres: ModelBuf,
    spans: Vec<Span>,
    top: usize,
    /// The model's rows, leaf by leaf.
    rows: Vec<u32>,
    /// The term that each centre's variance adds to its score.
    variance: Vec<i32>,
}

/// The memory of one thread.
pub struct Memory {
    query: HostScratch,
    branches: BinaryHeap<(i32, u32)>,
    found: Vec<(i32, u32)>,
    candidates: Vec<Candidate>,
    rows: Vec<u32>,
}

impl KMeansTree {
    /// Lifts the rows and clusters them.
    ///
    /// # Errors
    /// [`BuildError`] if no model can be built from the centres.
    pub fn new(model: &Model<'_>) -> Result<Self, BuildError> {
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        QuantisedLayer(model).block(0, model.classes(), &mut weights, &mut biases);
        let weights = Matrix::new(weights, model.dim()).expect("whole rows");
        let lifted = lift(&linear::with_column(&weights, |row| biases[row]));
        let Hierarchy { order, spans, top } = Hierarchy::build(&lifted, BRANCHING, BRANCHING, 1);
        let (mut centres, mut centre_biases, mut variance) = (Vec::new(), Vec::new(), Vec::new());
        for span in &spans {
            let rows = &order[span.first_row..][..span.rows];
            let mean = |column: usize| {
                rows.iter().map(|&row| lifted.row(row as usize)[column]).sum::<f32>() / rows.len() as f32
            };
            let centre: Vec<f32> = (0..lifted.cols()).map(mean).collect();
            let square = linear::dot(&centre, &centre);
            // All lifted rows have the same length.
            let length = linear::dot(lifted.row(0), lifted.row(0));
            variance.push(Log2::from_nats(0.5 * VARIANCE * (length - square).max(0.0)).to_bits());
            centre_biases.push(centre[model.dim()] - 0.5 * square);
            centres.extend_from_slice(&centre[..model.dim()]);
        }
        let centres = flat_model(&Matrix::new(centres, model.dim()).expect("whole rows"), &centre_biases)?;
        Ok(Self { centres, spans, top, rows: order, variance })
    }

    /// Allocates the memory of searches.
    pub fn memory(&self) -> Memory {
        Memory {
            query: HostScratch::new(&self.centres.model()),
            branches: BinaryHeap::new(),
            found: Vec::new(),
            candidates: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Finds the best `k` rows with this many checks. `query` is quantised for the model, `values` are its original
    /// values.
    ///
    /// # Errors
    /// [`Error`] if the centres' model refuses the query.
    pub fn search<'h>(
        &self,
        model: &Model<'_>,
        query: &Query,
        values: &[f32],
        (k, checks): (usize, usize),
        memory: &'h mut Memory,
    ) -> Result<Head<'h>, Error> {
        let Memory { query: own, branches, found, candidates, rows } = memory;
        let centres = self.centres.model();
        own.query.set(&centres, values)?;
        branches.clear();
        found.clear();
        let mut nodes = 0;
        let mut scores = [0; 4 * BRANCHING];
        let mut next = Some(Span { children: self.top, ..Span::default() });
        while let Some(span) = next {
            if span.is_leaf() {
                for rows in self.rows[span.first_row..][..span.rows].chunks(scores.len()) {
                    internal::scores_of(model.rows(), rows, query, &mut scores);
                    found.extend(scores.iter().copied().zip(rows.iter().copied()));
                }
                // Ends once enough rows were scored for the checks and for the head.
                let enough = found.len() >= checks && found.len() >= k;
                next = branches.pop().filter(|_| !enough).map(|(_, node)| self.spans[node as usize]);
                continue;
            }
            let mut nearest: Option<(i32, usize)> = None;
            for start in (0..span.children).step_by(scores.len()) {
                let (first, count) = (span.first_child + start, scores.len().min(span.children - start));
                internal::scores(centres.rows(), first, &own.query, &mut scores[..count]);
                for (child, &score) in (first..).zip(&scores[..count]) {
                    // If a nearer one comes, the nearest so far waits with the others.
                    let waits = match nearest {
                        Some((best, _)) if best >= score => Some((score, child)),
                        before => {
                            nearest = Some((score, child));
                            before
                        }
                    };
                    branches.extend(waits.map(|(score, child)| (score + self.variance[child], child as u32)));
                }
            }
            nodes += span.children;
            next = nearest.map(|(_, child)| self.spans[child]);
        }
        let scored = found.len();
        if k < found.len() {
            found.select_nth_unstable_by(k, |a, b| b.cmp(a));
            found.truncate(k);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        candidates.clear();
        candidates.extend(
            found.iter().map(|&(score, row)| internal::candidate(model.class_of_row(row as usize) as u32, score)),
        );
        rows.clear();
        rows.extend(found.iter().map(|&(_, row)| row));
        rows.sort_unstable();
        Ok(internal::head(candidates, rows, (scored, nodes, model.rows().stride())))
    }
}

/// Adds a column, so that all rows have the same norm.
fn lift(rows: &Matrix) -> Matrix {
    let squares: Vec<f32> = rows.iter().map(|row| linear::dot(row, row)).collect();
    let most = squares.iter().copied().fold(0.0, f32::max);
    linear::with_column(rows, |row| (most - squares[row]).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zhat::estimators::{OracleHead, RetrievalError};
    use zhat::host::{Kind, Layer};

    #[test]
    fn with_enough_checks_it_finds_the_true_head_and_with_fewer_most_of_it() {
        let layer = Layer::generate(2000, 16, 3);
        let file = flat_model(&layer.weights, &layer.biases).expect("valid");
        let model = file.model();
        let tree = KMeansTree::new(&model).expect("valid");
        let mut memory = tree.memory();
        let mut scratch = HostScratch::new(&model);
        let mut hits = 0;
        for values in layer.queries(Kind::LanguageModel, 50, 2).iter() {
            scratch.query.set(&model, values).expect("valid");
            let truth = OracleHead::new(&model, &scratch.query, 20, RetrievalError::None).expect("valid");
            let best = truth.head().candidates()[0];
            let all = tree.search(&model, &scratch.query, values, (20, usize::MAX), &mut memory).expect("valid");
            let scores = |head: Head<'_>| head.candidates().iter().map(|c| c.score).collect::<Vec<_>>();
            assert_eq!(scores(all), scores(truth.head()));
            assert_eq!(all.work().rows, 2000);
            let few = tree.search(&model, &scratch.query, values, (20, 200), &mut memory).expect("valid");
            assert!((200..200 + BRANCHING).contains(&(few.work().rows as usize)), "{:?}", few.work());
            hits += usize::from(few.candidates()[0] == best);
        }
        assert!(hits >= 40, "{hits} of 50");
    }

    #[test]
    fn the_nearest_lifted_row_has_the_highest_score() {
        let rows = Matrix::new(vec![3.0, 0.0, 0.5, 0.5, -1.0, 2.0], 2).expect("whole rows");
        let lifted = lift(&rows);
        let query = [0.4, 1.0, 0.0];
        let distance = |row: &[f32]| row.iter().zip(&query).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
        let scores: Vec<f32> = rows.iter().map(|row| linear::dot(row, &query[..2])).collect();
        let by_score = (0..3).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let by_distance = (0..3).min_by(|&a, &b| distance(lifted.row(a)).total_cmp(&distance(lifted.row(b))));
        assert_eq!(by_score, by_distance);
        // ‖v′ − q′‖² is the same constant less 2·u for every row.
        let constants: Vec<f32> = (0..3).map(|i| distance(lifted.row(i)) + 2.0 * scores[i]).collect();
        assert!(constants.iter().all(|c| (c - constants[0]).abs() < 1e-4), "{constants:?}");
    }
}
