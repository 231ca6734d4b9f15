//! Calibrates a finished model on queries that nothing was tuned on: what a familiar query is, how wide intervals are, and
//! above which energy a query is rejected.
//!
//! Whatever is fitted is fitted to other queries than those that its limit comes from. Otherwise queries of the same
//! distribution are outside of the limit: with fewer queries than dimensions a linear function of them is as near to one
//! for every query that it was fitted to as for no other.

use nalgebra::{SMatrix, SVector};

use super::likeness::Likeness;
use super::stress;
use crate::Error;
use crate::estimators::{Prediction, Ranked};
use crate::host::evaluate::{self, FloatLayer, Rows};
use crate::host::{Matrix, linear, measure};
use crate::model::{Answers, Calibration, Model, NUMBERS, Trust, error_unit, growth};

/// The numbers of an answer that tell whether its query is familiar.
type Point = SVector<f64, NUMBERS>;
type Covariance = SMatrix<f64, NUMBERS, NUMBERS>;

/// Classes of a list that are looked at.
const CLASSES: usize = 5;
/// The share of answers that an interval is to hold, a little above what it promises: the queries to come are not quite
/// like these.
const LEVEL: f64 = 0.96;
/// The share that it holds in all but [`CHANCE`] of the builds, which asks for wider ones where queries are few.
const LEAST_LEVEL: f64 = 0.92;
/// The share of answers to queries unlike those of the calibration, but familiar, that an interval is to hold.
const UNLIKE_LEVEL: f64 = 0.92;
/// The shares of queries between the limits of the norm.
const NORMS: [f64; 2] = [0.003, 0.992];
/// The share within the limit of the distance.
const WITHIN: f64 = 0.985;
/// The same where it pays to be strict: where the intervals of all familiar queries are narrower by the factor below, or
/// where trials find queries that pass for familiar and are not covered.
const WITHIN_TIGHT: f64 = 0.965;
const NARROWER: f32 = 0.97;
/// Trials that are familiar count as covered if this share of them is.
const LEAST_COVERED: f64 = 0.9;
/// The share within the limit of the distance in all but [`CHANCE`] of the builds.
const LEAST_WITHIN: f64 = 0.95;
/// How often the luck of the queries may break a promise.
const CHANCE: f64 = 0.01;
/// How often it may break that of the rejected ones.
const REJECT_CHANCE: f64 = 0.05;
/// Of n values that are too few for that, the largest is exceeded by a share of FEW/n.
const FEW: f64 = 12.0;
/// How far a norm beyond all others may still be.
const SLACK: f32 = 1.02;
/// No number is taken to vary less than this: log₂ of ‖q‖, of Ẑ, of what is least known of it; w·q.
const LEAST_DEVIATION: [f64; NUMBERS] = [0.015, 0.03, 0.15, 0.01];

/// Calibrates a model on the queries that were held out. What depends on no answer of theirs is fitted to the other ones,
/// `tuned`. Returns `None` if there are too few to tell.
pub fn calibrate(
    model: &Model<'_>,
    layer: FloatLayer<'_>,
    tuned: &Matrix,
    held_out: &Matrix,
    reject_rate: f32,
) -> Result<Option<(Trust, Likeness)>, Error> {
    let likeness = Likeness::new(tuned, model.largest_row(), model.bits());
    let set = |queries: &Matrix| -> Result<Asked, Error> {
        let truths = evaluate::exact(&layer, queries.data(), queries.cols(), 1);
        Ok(Asked {
            answers: ask(model, &likeness, queries)?,
            queries: queries.clone(),
            log_z: truths.iter().map(|truth| truth.log_z).collect(),
        })
    };
    let like = set(held_out)?;
    // Longer queries may be too long for the model: it refuses them, so that there is nothing to promise.
    let sets = |of: fn(&Matrix) -> Vec<Matrix>| -> Vec<Asked> {
        of(held_out).iter().filter_map(|queries| set(queries).ok()).collect()
    };
    let (unlike, doubtful) = (sets(stress::unlike), sets(stress::doubtful));
    let with_limit = |within: f64| -> Option<Trust> {
        let mut trust = familiar(&like.answers, tuned, within)?;
        let margins = |is_exact| margins(&layer, &trust, &like, &unlike, is_exact);
        (trust.estimated.margins, trust.exact.margins) = (margins(false)?, margins(true)?);
        Some(trust)
    };
    let Some(mut trust) = with_limit(WITHIN) else {
        return Ok(None);
    };
    let is_covered = |trust: &Trust, is_exact: bool| {
        let margin = if is_exact { trust.exact.margins } else { trust.estimated.margins }[0];
        let mut others = doubtful.iter().map(|set| set.errors(&layer, trust, is_exact, true));
        others.all(|errors| conformal(errors, LEAST_COVERED, 0.0).is_none_or(|error| error <= margin))
    };
    if let Some(tight) = with_limit(WITHIN_TIGHT) {
        let is_narrower = tight.estimated.margins[0] < NARROWER * trust.estimated.margins[0];
        if is_narrower || !is_covered(&trust, false) || !is_covered(&trust, true) {
            trust = tight;
        }
    }
    let energies = within_budget(model, tuned)?.iter().map(Prediction::energy).collect();
    trust.reject_energy = threshold(energies, reject_rate);
    let rejected = like.answers.iter().filter(|answer| answer.estimated.energy() > trust.reject_energy).count();
    trust.reject_rate = rejected as f32 / like.answers.len() as f32;
    trust.queries = like.answers.iter().filter(|answer| answer.is_familiar(&trust, false)).count() as u32;
    trust.likeness_scale = likeness.scale;
    Ok(Some((trust, likeness)))
}

/// Returns the margins of the first class and of the others: for queries like those of the calibration, and for unlike ones
/// that are familiar.
fn margins(layer: &FloatLayer<'_>, trust: &Trust, like: &Asked, unlike: &[Asked], is_exact: bool) -> Option<[f32; 2]> {
    let margin = |first: bool| -> Option<f32> {
        let margin = conformal(like.errors(layer, trust, is_exact, first), LEVEL, LEAST_LEVEL)?;
        let others = unlike.iter().map(|set| set.errors(layer, trust, is_exact, first));
        Some(others.filter_map(|errors| conformal(errors, UNLIKE_LEVEL, 0.0)).fold(margin, f32::max))
    };
    let first = margin(true)?;
    // A layer of one class has no others.
    Some([first, margin(false).unwrap_or(first)])
}

/// Asks the model, within its budget and with all rows scored.
fn ask(model: &Model<'_>, likeness: &Likeness, queries: &Matrix) -> Result<Vec<Answer>, Error> {
    let exact = measure::exact_predictions::<CLASSES>(model, queries)?;
    let estimated = if model.index().is_some() { within_budget(model, queries)? } else { exact.clone() };
    let both = queries.iter().zip(estimated.into_iter().zip(exact));
    Ok(both
        .map(|(query, (estimated, exact))| {
            let norm = linear::dot(query, query).sqrt();
            Answer { norm, likeness: likeness.of(query), estimated, exact }
        })
        .collect())
}

/// Asks the model within its budget; with all rows scored where it has no index.
fn within_budget(model: &Model<'_>, queries: &Matrix) -> Result<Vec<Prediction<CLASSES>>, Error> {
    match model.index() {
        Some((_, settings)) => measure::predictions(model, queries, &settings.budget),
        None => measure::exact_predictions(model, queries),
    }
}

/// Queries with the model's answers and the truth.
struct Asked {
    queries: Matrix,
    answers: Vec<Answer>,
    log_z: Vec<f32>,
}

impl Asked {
    /// Returns the errors of the first classes, or of the others, in units of what is expected: a list for each query
    /// whose answer has an interval.
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
                    let unit = error_unit(prediction.far_share, ranked.p) * growth(answer.norm, trust.typical_norm);
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
        Calibration::new(&trust.to_words(), is_exact)
            .is_some_and(|calibration| calibration.is_familiar(self.norm, self.numbers(is_exact)))
    }

    fn prediction(&self, is_exact: bool) -> &Prediction<CLASSES> {
        if is_exact { &self.exact } else { &self.estimated }
    }

    fn numbers(&self, is_exact: bool) -> [f32; NUMBERS] {
        self.prediction(is_exact).numbers(self.norm, self.likeness, is_exact)
    }
}

/// Returns the energy that at most this share of the queries to come are above, by queries that are like them.
fn threshold(mut energies: Vec<f32>, rate: f32) -> f32 {
    energies.sort_by(f32::total_cmp);
    let above = most_above(energies.len(), f64::from(rate), REJECT_CHANCE).unwrap_or(0);
    energies[energies.len() - 1 - above]
}

/// Returns the margin that the error of a further answer is below with the probability `level`, and with the probability
/// `least` but for the luck of the queries; `None` with too few queries for that.
fn conformal(queries: Vec<Vec<f32>>, level: f64, least: f64) -> Option<f32> {
    let count = queries.len();
    let expected = (level * (count as f64 + 1.0)).ceil() as usize;
    let mut values: Vec<f32> = queries.into_iter().flatten().collect();
    if expected > count || values.is_empty() {
        return None;
    }
    values.sort_by(f32::total_cmp);
    if least == 0.0 {
        return Some(values[place(expected as f64 / count as f64, values.len())]);
    }
    match most_above(count, 1.0 - least, CHANCE) {
        Some(above) => Some(values[place(expected.max(count - above) as f64 / count as f64, values.len())]),
        None => Some(values[values.len() - 1] * beyond(count) as f32),
    }
}

/// Returns the factor of a limit beyond the largest of so few values that it is none itself.
fn beyond(count: usize) -> f64 {
    1.0 + FEW / count as f64
}

/// Returns how many of `count` values may be above a limit, so that no more than the share `rate` of all values to come is
/// above it but with the probability `chance`: a tolerance limit (Wilks, 1941). `None` if not even the largest value is
/// such a limit.
fn most_above(count: usize, rate: f64, chance: f64) -> Option<usize> {
    // The probability of so many or fewer above, were the limit at just this rate: a binomial distribution.
    let mut log_term = count as f64 * (-rate).ln_1p();
    let mut sum = log_term.exp();
    if sum > chance {
        return None;
    }
    let odds = (rate / (1.0 - rate)).ln();
    for above in 0..count {
        log_term += ((count - above) as f64 / (above as f64 + 1.0)).ln() + odds;
        sum += log_term.exp();
        if sum > chance {
            return Some(above);
        }
    }
    Some(count - 1)
}

/// Finds out what a familiar query is; margins and the threshold of the energy are still to be found.
fn familiar(answers: &[Answer], tuned: &Matrix, within: f64) -> Option<Trust> {
    let mut norms: Vec<f64> = answers.iter().map(|answer| f64::from(answer.norm)).collect();
    norms.extend(tuned.iter().map(|query| f64::from(linear::dot(query, query).sqrt())));
    norms.sort_by(f64::total_cmp);
    let norm = |share: f64| norms[place(share, norms.len())] as f32;
    let of_kind = |is_exact| {
        let points = answers.iter().filter(|answer| answer.norm > 0.0);
        let point = |answer: &Answer| Point::from(answer.numbers(is_exact).map(f64::from));
        familiar_answers(&points.map(point).collect::<Vec<_>>(), within)
    };
    Some(Trust {
        typical_norm: norm(0.5),
        norms: [norm(NORMS[0]) / SLACK, norm(NORMS[1]) * SLACK],
        estimated: of_kind(false)?,
        exact: of_kind(true)?,
        ..Trust::default()
    })
}

/// Returns mean and whitening of the numbers of answers, and the limit of their distance.
fn familiar_answers(points: &[Point], within: f64) -> Option<Answers> {
    if points.len() <= 2 * NUMBERS || points.iter().any(|point| point.iter().any(|x| !x.is_finite())) {
        return None;
    }
    let all = Sums::of(points);
    // Each point's distance from the others: its own part in mean and covariance would make it look nearer.
    let mut distances = Vec::with_capacity(points.len());
    for point in points {
        let (centre, whiten) = all.without(point).whitening()?;
        distances.push((whiten * (point - centre)).norm_squared());
    }
    distances.sort_by(f64::total_cmp);
    let count = points.len();
    let limit = match most_above(count, 1.0 - LEAST_WITHIN, CHANCE) {
        Some(above) => distances[place(within, count + 1).max(count - 1 - above).min(count - 1)],
        None => distances[count - 1] * beyond(count),
    };
    let (centre, whiten) = all.whitening()?;
    let mut triangle = (0..NUMBERS).flat_map(|row| (0..=row).map(move |column| (row, column)));
    Some(Answers {
        centre: std::array::from_fn(|i| centre[i] as f32),
        whiten: std::array::from_fn(|_| triangle.next().map_or(0.0, |at| whiten[at] as f32)),
        distance: limit as f32,
        ..Answers::default()
    })
}

/// Sums of points and of their products.
#[derive(Clone, Copy)]
struct Sums {
    count: f64,
    sum: Point,
    products: Covariance,
}

impl Sums {
    fn of(points: &[Point]) -> Self {
        let products = points.iter().map(|point| point * point.transpose()).sum();
        Self { count: points.len() as f64, sum: points.iter().sum(), products }
    }

    fn without(&self, point: &Point) -> Self {
        Self { count: self.count - 1.0, sum: self.sum - point, products: self.products - point * point.transpose() }
    }

    /// Returns the mean, and what whitens deviations from it.
    fn whitening(&self) -> Option<(Point, Covariance)> {
        let centre = self.sum / self.count;
        let least = LEAST_DEVIATION.map(|deviation| deviation * deviation);
        let covariance =
            self.products / self.count - centre * centre.transpose() + SMatrix::from_diagonal(&Point::from(least));
        Some((centre, covariance.cholesky()?.l().try_inverse()?))
    }
}

/// Returns the place of the value that this share of `count` sorted ones does not exceed.
fn place(share: f64, count: usize) -> usize {
    ((share * count as f64).ceil() as usize).clamp(1, count) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_limits_are_those_of_the_tables() {
        // Wilks: 59 values for 95 % below the largest with 95 % confidence, 93 for the second largest, 124 for the third.
        for (count, above) in [(58, None), (59, Some(0)), (92, Some(0)), (93, Some(1)), (123, Some(1)), (124, Some(2))]
        {
            assert_eq!(most_above(count, 0.05, 0.05), above, "{count}");
        }
        assert_eq!(most_above(100, 0.0, 0.05), None);
        // Far from any underflow's reach.
        let above = most_above(100_000, 0.05, 0.05).expect("many");
        assert!((4_870..4_900).contains(&above), "{above}");
    }

    #[test]
    fn few_errors_have_no_margin() {
        let errors = |count: usize| (0..count).map(|i| vec![i as f32]).collect();
        assert_eq!(conformal(errors(10), LEVEL, LEAST_LEVEL), None);
        assert_eq!(conformal(errors(40), LEVEL, LEAST_LEVEL), Some(39.0 * 1.3));
        assert_eq!(conformal(errors(60), LEVEL, LEAST_LEVEL), Some(59.0));
        // .96 · 1001 is expected to be enough, and .92 is far from it.
        assert_eq!(conformal(errors(1000), LEVEL, LEAST_LEVEL), Some(960.0));
    }
}
