//! Measures what a finished model's answers are worth: intervals, and what calibration looks like.

use nalgebra::{Matrix3, Vector3};

use crate::Error;
use crate::estimators::Prediction;
use crate::host::evaluate::{self, FloatLayer, Rows};
use crate::host::{Matrix, linear, measure};
use crate::model::{LEAST_FAR_SHARE, Model, Trust, growth, unit};

/// Classes of a list that are looked at.
const CLASSES: usize = 5;
/// The share of answers that an interval is to hold, a little above what it promises: the queries to come are not quite
/// like these.
const LEVEL: f64 = 0.96;
/// The shares of queries between the limits of the norm, and within the limit of the distance.
const NORMS: [f64; 2] = [0.003, 0.992];
const WITHIN: f64 = 0.985;
/// How far a norm beyond all others may still be.
const SLACK: f32 = 1.02;
/// No number is taken to vary less than this: ln ‖q‖, ln Ẑ, ln of the far share.
const LEAST_DEVIATION: [f64; 3] = [0.01, 0.02, 0.1];

/// What the answers to `prove` are worth, which nothing was tuned on; all queries say what a familiar one is. `None` if
/// there are too few to tell.
pub fn prove(
    model: &Model<'_>,
    layer: FloatLayer<'_>,
    prove: &Matrix,
    all: &Matrix,
    reject_rate: f32,
) -> Result<Option<Trust>, Error> {
    let ask = |queries: &Matrix| -> Result<Vec<Answer>, Error> {
        let exact = measure::exact_predictions::<CLASSES>(model, queries)?;
        let estimated = match (model.tree(), model.settings()) {
            (Some(_), Some(settings)) => measure::predictions::<CLASSES>(model, queries, &settings.budget)?,
            _ => exact.clone(),
        };
        let norms = queries.iter().map(|query| linear::dot(query, query).sqrt());
        Ok(norms
            .zip(estimated)
            .zip(exact)
            .map(|((norm, estimated), exact)| Answer { norm, estimated, exact })
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
    // Only answers that will have an interval count.
    let is_familiar =
        |answer: &Answer| trust.is_familiar(answer.norm, answer.estimated.log_z(), Some(answer.estimated.far_share));
    let truths = evaluate::exact(&layer, prove.data(), prove.cols(), 1);
    let proved: Vec<(Answer, &[f32], f32)> = ask(prove)?
        .into_iter()
        .zip(prove.iter().zip(&truths))
        .filter(|(answer, _)| is_familiar(answer))
        .map(|(answer, (query, truth))| (answer, query, truth.log_z))
        .collect();
    let errors = |of: fn(&Answer) -> &Prediction<CLASSES>, first: bool| -> Option<f32> {
        let mut errors = Vec::new();
        for (answer, query, log_z) in &proved {
            let prediction = of(answer);
            let classes = prediction.top.iter().enumerate().filter(|(place, _)| (*place == 0) == first);
            for (_, ranked) in classes {
                let truth = layer.score(ranked.class as usize, query) - log_z;
                let estimate = ranked.score.to_nats() - prediction.log_z();
                let unit = unit(prediction.far_share, ranked.p) * growth(answer.norm, trust.typical_norm);
                errors.push((estimate - truth).abs() / unit);
            }
        }
        conformal(errors, proved.len())
    };
    let margins = |of: fn(&Answer) -> &Prediction<CLASSES>| -> Option<[f32; 2]> {
        let first = errors(of, true)?;
        // A layer of one class has no others.
        Some([first, errors(of, false).unwrap_or(first)])
    };
    let (Some(estimated), Some(exact)) = (margins(|answer| &answer.estimated), margins(|answer| &answer.exact)) else {
        return Ok(None);
    };
    Ok(Some(Trust { queries: proved.len() as u32, margins: estimated, exact_margins: exact, ..trust }))
}

struct Answer {
    norm: f32,
    estimated: Prediction<CLASSES>,
    exact: Prediction<CLASSES>,
}

/// The value that a further query is below with the probability [`LEVEL`]; `None` with too few queries for that. Several
/// values of one query count as its own.
fn conformal(mut values: Vec<f32>, queries: usize) -> Option<f32> {
    let share = LEVEL * (queries as f64 + 1.0) / queries.max(1) as f64;
    if share > 1.0 || values.is_empty() {
        return None;
    }
    values.sort_by(f32::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    Some(values[place.clamp(1, values.len()) - 1])
}

/// What a familiar query is.
fn familiar(answers: &[Answer]) -> Option<Trust> {
    let points: Vec<Vector3<f64>> = answers
        .iter()
        .filter(|answer| answer.norm > 0.0)
        .map(|Answer { norm, estimated, .. }| {
            let far = (estimated.far_share + LEAST_FAR_SHARE).ln();
            Vector3::new(norm.ln().into(), estimated.log_z().into(), far.into())
        })
        .collect();
    if points.is_empty() || points.iter().any(|point| point.iter().any(|x| !x.is_finite())) {
        return None;
    }
    let n = points.len() as f64;
    let centre: Vector3<f64> = points.iter().sum::<Vector3<f64>>() / n;
    let least = LEAST_DEVIATION.map(|deviation| deviation * deviation);
    let covariance: Matrix3<f64> = points.iter().map(|p| (p - centre) * (p - centre).transpose()).sum::<Matrix3<f64>>()
        / n
        + Matrix3::from_diagonal(&Vector3::from(least));
    let whiten = covariance.cholesky()?.l().try_inverse()?;
    let squares: Vec<[f64; 2]> = points
        .iter()
        .map(|point| {
            let white = whiten * (point - centre);
            [white.norm_squared(), white[0] * white[0] + white[1] * white[1]]
        })
        .collect();
    let limit = |kind: usize| quantile(squares.iter().map(|pair| pair[kind]).collect(), WITHIN) as f32;
    let norm = |share: f64| quantile(answers.iter().map(|answer| f64::from(answer.norm)).collect(), share) as f32;
    let triangle = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)];
    Some(Trust {
        typical_norm: norm(0.5),
        norms: [norm(NORMS[0]) / SLACK, norm(NORMS[1]) * SLACK],
        centre: [0, 1, 2].map(|i| centre[i] as f32),
        whiten: triangle.map(|at| whiten[at] as f32),
        distances: [limit(0), limit(1)],
        ..Trust::default()
    })
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((share * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
}
