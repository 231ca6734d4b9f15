//! Finds the scale at which these vectors are most like the paper's.
//!
//! All vectors are multiplied by one scale, which sets the spread of the scores and so the difficulty of Z. The paper's
//! twelve cells of MIMPS (Table 1) show the difficulty of its own vectors. The rule: of the scales 0.30, 0.35, … 1.20,
//! and then of the hundredths around the best of them, take the one at which
//!
//! ```text
//! exp( 1/12 Σ |ln(μ / μ of the paper)| )        the factor between ours and the paper's, on (geometric) average
//! ```
//!
//! is least. If rows and queries are both multiplied by s, the scores v·q are those of the same rows for queries times
//! s²: one model serves all scales.

use serde::{Deserialize, Serialize};
use zhat::host::{Matrix, flat_model};

use super::estimator::{Estimator, Question};
use super::result::{Grid, number};
use super::run::run;
use super::vectors::Vectors;
use super::{ReproduceError, Step, published, today};

/// In hundredths: the first and the last scale, and the steps of the first pass.
const SCALES: (usize, usize, usize) = (30, 120, 5);

/// A scale and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The scale that the vectors were multiplied with.
    pub scale: f32,
    /// The factor between our twelve cells and the paper's.
    pub factor: f64,
    /// Our twelve cells, in the order of the paper's table.
    pub means: Vec<f64>,
}

/// The results of all scales.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The date of the experiment.
    pub date: String,
    /// The command line.
    pub command: String,
    /// The file of the vectors.
    pub source: String,
    /// N.
    pub rows: usize,
    /// The number of queries, with one seed each.
    pub queries: usize,
    /// The scales, the smallest first.
    pub tried: Vec<Tried>,
}

/// Tries the scales. The vectors must have a scale of one.
///
/// # Errors
/// [`ReproduceError`].
pub fn fit(
    vectors: &Vectors,
    [source, command]: [&str; 2],
    tick: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Fit, ReproduceError> {
    let file = flat_model(&vectors.rows, &vec![0.0; vectors.rows.rows()])?;
    let queries = vectors.queries();
    let questions: Vec<Question> = published::mimps().map(|(k, l, _)| Estimator::Mimps { k, l }.into()).collect();
    let of = |hundredths: usize| -> Result<Tried, ReproduceError> {
        let scale = hundredths as f32 / 100.0;
        let data = queries.data().iter().map(|value| value * scale * scale).collect();
        let scaled = Matrix::new(data, queries.cols()).expect("whole rows");
        let (_, series) = run(&file.model(), vec![scaled], &questions, 1, &|_| ())?;
        let means: Vec<f64> = series.iter().map(|series| series.cell().mean).collect();
        let logs =
            means.iter().zip(published::mimps()).map(|(mean, (_, _, paper))| (mean.max(1e-9) / paper).ln().abs());
        Ok(Tried { scale, factor: (logs.sum::<f64>() / means.len() as f64).exp(), means })
    };
    let (first, last, step) = SCALES;
    let coarse: Vec<usize> = (first..=last).step_by(step).collect();
    let total = coarse.len() + 2 * (step - 1);
    let mut tried: Vec<(usize, Tried)> = Vec::new();
    let look = |at: usize, tried: &mut Vec<(usize, Tried)>| -> Result<(), ReproduceError> {
        tick(Step { what: "scales", done: tried.len(), of: total });
        tried.push((at, of(at)?));
        Ok(())
    };
    coarse.into_iter().try_for_each(|at| look(at, &mut tried))?;
    let best = tried.iter().min_by(|a, b| a.1.factor.total_cmp(&b.1.factor)).map_or(first, |(at, _)| *at);
    let around = (best + 1 - step..best + step).filter(|&at| at != best);
    around.into_iter().try_for_each(|at| look(at, &mut tried))?;
    tried.sort_by_key(|(at, _)| *at);
    let [source, command] = [source, command].map(str::to_owned);
    let tried = tried.into_iter().map(|(_, tried)| tried).collect();
    Ok(Fit { date: today(), command, source, rows: vectors.rows.rows(), queries: queries.rows(), tried })
}

impl Fit {
    /// Returns the scale that fits best.
    pub fn best(&self) -> Option<&Tried> {
        self.tried.iter().min_by(|a, b| a.factor.total_cmp(&b.factor))
    }

    /// Formats the factor at every scale, and the cells.
    pub fn grid(&self) -> Grid {
        let mut headings: Vec<String> = vec!["scale".into(), "factor".into()];
        headings.extend(published::mimps().map(|(k, l, _)| format!("k = {k}, l = {l}")));
        let line = |name: String, factor: String, means: &mut dyn Iterator<Item = f64>| {
            [name, factor].into_iter().chain(means.map(number)).collect::<Vec<_>>()
        };
        let best = self.best().map(|best| best.scale);
        let mut rows: Vec<_> = self
            .tried
            .iter()
            .filter(|tried| self.is_shown(tried))
            .map(|tried| {
                let bold = |text: String| if Some(tried.scale) == best { format!("**{text}**") } else { text };
                line(
                    bold(format!("×{}", tried.scale)),
                    bold(format!("{:.2}", tried.factor)),
                    &mut tried.means.iter().copied(),
                )
            })
            .collect();
        rows.push(line("paper".into(), String::new(), &mut published::mimps().map(|(_, _, mean)| mean)));
        Grid { headings, rows }
    }

    /// Selects tenths, and the hundredths around the best.
    fn is_shown(&self, tried: &Tried) -> bool {
        let hundredths = (tried.scale * 100.0).round() as usize;
        let best = self.best().map_or(0, |best| (best.scale * 100.0).round() as usize);
        hundredths.is_multiple_of(10) || hundredths.abs_diff(best) <= 2
    }
}
