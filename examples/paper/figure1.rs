//! Figure 1: the share of the probability that the best 1, 2, 3, … classes hold, for frequent and for rare words.
//!
//! Words are numbered by frequency, as in the vector files. Frequent ones are taken from the first hundred, rare ones
//! from the last tenth, at equal steps.

use serde::{Deserialize, Serialize};
use zhat::host::evaluate::{FloatLayer, scores};
use zhat::host::report::plots::cumulative_shares;

use super::linear;
use super::today;
use super::vectors::Vectors;

/// The number of words of each kind.
const WORDS: usize = 4;
/// The share that the paper discusses.
const MOST: f32 = 0.8;
/// The ranks that the result keeps.
const RANKS: [usize; 6] = [1, 10, 100, 1000, 10_000, 100_000];

/// One word's curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The word, or its number if the file has no words.
    pub word: String,
    /// Its row.
    pub row: usize,
    /// True for a frequent word.
    pub frequent: bool,
    /// The norm of its vector.
    pub norm: f64,
    /// The number of best classes that hold 80 % of Z.
    pub for_most: usize,
    /// The share of the best 1, 10, 100, … classes.
    pub shares: Vec<f64>,
    /// The share of the best 1, 2, 3, … classes, for the picture.
    #[serde(skip)]
    pub curve: Vec<f32>,
}

/// The figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure1 {
    /// The date of the experiment.
    pub date: String,
    /// The command line.
    pub command: String,
    /// The file of the vectors.
    pub source: String,
    /// N.
    pub rows: usize,
    /// The scale that the vectors were multiplied with.
    pub scale: f32,
    /// The ranks of `shares`.
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
            let curve = cumulative_shares(scores(&layer, vectors.rows.row(row)));
            let word = vectors.names.as_ref().and_then(|names| names.get(row)).cloned();
            let word = word.unwrap_or_else(|| format!("row {row}"));
            let shares = ranks.iter().map(|&rank| f64::from(curve[rank - 1])).collect();
            let for_most = 1 + curve.iter().take_while(|&&share| share < MOST).count();
            let norm = f64::from(linear::dot(vectors.rows.row(row), vectors.rows.row(row))).sqrt();
            curves.push(Curve { word, row, frequent, norm, for_most, shares, curve });
        }
    }
    let (source, command) = (source.to_owned(), command.to_owned());
    Figure1 { date: today(), command, source, rows: n, scale: vectors.scale, ranks, curves }
}

impl Figure1 {
    /// Returns the curves with their names, for the plot.
    pub fn lines(&self) -> Vec<(String, Vec<f32>)> {
        let kind = |curve: &Curve| if curve.frequent { "frequent" } else { "rare" };
        self.curves.iter().map(|curve| (format!("{}: {}", kind(curve), curve.word), curve.curve.clone())).collect()
    }

    /// Formats the shares at a few ranks.
    pub fn grid(&self) -> super::Grid {
        let mut headings: Vec<String> = ["word", "row", "kind", "norm", "for 80 % of Z"].map(String::from).into();
        headings.extend(self.ranks.iter().map(|rank| format!("best {rank}")));
        let rows = self.curves.iter().map(|curve| {
            let kind = if curve.frequent { "frequent" } else { "rare" };
            // A vertical bar would end the cell.
            let mut cells = vec![format!("`{}`", curve.word.replace('|', "¦")), curve.row.to_string(), kind.into()];
            cells.extend([super::result::number(curve.norm), curve.for_most.to_string()]);
            cells.extend(curve.shares.iter().map(|share| super::result::percent(100.0 * share)));
            cells
        });
        let rows = rows.collect();
        super::Grid { headings, rows }
    }

    /// Writes the sentences about the figure.
    pub fn prose(&self) -> Vec<String> {
        let mean = |frequent: bool, of: fn(&Curve) -> f64| {
            let of: Vec<f64> = self.curves.iter().filter(|curve| curve.frequent == frequent).map(of).collect();
            super::tally::mean(&of)
        };
        let classes = |curve: &Curve| curve.for_most as f64;
        let norm = |curve: &Curve| curve.norm;
        vec![format!(
            "80 % of Z takes {:.0} classes for the frequent words and {:.0} for the rare ones, in the mean; their vectors have \
             norms of {:.1} and {:.1}.",
            mean(true, classes),
            mean(false, classes),
            mean(true, norm),
            mean(false, norm)
        )]
    }
}
