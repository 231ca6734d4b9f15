//! What tells inputs that are none of the classes, from examples of them.
//!
//! Half of the examples and the queries that the model was tuned on give the direction w in which they differ beyond what the other
//! numbers tell (Fisher's linear discriminant). A quarter of the examples and half of the queries held out give the weights of the sum (a logistic regression
//! whose weights are not below zero, but that of the norm), the choice between the sum and one number alone, and the threshold. The rest is reported
//! on.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::confidence;
use crate::Error;
use crate::host::measure::each_answer;
use crate::host::{Matrix, linear};
use crate::kernels;
use crate::model::{Bits, FileWriter, ModelBuf, Recognition, Section};

/// With fewer examples than this nothing can be said.
const FEW: usize = 40;
/// Added to the covariance, as a share of its mean.
const RIDGE: f64 = 0.01;
/// The sum has to be better than one number by this share of pairs.
const WORTH: f64 = 0.005;
/// Steps of the regression, and its learning rate.
const STEPS: usize = 400;
const RATE: f64 = 0.5;

/// What tells; the norm may do so either way.
const NAMES: [&str; COUNT + 1] = ["energy", "p of the best class", "far share", "direction", "norm", "sum of all"];
const COUNT: usize = 5;
const NORM: usize = 4;

type Numbers = [f64; COUNT];

/// How well inputs that are none of the classes are told, on queries and examples that nothing was learnt from.
///
/// ```
/// use zhat::host::make::{Request, make};
/// use zhat::host::{Kind, Layer};
///
/// let layer = Layer::generate(60, 8, 1);
/// let queries = layer.queries(Kind::Classifier, 200, 2);
/// let others = Layer::generate(60, 8, 9).queries(Kind::Classifier, 200, 2); // of other classes
/// let request =
///     Request { queries: Some(&queries), unknown: Some(&others), ..Request::new(&layer.weights, &layer.biases) };
/// let made = make(&request, &mut |_| {})?;
/// let found = made.known.expect("examples");
/// println!("{} tells {} of 100 pairs", found.chosen, (100.0 * found.auroc) as u32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct KnownFigures {
    /// What was stored.
    pub chosen: &'static str,
    /// The share of pairs of a known and an unknown query that it tells apart.
    pub auroc: f32,
    /// The known queries that were reported on.
    pub known: usize,
    /// The unknown queries that were reported on.
    pub unknown: usize,
    /// The share of the known ones that are taken for unknown.
    pub rejected: f32,
    /// The lower end of its 95 % confidence interval.
    pub rejected_low: f32,
    /// The upper end.
    pub rejected_high: f32,
    /// The share of the unknown ones that are taken for known.
    pub accepted: f32,
    /// The lower end of its 95 % confidence interval.
    pub accepted_low: f32,
    /// The upper end.
    pub accepted_high: f32,
    /// What each number is worth, and their sum.
    pub tried: Vec<TriedScore>,
}

/// A number that may tell what is known.
///
/// ```
/// use zhat::host::label::TriedScore;
///
/// let is_of_use = |tried: &TriedScore| tried.auroc_low > 0.5;
/// assert!(is_of_use(&TriedScore { name: "energy", auroc: 0.75, auroc_low: 0.7, auroc_high: 0.8 }));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct TriedScore {
    /// What it is.
    pub name: &'static str,
    /// The share of pairs of a known and an unknown query that it tells apart.
    pub auroc: f32,
    /// The lower end of its 95 % confidence interval (Hanley, McNeil, 1982).
    pub auroc_low: f32,
    /// The upper end.
    pub auroc_high: f32,
}

/// Learns from `unknown` what is none of the classes and stores it; `tuned` are queries that the model was tuned on, `held` are
/// others. The share `reject` of the known ones may be taken for unknown. `None` if there is too little of anything.
pub(in crate::host) fn with_known(
    file: &ModelBuf,
    tuned: &Matrix,
    held: &Matrix,
    unknown: &Matrix,
    reject: f32,
) -> Result<Option<(ModelBuf, KnownFigures)>, Error> {
    let model = file.model();
    let is_measured = model.index().is_none() || model.trust().is_some();
    if unknown.rows() < FEW || held.rows() < FEW || !is_measured {
        return Ok(None);
    }
    let half = unknown.rows() / 2;
    let learn = part(unknown, 0, half);
    let numbers = |queries: &Matrix, direction: Option<&Rounded>| {
        let all = each_answer::<1, _>(&model, queries, model.index().is_none(), |_, answer, scratch| {
            let p = answer.top.first().map_or(0.0, |best| best.p);
            let along = direction.map_or(0.0, |row| row.scale * scratch.query.times_row(&row.stored, Bits::Eight));
            [answer.energy(), 1.0 - p, answer.far_share, along, scratch.query.norm()].map(f64::from)
        })?;
        Ok::<_, Error>(all)
    };
    let direction = match model.bits() {
        Bits::Eight => discriminant([(tuned, &numbers(tuned, None)?), (&learn, &numbers(&learn, None)?)]),
        Bits::Four => None,
    };
    let direction = direction.map(|w| Rounded::of(&w, model.largest_row()));
    let others = part(unknown, half, unknown.rows());
    let (known, unknown) = (numbers(held, direction.as_ref())?, numbers(&others, direction.as_ref())?);
    let (choice, report) = (known.split_at(known.len() / 2), unknown.split_at(unknown.len() / 2));
    let ((known, known_test), (unknown, unknown_test)) = (choice, report);
    let single = |at: usize| core::array::from_fn(|i| if i == at { 1.0 } else { 0.0 });
    let mut weights: Vec<Numbers> = (0..COUNT).map(single).collect();
    weights.push(regression(known, unknown));
    let scores =
        |of: &[Numbers], weights: &Numbers| of.iter().map(|numbers| dot(numbers, weights)).collect::<Vec<f64>>();
    let worth = |at: usize| {
        let area = auroc(&scores(known, &weights[at]), &scores(unknown, &weights[at]));
        if at == COUNT { area - WORTH } else { area }
    };
    let best = (0..=COUNT).max_by(|&a, &b| worth(a).total_cmp(&worth(b))).unwrap_or(0);
    let chosen = weights[best];
    let mut sorted = scores(known, &chosen);
    sorted.sort_by(f64::total_cmp);
    let place = (((sorted.len() + 1) as f64 * (1.0 - f64::from(reject))).ceil() as usize).clamp(1, sorted.len());
    // Rounded up, so that what is on it is known.
    let threshold = (sorted[place - 1] as f32).next_up();
    let tried: Vec<TriedScore> = weights
        .iter()
        .zip(NAMES)
        .map(|(weights, name)| {
            let (known, unknown) = (scores(known_test, weights), scores(unknown_test, weights));
            let area = auroc(&known, &unknown);
            let spread = 1.96 * auroc_error(area, known.len(), unknown.len());
            TriedScore {
                name,
                auroc: area as f32,
                auroc_low: (area - spread).max(0.0) as f32,
                auroc_high: (area + spread).min(1.0) as f32,
            }
        })
        .collect();
    let above = |of: &[Numbers]| scores(of, &chosen).iter().filter(|&&s| s as f32 > threshold).count();
    let (rejected, accepted) = (above(known_test), unknown_test.len() - above(unknown_test));
    let (rejected_low, rejected_high) = confidence(rejected, known_test.len());
    let (accepted_low, accepted_high) = confidence(accepted, unknown_test.len());
    let figures = KnownFigures {
        chosen: NAMES[best],
        auroc: tried[best].auroc,
        known: known_test.len(),
        unknown: unknown_test.len(),
        rejected: rejected as f32 / known_test.len() as f32,
        rejected_low,
        rejected_high,
        accepted: accepted as f32 / unknown_test.len().max(1) as f32,
        accepted_low,
        accepted_high,
        tried,
    };
    let row = direction.as_ref().filter(|_| chosen[3] > 0.0);
    let along = chosen[3] * row.map_or(0.0, |row| f64::from(row.scale));
    let own = [chosen[0], chosen[1], chosen[2], along, chosen[NORM]].map(|w| w as f32);
    let counts = [known.len() as u32, unknown.len() as u32];
    let section = Recognition::encode(counts, own, threshold, figures.auroc, row.map_or(&[], |row| &row.stored));
    let mut writer = FileWriter::reopen(file)?;
    writer.optional(Section::Known, &section);
    Ok(Some((writer.into_model()?, figures)))
}

/// Rows of a matrix.
fn part(queries: &Matrix, first: usize, end: usize) -> Matrix {
    let cols = queries.cols();
    Matrix::new(queries.data()[first * cols..end * cols].to_vec(), cols).unwrap_or_else(|| queries.clone())
}

fn dot(a: &Numbers, b: &Numbers) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The direction in which unknown queries differ from known ones beyond what the numbers of their answers tell: Fisher's linear
/// discriminant of queries and numbers together, without the part of the numbers.
fn discriminant([known, unknown]: [(&Matrix, &[Numbers]); 2]) -> Option<DVector<f64>> {
    let dim = known.0.cols();
    // Numbers in units of a column of the queries, and larger, so that the ridge leaves them alone.
    let unit =
        3.0 * (known.0.data().iter().map(|&x| f64::from(x * x)).sum::<f64>() / known.0.data().len() as f64).sqrt();
    let (mean, spread) = moments(known.1.iter().chain(unknown.1));
    let joined = |(queries, numbers): (&Matrix, &[Numbers])| {
        let scaled = |at: usize, x: f64| if spread[at] > 1e-12 { unit * (x - mean[at]) / spread[at] } else { 0.0 };
        let row = |(query, numbers): (&[f32], &Numbers)| -> Vec<f32> {
            let numbers = numbers.iter().enumerate().map(|(at, &x)| scaled(at, x) as f32);
            query.iter().copied().chain(numbers).collect()
        };
        Matrix::new(queries.iter().zip(numbers).flat_map(row).collect(), dim + COUNT)
    };
    let parts = [joined(known)?, joined(unknown)?];
    let mut within = DMatrix::<f64>::zeros(dim + COUNT, dim + COUNT);
    let means = parts.each_ref().map(|queries| {
        let mut mean = DVector::zeros(dim + COUNT);
        queries.iter().for_each(|query| mean.iter_mut().zip(query).for_each(|(sum, &x)| *sum += f64::from(x)));
        mean / queries.rows().max(1) as f64
    });
    for (queries, mean) in parts.iter().zip(&means) {
        let cols = queries.cols();
        let moment = linear::transposed_times(queries.data(), cols, queries.data(), cols);
        let moment: DMatrix<f64> = DMatrix::from_vec(cols, cols, moment).cast();
        // Both count the same, however many there are.
        within += moment / queries.rows().max(1) as f64 - mean * mean.transpose();
    }
    let few = dim as f64 / unknown.0.rows().max(1) as f64;
    let ridge = (RIDGE + 0.1 * few) * within.diagonal().rows(0, dim).sum() / dim as f64;
    let solved =
        (within + DMatrix::identity(dim + COUNT, dim + COUNT) * ridge).cholesky()?.solve(&(&means[1] - &means[0]));
    let direction = solved.rows(0, dim).into_owned();
    (direction.iter().all(|x| x.is_finite()) && direction.amax() > 0.0).then_some(direction)
}

/// Mean and spread of each number.
fn moments<'a>(all: impl Iterator<Item = &'a Numbers> + Clone) -> (Numbers, Numbers) {
    let n = all.clone().count().max(1) as f64;
    let mean: Numbers = core::array::from_fn(|i| all.clone().map(|x| x[i]).sum::<f64>() / n);
    let spread = core::array::from_fn(|i| (all.clone().map(|x| (x[i] - mean[i]).powi(2)).sum::<f64>() / n).sqrt());
    (mean, spread)
}

/// A direction, rounded as rows are.
struct Rounded {
    stored: Vec<i16>,
    scale: f32,
}

impl Rounded {
    /// The squares of the weights add up to no more than `most`, as those of all rows.
    fn of(w: &DVector<f64>, most: u32) -> Self {
        let scale = (w.amax() / 127.0).max(w.norm() / f64::from(most).sqrt());
        // Towards zero, so that rounding makes no weight longer.
        let mut weights: Vec<i8> = w.iter().map(|x| (x / scale) as i8).collect();
        weights.resize(weights.len().next_multiple_of(kernels::ROW_ALIGN), 0);
        let stored = weights.as_chunks().0.iter().map(|&[even, odd]| kernels::pair(even, odd)).collect();
        Self { stored, scale: scale as f32 }
    }
}

/// Weights that are not below zero, by which the sum tells known from unknown.
fn regression(known: &[Numbers], unknown: &[Numbers]) -> Numbers {
    let (mean, spread) = moments(known.iter().chain(unknown));
    let scaled = |x: &Numbers| -> Numbers {
        core::array::from_fn(|i| if spread[i] > 1e-12 { (x[i] - mean[i]) / spread[i] } else { 0.0 })
    };
    let (mut weights, mut shift) = ([0.0; COUNT], 0.0);
    for _ in 0..STEPS {
        let (mut slopes, mut slope) = ([0.0; COUNT], 0.0);
        for (of, is_unknown) in [(known, 0.0), (unknown, 1.0)] {
            for x in of {
                let x = scaled(x);
                let off = 1.0 / (1.0 + (-dot(&x, &weights) - shift).exp()) - is_unknown;
                let share = off / (2.0 * of.len() as f64);
                slopes.iter_mut().zip(x).for_each(|(sum, x)| *sum += share * x);
                slope += share;
            }
        }
        shift -= RATE * slope;
        for (at, (w, slope)) in weights.iter_mut().zip(slopes).enumerate() {
            let moved = *w - RATE * (slope + 1e-3 * *w);
            *w = if at == NORM { moved } else { moved.max(0.0) };
        }
    }
    core::array::from_fn(|i| if spread[i] > 1e-12 { weights[i] / spread[i] } else { 0.0 })
}

/// The share of pairs in which the unknown one has the larger score; a half for equal ones.
fn auroc(known: &[f64], unknown: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> =
        known.iter().map(|&s| (s, false)).chain(unknown.iter().map(|&s| (s, true))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut pairs, mut at) = (0.0, 0.0, 0);
    while at < all.len() {
        let same = all[at..].iter().take_while(|other| other.0 == all[at].0).count();
        let unknowns = all[at..at + same].iter().filter(|one| one.1).count() as f64;
        let knowns = same as f64 - unknowns;
        pairs += unknowns * (below + 0.5 * knowns);
        below += knowns;
        at += same;
    }
    pairs / (known.len() as f64 * unknown.len() as f64).max(1.0)
}

/// The standard error of that share.
fn auroc_error(area: f64, known: usize, unknown: usize) -> f64 {
    let (n, m) = (known.max(1) as f64, unknown.max(1) as f64);
    let (one, two) = (area / (2.0 - area), 2.0 * area * area / (1.0 + area));
    let variance = area * (1.0 - area) + (m - 1.0) * (one - area * area) + (n - 1.0) * (two - area * area);
    (variance / (n * m)).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Kind, Layer, flat_model};

    #[test]
    fn pairs_are_counted() {
        assert_eq!(auroc(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(auroc(&[1.0, 3.0], &[2.0, 3.0]), 0.625);
        assert_eq!(auroc(&[], &[]), 0.0);
        assert!((auroc_error(0.5, 100, 100) - 0.0409).abs() < 1e-3);
    }

    #[test]
    fn what_is_stored_rejects_as_it_says_and_tells_what_it_says() {
        let layer = Layer::generate(200, 16, 1);
        let queries = |count, seed| layer.queries(Kind::Classifier, count, seed);
        let other = Layer::generate(200, 16, 77);
        let unknown = |seed| other.queries(Kind::Classifier, 2000, seed);
        let file = flat_model(&layer.weights, &layer.biases).expect("valid");
        let (file, found) =
            with_known(&file, &queries(2000, 2), &queries(2000, 3), &unknown(4), 0.05).expect("valid").expect("enough");
        let model = file.model();
        let rate = |queries: &Matrix| {
            let all = each_answer::<1, _>(&model, queries, true, |_, answer, scratch| {
                answer.is_known(&model, &scratch.query).expect("stored")
            });
            all.expect("valid").iter().filter(|&&known| !known).count() as f32 / queries.rows() as f32
        };
        let (rejected, told) = (rate(&queries(2000, 5)), rate(&unknown(6)));
        assert!((rejected - 0.05).abs() < 0.02, "{rejected} {found:?}");
        assert!((told - (1.0 - found.accepted)).abs() < 0.06, "{told} {found:?}");
        assert!(found.tried.iter().all(|tried| tried.auroc_low <= tried.auroc && tried.auroc <= tried.auroc_high));
    }
}
