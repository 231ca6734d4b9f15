//! Growth: how the work for one and the same error grows with N.
//!
//! The first 10 000, 30 000, … vectors are layers of one kind and several sizes. Each gets the index that it would get
//! without calibration queries; the cap is then searched for at which the mean of |Ẑ−Z|/Z is the error asked for. The
//! exponent is the slope of log work over log N (least squares): 1 would be linear, 0 no growth at all.

use serde::{Deserialize, Serialize};

use super::result::percent;
use super::vectors::Vectors;
use super::{Grid, ReproduceError, Step, today};
use crate::format::Model;
use crate::host::Matrix;
use crate::host::build::{Targets, build};
use crate::host::measure::{Truth, outcomes, truths};
use crate::search::Budget;

/// The share of N that the index is tuned for, and at which the error is reported as well.
pub const WORK: f32 = 0.02;
/// Halvings of the interval in which the cap is searched: to less than a hundredth of it.
const HALVINGS: usize = 12;

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// N.
    pub rows: usize,
    /// Row-equivalents that the error takes, in the mean.
    pub work: f64,
    /// The mean error with [`WORK`].
    pub error: f64,
}

/// How work grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// When it was measured.
    pub date: String,
    /// What was typed.
    pub command: String,
    /// The file of the vectors.
    pub source: String,
    /// What the vectors were multiplied with.
    pub scale: f32,
    /// Queries of each size.
    pub queries: usize,
    /// The mean error that the work is for.
    pub error: f32,
    /// The sizes.
    pub sizes: Vec<Size>,
    /// Work grows as N to this power.
    pub exponent: f64,
}

/// Measures the work for a mean error of `error` at each of the sizes.
///
/// # Errors
/// [`ReproduceError`], if there are fewer than two sizes, a size is above the number of vectors, or below twice that of
/// the queries.
pub fn growth(
    vectors: &Vectors,
    sizes: &[usize],
    error: f32,
    [source, command]: [&str; 2],
    step: &(dyn Fn(Step<'_>) + Sync),
) -> Result<Growth, ReproduceError> {
    let queries = vectors.queries().rows();
    let (all, cols) = (vectors.rows.rows(), vectors.rows.cols());
    if sizes.len() < 2 || sizes.iter().any(|&rows| rows > all || rows < 2 * queries) {
        let text = format!("sizes {sizes:?}: two or more are needed, each from {} to {all}", 2 * queries);
        return Err(ReproduceError::Setting(text));
    }
    let mut found = Vec::new();
    for (done, &rows) in sizes.iter().enumerate() {
        step(Step { what: "sizes", done, of: sizes.len() });
        let layer = Matrix::new(vectors.rows.data()[..rows * cols].to_vec(), cols).expect("whole rows");
        let picked: Vec<u32> = (0..queries).map(|i| (i * rows / queries) as u32).collect();
        found.push(measured(&layer, &layer.reordered(&picked), error)?);
    }
    let exponent = slope(&found.iter().map(|size| ((size.rows as f64).ln(), size.work.ln())).collect::<Vec<_>>());
    let [source, command] = [source, command].map(str::to_owned);
    Ok(Growth { date: today(), command, source, scale: vectors.scale, queries, error, sizes: found, exponent })
}

fn measured(layer: &Matrix, queries: &Matrix, error: f32) -> Result<Size, ReproduceError> {
    let targets = Targets { work: WORK, cap: WORK, ..Targets::default() };
    let built = build(layer, &vec![0.0; layer.rows()], None, &targets, &mut |_| ()).map_err(ReproduceError::Build)?;
    let model = built.model.model();
    let truths = truths(&model, queries).map_err(ReproduceError::Model)?;
    let at = |cap: usize| at_cap(&model, queries, &truths, cap);
    let (mut low, mut high) = (model.tree().map_or(1, |tree| tree.top()), layer.rows());
    for _ in 0..HALVINGS {
        let middle = ((low as f64) * (high as f64)).sqrt() as usize;
        if at(middle)?.0 <= f64::from(error) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let work = at(high)?.1;
    let error = at((WORK * layer.rows() as f32) as usize)?.0;
    Ok(Size { rows: layer.rows(), work, error })
}

/// Mean error and mean work with a cap.
fn at_cap(model: &Model<'_>, queries: &Matrix, truths: &[Truth], cap: usize) -> Result<(f64, f64), ReproduceError> {
    let settings = model.settings().copied().ok_or(ReproduceError::Model(crate::Error::NoIndex))?;
    let budget = Budget { cap: cap as u32, epsilon: 0.0, ..settings.budget };
    let found = outcomes(model, queries, &budget).map_err(ReproduceError::Model)?;
    let far_factor = settings.far_factor.to_nats();
    let errors = found.iter().zip(truths).map(|(o, t)| f64::from(o.log_z(far_factor) - t.log_z).exp_m1().abs());
    let (error, work): (f64, f64) = (errors.sum(), found.iter().map(|outcome| f64::from(outcome.work)).sum());
    Ok((error / found.len() as f64, work / found.len() as f64))
}

/// The slope of the line through points, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mean = |axis: fn(&(f64, f64)) -> f64| points.iter().map(axis).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    covariance / points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>()
}

impl Growth {
    /// A line for each size, and the exponent.
    pub fn grid(&self) -> Grid {
        let share = |share: f64| percent(100.0 * share);
        let headings = vec![
            "N".into(),
            format!("work for {}", share(f64::from(self.error))),
            "of N".into(),
            format!("error with {} of the work", share(f64::from(WORK))),
        ];
        let line = |size: &Size| {
            let Size { rows, work, error } = *size;
            vec![rows.to_string(), format!("{work:.0}"), share(work / rows as f64), share(error)]
        };
        let mut rows: Vec<_> = self.sizes.iter().map(line).collect();
        rows.push(vec![format!("work grows as N^{:.2}", self.exponent), String::new(), String::new(), String::new()]);
        Grid { headings, rows }
    }

    /// N and work, for the plot.
    pub fn points(&self) -> Vec<(f32, f32)> {
        self.sizes.iter().map(|size| (size.rows as f32, size.work as f32)).collect()
    }

    /// What there is to say about it.
    pub(super) fn prose(&self) -> Vec<String> {
        vec![format!(
            "- Not in the paper. The work for one error grows as N^{:.2}: below linear, since a larger layer has more rows in \
             each place, and nodes of the same size predict them as well.",
            self.exponent
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_power_is_its_exponent() {
        let points: Vec<_> = [1.0, 2.0, 5.0_f64].map(|x| (x.ln(), (3.0 * x.powf(0.4)).ln())).into();
        assert!((slope(&points) - 0.4).abs() < 1e-12);
    }
}
