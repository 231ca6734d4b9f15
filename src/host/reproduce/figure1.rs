//! Figure 1: the share of the probability that the best 1, 2, 3, … classes hold, for frequent and for rare words.
//!
//! Words are numbered by frequency, as the vector files are. Frequent ones are taken among the first hundred, rare ones
//! among the last tenth, at equal steps.

use serde::{Deserialize, Serialize};

use super::today;
use super::vectors::Vectors;
use crate::host::evaluate::{FloatLayer, scores};

/// Words of each kind.
const WORDS: usize = 4;
/// Ranks that the result keeps.
const RANKS: [usize; 6] = [1, 10, 100, 1000, 10_000, 100_000];

/// One word's curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The word, or its number where the file has no words.
    pub word: String,
    /// Its row.
    pub row: usize,
    /// Whether it is one of the frequent ones.
    pub frequent: bool,
    /// The share of the best 1, 10, 100, … classes.
    pub shares: Vec<f64>,
    /// The share of the best 1, 2, 3, … classes, for the picture.
    #[serde(skip)]
    pub curve: Vec<f32>,
}

/// The figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure1 {
    /// When it was made.
    pub date: String,
    /// What was typed.
    pub command: String,
    /// The file of the vectors.
    pub source: String,
    /// N.
    pub rows: usize,
    /// What the vectors were multiplied with.
    pub scale: f32,
    /// The ranks that `shares` are at.
    pub ranks: Vec<usize>,
    /// A curve for each word.
    pub curves: Vec<Curve>,
}

/// Computes the curves.
pub fn figure1(vectors: &Vectors, source: &str, command: &str) -> Figure1 {
    let n = vectors.rows.rows();
    let biases = vec![0.0; n];
    let layer = FloatLayer { weights: &vectors.rows, biases: &biases, temperature: 1.0 };
    let ranks: Vec<usize> = RANKS.into_iter().filter(|&rank| rank <= n).collect();
    let mut curves = Vec::new();
    for (frequent, first, count) in [(true, 0, n.min(100)), (false, n - n.div_ceil(10), n.div_ceil(10))] {
        for i in 0..WORDS {
            let row = first + (2 * i + 1) * count / (2 * WORDS);
            let curve = cumulative(scores(&layer, vectors.rows.row(row)));
            let word = vectors.names.as_ref().and_then(|names| names.get(row)).cloned();
            let word = word.unwrap_or_else(|| format!("row {row}"));
            let shares = ranks.iter().map(|&rank| f64::from(curve[rank - 1])).collect();
            curves.push(Curve { word, row, frequent, shares, curve });
        }
    }
    let (source, command) = (source.to_owned(), command.to_owned());
    Figure1 { date: today(), command, source, rows: n, scale: vectors.scale, ranks, curves }
}

/// The share of the best 1, 2, 3, … classes, from all scores.
pub fn cumulative(mut scores: Vec<f32>) -> Vec<f32> {
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    let best = scores.first().copied().unwrap_or(0.0);
    let total: f64 = scores.iter().map(|score| f64::from(score - best).exp()).sum();
    let mut sum = 0.0;
    let shares = scores.iter().map(|score| {
        sum += f64::from(score - best).exp() / total;
        sum as f32
    });
    shares.collect()
}

impl Figure1 {
    /// The curves with their names, for the plot.
    pub fn lines(&self) -> Vec<(String, Vec<f32>)> {
        let kind = |curve: &Curve| if curve.frequent { "frequent" } else { "rare" };
        self.curves.iter().map(|curve| (format!("{}: {}", kind(curve), curve.word), curve.curve.clone())).collect()
    }

    /// The shares at a few ranks.
    pub fn grid(&self) -> super::Grid {
        let mut headings: Vec<String> = ["word", "row", "kind"].map(String::from).into();
        headings.extend(self.ranks.iter().map(|rank| format!("best {rank}")));
        let rows = self.curves.iter().map(|curve| {
            let kind = if curve.frequent { "frequent" } else { "rare" };
            // A vertical bar would end the cell.
            let mut cells = vec![format!("`{}`", curve.word.replace('|', "¦")), curve.row.to_string(), kind.into()];
            cells.extend(curve.shares.iter().map(|share| super::result::percent(100.0 * share)));
            cells
        });
        let rows = rows.collect();
        super::Grid { headings, rows }
    }

    /// What there is to say about it.
    pub(super) fn prose(&self) -> Vec<String> {
        let at = self.ranks.iter().position(|&rank| rank == 1000).unwrap_or(self.ranks.len().saturating_sub(1));
        let mean = |frequent: bool| {
            let of: Vec<f64> = self
                .curves
                .iter()
                .filter(|c| c.frequent == frequent)
                .filter_map(|c| c.shares.get(at))
                .copied()
                .collect();
            super::result::percent(100.0 * super::tally::mean(&of))
        };
        vec![format!(
            "- The best {} classes hold {} of the probability for the frequent words and {} for the rare ones, in the mean: \
             no fixed k has it all, and the tail has to be estimated.",
            self.ranks.get(at).copied().unwrap_or(0),
            mean(true),
            mean(false)
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_to_one_and_follow_the_order_of_the_scores() {
        let curve = cumulative(vec![0.0, 2f32.ln(), 0.0]);
        for (share, expected) in curve.iter().zip([0.5, 0.75, 1.0]) {
            assert!((share - expected).abs() < 1e-6, "{curve:?}");
        }
    }
}
