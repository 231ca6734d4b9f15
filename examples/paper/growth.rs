//! Growth: how the work for a fixed error grows with N.
//!
//! The first 10 000, 30 000, … vectors are layers of one kind and several sizes. Each is tested with queries from all
//! over its own rows, and with queries that are the same for all sizes, rows of the smallest layer. As N grows the
//! former become rarer words with shorter vectors, which are easier, and the latter do not change. Each layer gets the
//! index that it would get without calibration queries; a search then finds the cap at which the mean of |Ẑ−Z|/Z is the
//! fixed error. The exponent is the slope of log work over log N (least squares): 1 means linear growth, 0 none.

use serde::{Deserialize, Serialize};
use zhat::host::Matrix;
use zhat::host::build::{Targets, build};
use zhat::host::evaluate::{exact_predictions, predictions};
use zhat::model::Model;

use super::result::percent;
use super::vectors::Vectors;
use super::{Grid, ReproduceError, Step, today};

/// The share of N that the index is tuned for, and for which the error is reported as well.
pub const WORK: f32 = 0.02;
/// The number of halvings of the cap's interval: to less than a hundredth of it.
const HALVINGS: usize = 12;

/// The results for one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// N.
    pub rows: usize,
    /// The mean work for the error, with queries from all over its rows.
    pub work: f64,
    /// The mean work for the error, with queries that are the same for every size.
    pub work_for_same: f64,
    /// The mean error with 2 % of the work, with queries from all over its rows.
    pub error: f64,
}

/// The results for all sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// The date of the experiment.
    pub date: String,
    /// The command line.
    pub command: String,
    /// The file of the vectors.
    pub source: String,
    /// The scale that the vectors were multiplied with.
    pub scale: f32,
    /// The number of queries for each size.
    pub queries: usize,
    /// The fixed mean error.
    pub error: f32,
    /// The sizes.
    pub sizes: Vec<Size>,
    /// The power of N with which work grows.
    pub exponent: f64,
    /// The power with the same queries for every size.
    pub exponent_for_same: f64,
}

/// Measures the work for a mean error of `error` at each of the sizes.
///
/// # Errors
/// [`ReproduceError`] if there are fewer than two sizes, or if a size is above the number of vectors or below twice
/// that of the queries.
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
    // The same for every size: the layer grows, the difficulty of the queries does not.
    let least = sizes.iter().copied().min().unwrap_or(all);
    let asked = vectors.rows.reordered(&evenly(queries, least));
    let mut found = Vec::new();
    for (done, &rows) in sizes.iter().enumerate() {
        step(Step { what: "sizes", done, of: sizes.len() });
        let layer = Matrix::new(vectors.rows.data()[..rows * cols].to_vec(), cols).expect("whole rows");
        let own = layer.reordered(&evenly(queries, rows));
        found.push(measured(&layer, &asked, &own, error)?);
    }
    let exponent = |work: fn(&Size) -> f64| {
        slope(&found.iter().map(|size| ((size.rows as f64).ln(), work(size).ln())).collect::<Vec<_>>())
    };
    let (exponent, exponent_for_same) = (exponent(|size| size.work), exponent(|size| size.work_for_same));
    let [source, command] = [source, command].map(str::to_owned);
    Ok(Growth {
        date: today(),
        command,
        source,
        scale: vectors.scale,
        queries,
        error,
        sizes: found,
        exponent,
        exponent_for_same,
    })
}

/// Returns numbers from 0 to `end` at equal steps.
fn evenly(count: usize, end: usize) -> Vec<u32> {
    (0..count).map(|i| (i * end / count) as u32).collect()
}

fn measured(layer: &Matrix, same: &Matrix, own: &Matrix, error: f32) -> Result<Size, ReproduceError> {
    let targets = Targets { work: WORK, cap: WORK, ..Targets::default() };
    let built = build(layer, &vec![0.0; layer.rows()], None, &targets, &mut |_| ()).map_err(ReproduceError::Build)?;
    let model = built.model.model();
    let (work, at_work) = work_for(&model, own, error)?;
    let (work_for_same, _) = work_for(&model, same, error)?;
    Ok(Size { rows: layer.rows(), work, work_for_same, error: at_work })
}

/// Finds the mean work for a mean error, and the mean error with [`WORK`].
fn work_for(model: &Model<'_>, queries: &Matrix, error: f32) -> Result<(f64, f64), ReproduceError> {
    let truths: Vec<f32> = exact_predictions::<1>(model, queries)
        .map_err(ReproduceError::Model)?
        .iter()
        .map(|exact| exact.log_z())
        .collect();
    let at = |cap: usize| at_cap(model, queries, &truths, cap);
    let (mut low, mut high) = (model.tree().map_or(1, |tree| tree.least_cap()), model.classes());
    for _ in 0..HALVINGS {
        let middle = ((low as f64) * (high as f64)).sqrt() as usize;
        if at(middle)?.0 <= f64::from(error) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok((at(high)?.1, at((WORK * model.classes() as f32) as usize)?.0))
}

/// Measures mean error and mean work with a cap.
fn at_cap(model: &Model<'_>, queries: &Matrix, truths: &[f32], cap: usize) -> Result<(f64, f64), ReproduceError> {
    let settings = model.settings().copied().ok_or(ReproduceError::Model(zhat::Error::NoIndex))?;
    let budget = settings.budget.with_cap(cap as u32).with_epsilon(0.0);
    let found = predictions::<1>(model, queries, &budget).map_err(ReproduceError::Model)?;
    let errors = found.iter().zip(truths).map(|(found, truth)| f64::from(found.log_z() - truth).exp_m1().abs());
    let works = found.iter().map(|found| f64::from(found.work.row_equivalents()));
    let (error, work): (f64, f64) = (errors.sum(), works.sum());
    Ok((error / found.len() as f64, work / found.len() as f64))
}

/// Computes the slope of the line through points, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mean = |axis: fn(&(f64, f64)) -> f64| points.iter().map(axis).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    covariance / points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>()
}

impl Growth {
    /// Formats a line for each size, and the exponent.
    pub fn grid(&self) -> Grid {
        let share = |share: f64| percent(100.0 * share);
        let error = share(f64::from(self.error));
        let headings = vec![
            "N".into(),
            format!("work for {error}"),
            "of N".into(),
            "same queries".into(),
            "of N".into(),
            format!("error with {}", share(f64::from(WORK))),
        ];
        let line = |size: &Size| {
            let of = |work: f64| [format!("{work:.0}"), share(work / size.rows as f64)];
            let mut cells = vec![size.rows.to_string()];
            cells.extend(of(size.work).into_iter().chain(of(size.work_for_same)));
            cells.push(share(size.error));
            cells
        };
        let mut rows: Vec<_> = self.sizes.iter().map(line).collect();
        let power = |exponent: f64| [format!("N^{exponent:.2}"), String::new()];
        let mut last = vec!["growth".into()];
        last.extend(power(self.exponent).into_iter().chain(power(self.exponent_for_same)));
        rows.push(last);
        Grid { headings, rows }
    }

    /// Returns N and work with their names, for the plot.
    pub fn lines(&self) -> [(String, Vec<(f32, f32)>); 2] {
        let points =
            |work: fn(&Size) -> f64| self.sizes.iter().map(|size| (size.rows as f32, work(size) as f32)).collect();
        [
            (format!("queries of the layer, N^{:.2}", self.exponent), points(|size| size.work)),
            (format!("same queries, N^{:.2}", self.exponent_for_same), points(|size| size.work_for_same)),
        ]
    }

    /// Writes the sentences about the result.
    pub fn prose(&self) -> Vec<String> {
        vec![format!(
            "Not in the paper. The work for one error grows as N^{:.2}, and as N^{:.2} if every layer is asked the same \
             queries, where linear would be 1. It does not grow evenly: a larger layer's rows are those of rarer words, whose \
             vectors are shorter, and what they add to Z is easy to predict.",
            self.exponent, self.exponent_for_same
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
