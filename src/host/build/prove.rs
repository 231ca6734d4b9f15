//! Measures what a finished model's answers are worth: intervals, and what calibration looks like.

use nalgebra::{SMatrix, SVector};

use super::likeness::Likeness;
use super::stress;
use crate::Error;
use crate::estimators::{Prediction, Ranked};
use crate::host::evaluate::{self, FloatLayer, Rows};
use crate::host::{Matrix, linear, measure};
use crate::model::{Answers, Judge, Model, NUMBERS, Trust, growth, unit};

/// What is known of an answer.
type Point = SVector<f64, NUMBERS>;

/// Classes of a list that are looked at.
const CLASSES: usize = 5;
/// The share of answers that an interval is to hold, a little above what it promises: the queries to come are not quite
/// like these.
const LEVEL: f64 = 0.96;
/// The same of queries unlike those of the calibration that count as familiar all the same.
const UNLIKE_LEVEL: f64 = 0.92;
/// The shares of queries between the limits of the norm, and within the limit of the distance.
const NORMS: [f64; 2] = [0.003, 0.992];
const WITHIN: f64 = 0.985;
/// How far a norm beyond all others may still be.
const SLACK: f32 = 1.02;
/// No number is taken to vary less than this: log₂ of ‖q‖, of Ẑ, of what is least known of it; w·q.
const LEAST_DEVIATION: [f64; NUMBERS] = [0.015, 0.03, 0.15, 0.01];

/// What the answers to `prove` are worth, which nothing was tuned on; all queries say what a familiar one is. `None` if
/// there are too few to tell.
pub fn prove(
    model: &Model<'_>,
    layer: FloatLayer<'_>,
    prove: &Matrix,
    all: &Matrix,
    reject_rate: f32,
) -> Result<Option<(Trust, Likeness)>, Error> {
    let likeness = Likeness::new(all, model.largest_row(), model.bits());
    let ask = |queries: &Matrix| -> Result<Vec<Answer>, Error> {
        let exact = measure::exact_predictions::<CLASSES>(model, queries)?;
        let estimated = match (model.tree(), model.settings()) {
            (Some(_), Some(settings)) => measure::predictions::<CLASSES>(model, queries, &settings.budget)?,
            _ => exact.clone(),
        };
        let both = queries.iter().zip(estimated.into_iter().zip(exact));
        Ok(both
            .map(|(query, (estimated, exact))| {
                let norm = linear::dot(query, query).sqrt();
                Answer { norm, likeness: likeness.of(query), estimated, exact }
            })
            .collect())
    };
    let answers = ask(all)?;
    let Some(mut trust) = familiar(&answers) else {
        return Ok(None);
    };
    let mut energies: Vec<f32> = answers.iter().map(|answer| answer.estimated.energy()).collect();
    energies.sort_by(f32::total_cmp);
    let kept = ((1.0 - reject_rate) * energies.len() as f32).ceil() as usize;
    trust.reject_energy = energies[kept.clamp(1, energies.len()) - 1];
    trust.reject_rate = reject_rate;
    let set = |queries: &Matrix| -> Result<Proved, Error> {
        let truths = evaluate::exact(&layer, queries.data(), queries.cols(), 1);
        Ok(Proved { answers: ask(queries)?, queries: queries.clone(), log_z: truths.iter().map(|t| t.log_z).collect() })
    };
    // Longer queries may be too long for the model: it refuses them, so that there is nothing to promise.
    let (like, unlike): (_, Vec<Proved>) =
        (set(prove)?, stress::all(prove).iter().filter_map(|set_of| set(set_of).ok()).collect());
    let margin = |is_exact: bool, first: bool| -> Option<f32> {
        let errors = |set: &Proved| set.errors(&layer, &trust, is_exact, first);
        let margin = conformal(errors(&like), LEVEL)?;
        let others = unlike.iter().filter_map(|set| conformal(errors(set), UNLIKE_LEVEL));
        Some(others.fold(margin, f32::max))
    };
    let margins = |is_exact: bool| -> Option<[f32; 2]> {
        let first = margin(is_exact, true)?;
        // A layer of one class has no others.
        Some([first, margin(is_exact, false).unwrap_or(first)])
    };
    let (Some(estimated), Some(exact)) = (margins(false), margins(true)) else {
        return Ok(None);
    };
    (trust.estimated.margins, trust.exact.margins) = (estimated, exact);
    trust.queries = like.answers.iter().filter(|answer| answer.is_familiar(&trust, false)).count() as u32;
    trust.likeness_scale = likeness.scale;
    Ok(Some((trust, likeness)))
}

/// Queries with the model's answers and the truth.
struct Proved {
    queries: Matrix,
    answers: Vec<Answer>,
    log_z: Vec<f32>,
}

impl Proved {
    /// The errors of the first classes, or of the others, in units of what is expected: a list for each query whose answer
    /// has an interval.
    fn errors(&self, layer: &FloatLayer<'_>, trust: &Trust, is_exact: bool, first: bool) -> Vec<Vec<f32>> {
        let answers = self.answers.iter().zip(self.queries.iter().zip(&self.log_z));
        let familiar = answers.filter(|(answer, _)| answer.is_familiar(trust, is_exact));
        familiar
            .map(|(answer, (query, log_z))| {
                let prediction = answer.prediction(is_exact);
                // A masked class has no p to be off.
                let named = prediction.top.iter().filter(|ranked| ranked.p > 0.0).enumerate();
                let classes = named.filter(|(place, _)| (*place == 0) == first);
                let error = |ranked: &Ranked| {
                    let truth = layer.score(ranked.class as usize, query) - log_z;
                    let estimate = ranked.score.to_nats() - prediction.log_z();
                    let unit = unit(prediction.far_share, ranked.p) * growth(answer.norm, trust.typical_norm);
                    (estimate - truth).abs() / unit
                };
                classes.map(|(_, ranked)| error(ranked)).collect()
            })
            .collect()
    }
}

struct Answer {
    norm: f32,
    likeness: f32,
    estimated: Prediction<CLASSES>,
    exact: Prediction<CLASSES>,
}

impl Answer {
    fn is_familiar(&self, trust: &Trust, is_exact: bool) -> bool {
        Judge::new(&trust.to_words(), is_exact).is_familiar(self.norm, &self.numbers(is_exact))
    }

    fn prediction(&self, is_exact: bool) -> &Prediction<CLASSES> {
        if is_exact { &self.exact } else { &self.estimated }
    }

    fn numbers(&self, is_exact: bool) -> [f32; NUMBERS] {
        self.prediction(is_exact).numbers(self.norm, self.likeness, is_exact)
    }
}

/// The value that a further query is below with the probability `level`; `None` with too few queries for that.
fn conformal(queries: Vec<Vec<f32>>, level: f64) -> Option<f32> {
    let share = level * (queries.len() as f64 + 1.0) / queries.len().max(1) as f64;
    let mut values: Vec<f32> = queries.into_iter().flatten().collect();
    if share > 1.0 || values.is_empty() {
        return None;
    }
    values.sort_by(f32::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    Some(values[place.clamp(1, values.len()) - 1])
}

/// What a familiar query is; margins and the threshold of the energy are still to be found.
fn familiar(answers: &[Answer]) -> Option<Trust> {
    let norm = |share: f64| quantile(answers.iter().map(|answer| f64::from(answer.norm)).collect(), share) as f32;
    let of_kind = |is_exact| {
        let points = answers.iter().filter(|answer| answer.norm > 0.0);
        familiar_answers(&points.map(|answer| Point::from(answer.numbers(is_exact).map(f64::from))).collect::<Vec<_>>())
    };
    Some(Trust {
        typical_norm: norm(0.5),
        norms: [norm(NORMS[0]) / SLACK, norm(NORMS[1]) * SLACK],
        estimated: of_kind(false)?,
        exact: of_kind(true)?,
        ..Trust::default()
    })
}

/// Mean, whitening and limit of the numbers of answers.
fn familiar_answers(points: &[Point]) -> Option<Answers> {
    if points.is_empty() || points.iter().any(|point| point.iter().any(|x| !x.is_finite())) {
        return None;
    }
    let n = points.len() as f64;
    let centre: Point = points.iter().sum::<Point>() / n;
    let least = LEAST_DEVIATION.map(|deviation| deviation * deviation);
    let covariance: SMatrix<f64, NUMBERS, NUMBERS> =
        points.iter().map(|p| (p - centre) * (p - centre).transpose()).sum::<SMatrix<f64, NUMBERS, NUMBERS>>() / n
            + SMatrix::from_diagonal(&Point::from(least));
    let whiten = covariance.cholesky()?.l().try_inverse()?;
    let distances = points.iter().map(|point| (whiten * (point - centre)).norm_squared());
    let mut triangle = (0..NUMBERS).flat_map(|row| (0..=row).map(move |column| (row, column)));
    Some(Answers {
        centre: std::array::from_fn(|i| centre[i] as f32),
        whiten: std::array::from_fn(|_| triangle.next().map_or(0.0, |at| whiten[at] as f32)),
        distance: quantile(distances.collect(), WITHIN) as f32,
        ..Answers::default()
    })
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((share * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
}
