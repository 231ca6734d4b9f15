//! The map from scores to probabilities that labels ask for, as far as it can be folded into rows and biases: a device pays
//! nothing for it.
//!
//! ```text
//! temperature      u/T
//! biases           u/T + β
//! scales           (a·(u − ū) + ū)/T + β        a, β one number for each class, ū the mean score of the class
//! ```
//!
//! T is fitted anew with them, and once more to labels held out: what is fitted to some labels is too sure of others.
//!
//! β and a − 1 are drawn towards zero by a normal prior, as most classes have few labels or none. Its strength, and whether
//! there is any β or a at all, is chosen by the mean −ln p of labels that the map was not fitted on, in five parts, one after the
//! other. A map beyond the temperature is taken only if it is better than that by more than a standard error of the difference.

use rayon::prelude::*;
use serde::Serialize;

use super::Labelled;
use crate::host::evaluate::{FloatLayer, scores};
use crate::host::{Matrix, fit_temperature};

/// The most scores that are looked at; queries beyond that are left out, evenly.
const MOST_SCORES: usize = 10_000_000;
/// Parts that take turns to be held out.
const PARTS: usize = 5;
/// With fewer labels the temperature is all there is.
const FEW: usize = 200;
/// What priors on β count for, in labels.
const PRIORS: [f32; 3] = [1.0, 4.0, 16.0];
/// The prior on a − 1 is narrower by this.
const NARROWER: f32 = 10.0;
/// What a map is multiplied with, by labels held out.
const SOFTNESSES: [f32; 7] = [0.7, 0.76, 0.82, 0.88, 0.94, 1.0, 1.06];
/// Steps towards the minimum, those back included.
const STEPS: usize = 20;
/// A p below this moves nothing.
const NEGLIGIBLE: f32 = 1e-7;
/// The second derivatives of a class are up to twice those that its own step takes into account.
const DAMPING: f32 = 1.3;

/// A layer whose probabilities are those that labels ask for.
#[derive(Clone, Debug)]
pub(in crate::host) struct Mapped {
    pub weights: Matrix,
    pub biases: Vec<f32>,
    pub figures: MapFigures,
}

/// What was chosen, and by what.
///
/// ```
/// use zhat::host::make::{Request, make};
/// use zhat::host::{Kind, Layer};
///
/// let layer = Layer::generate(60, 8, 1);
/// let queries = layer.queries(Kind::Classifier, 100, 2);
/// let labels: Vec<usize> = (0..100).map(|i| i % 60).collect(); // the true classes
/// let request = Request {
///     queries: Some(&queries),
///     labels: Some(&labels),
///     fit_map: true,
///     ..Request::new(&layer.weights, &layer.biases)
/// };
/// let map = make(&request, &mut |_| {})?.map.expect("labels");
/// assert_eq!(map.chosen, "temperature"); // more takes 200 labels
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct MapFigures {
    /// "temperature", "biases" or "scales".
    pub chosen: &'static str,
    /// What scores were divided by.
    pub temperature: f32,
    /// Labels that it was fitted to.
    pub labels: usize,
    /// What was tried beyond the temperature; empty with few labels.
    pub tried: Vec<TriedMap>,
}

/// A map that was tried.
///
/// ```
/// use zhat::host::label::TriedMap;
///
/// let is_better = |map: &TriedMap| map.gain > map.gain_error;
/// assert!(is_better(&TriedMap { name: "biases", prior: 4.0, gain: 0.1, gain_error: 0.02 }));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct TriedMap {
    /// "biases" or "scales".
    pub name: &'static str,
    /// How many labels the prior counts for.
    pub prior: f32,
    /// The mean −ln p of labels held out, of the temperature less that of this map: above zero it is better.
    pub gain: f32,
    /// Its standard error.
    pub gain_error: f32,
}

/// What is done to the scores of each class.
#[derive(Clone)]
struct Map {
    temperature: f32,
    /// Of all classes, beside the temperature: what that should have been once biases are right.
    sharpness: f32,
    means: Vec<f32>,
    factors: Vec<f32>,
    shifts: Vec<f32>,
}

/// Fits a map to labels, and applies it to the layer.
pub(in crate::host) fn fit_map(weights: &Matrix, biases: &[f32], labelled: Labelled<'_>) -> Mapped {
    let count = (MOST_SCORES / weights.rows().max(1)).max(FEW).min(labelled.labels.len());
    let picked: Vec<usize> = (0..count).map(|i| i * labelled.labels.len() / count).collect();
    let temperature = fit_temperature(weights, biases, labelled.queries, labelled.labels);
    let mut figures = MapFigures { chosen: "temperature", temperature, labels: picked.len(), tried: Vec::new() };
    let mut map = Map::of(temperature, Vec::new(), weights.rows());
    if picked.len() >= FEW {
        let float = FloatLayer { weights, biases, temperature: 1.0 };
        let cases: Vec<Case> = picked
            .par_iter()
            .map(|&at| Case { scores: scores(&float, labelled.queries.row(at)), label: labelled.labels[at] })
            .collect();
        let means = means(&cases);
        let all: Vec<usize> = (0..cases.len()).collect();
        let mut best = None;
        // The same temperature to start from in all parts: one number of hundreds of labels is what it is without a fifth of them.
        let plain = Map::of(temperature, means.clone(), weights.rows());
        let losses: Vec<f64> = cases.par_iter().map(|case| plain.loss(case)).collect();
        for name in ["biases", "scales"] {
            for prior in PRIORS {
                let of_part = |part: usize| {
                    let is_held = |at: usize| at * PARTS / cases.len() == part;
                    let (held, rest): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&at| is_held(at));
                    (plain.fitted(&cases, &rest, name == "scales", prior), held)
                };
                let parts: Vec<(Map, Vec<usize>)> = (0..PARTS).map(of_part).collect();
                let (softness, held_out) = softest(&cases, &parts);
                let gains: Vec<f64> = losses.iter().zip(held_out).map(|(plain, loss)| plain - loss).collect();
                let n = gains.len() as f64;
                let gain = gains.iter().sum::<f64>() / n;
                let error = (gains.iter().map(|x| (x - gain).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
                figures.tried.push(TriedMap { name, prior, gain: gain as f32, gain_error: error as f32 });
                if gain > error && best.is_none_or(|(most, _, _, _)| gain > most) {
                    best = Some((gain, name, prior, softness));
                }
            }
        }
        if let Some((_, name, prior, softness)) = best {
            figures.chosen = name;
            map = plain.fitted(&cases, &all, name == "scales", prior).softened(softness);
            figures.temperature = map.whole_temperature();
        }
    }
    let (weights, biases) = map.applied(weights, biases);
    Mapped { weights, biases, figures }
}

/// What scores are to be multiplied with so that labels held out are most probable, and their losses then: a map that was fitted
/// to some labels is too sure of others.
fn softest(cases: &[Case], parts: &[(Map, Vec<usize>)]) -> (f32, Vec<f64>) {
    let losses = |softness: f32| -> Vec<f64> {
        let of_part = |(map, held): &(Map, Vec<usize>)| {
            let map = map.clone().softened(softness);
            held.par_iter().map(|&at| map.loss(&cases[at])).collect::<Vec<f64>>()
        };
        parts.iter().flat_map(of_part).collect()
    };
    let tried = SOFTNESSES.map(|softness| (softness, losses(softness)));
    let sum = |losses: &[f64]| losses.iter().sum::<f64>();
    let best = tried.into_iter().min_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)));
    best.unwrap_or((1.0, Vec::new()))
}

/// Adds to the biases what a deployment with other shares of the classes asks for: ln of the new share over the old one.
/// A class of no share is masked.
pub(in crate::host) fn shifted(biases: &[f32], before: &[f32], after: &[f32]) -> Vec<f32> {
    let shift = |((bias, before), after): ((&f32, &f32), &f32)| {
        if *after > 0.0 { bias + (after / before.max(f32::MIN_POSITIVE)).ln() } else { f32::NEG_INFINITY }
    };
    biases.iter().zip(before).zip(after).map(shift).collect()
}

/// The scores of a query, and its label.
struct Case {
    scores: Vec<f32>,
    label: usize,
}

/// The mean score of each class.
fn means(cases: &[Case]) -> Vec<f32> {
    let mut sums = vec![0.0_f64; cases[0].scores.len()];
    for case in cases {
        sums.iter_mut().zip(&case.scores).for_each(|(sum, &score)| *sum += f64::from(score));
    }
    sums.iter().map(|sum| (sum / cases.len() as f64) as f32).collect()
}

impl Map {
    /// A temperature and nothing else.
    fn of(temperature: f32, means: Vec<f32>, classes: usize) -> Self {
        Self { temperature, sharpness: 1.0, means, factors: vec![1.0; classes], shifts: vec![0.0; classes] }
    }

    /// The score after the map, and what it is made of: the part that is sharpened, and the score before it less its mean.
    fn score(&self, class: usize, score: f32) -> (f32, f32, f32) {
        let centred = (score - self.means[class]) / self.temperature;
        let sharp = self.factors[class] * centred + self.means[class] / self.temperature;
        (self.sharpness * sharp + self.shifts[class], sharp, centred)
    }

    /// p of all classes.
    fn softmax(&self, case: &Case) -> Vec<f32> {
        let mut all: Vec<f32> = case.scores.iter().enumerate().map(|(class, &s)| self.score(class, s).0).collect();
        let most = all.iter().copied().filter(|s| !s.is_nan()).fold(f32::MIN, f32::max);
        // A masked class has a score of −∞, from which nothing can be taken away.
        all.iter_mut().for_each(|s| *s = if s.is_nan() { 0.0 } else { (*s - most).exp() });
        let sum: f64 = all.iter().map(|&p| f64::from(p)).sum();
        all.iter_mut().for_each(|p| *p = (f64::from(*p) / sum) as f32);
        all
    }

    fn loss(&self, case: &Case) -> f64 {
        -f64::from(self.softmax(case)[case.label].max(f32::MIN_POSITIVE)).ln()
    }

    /// The map that suits some of the cases and the prior best: by steps of Newton's method with the diagonal alone, each half as
    /// long as before where it leads up.
    fn fitted(&self, cases: &[Case], some: &[usize], has_factors: bool, prior: f32) -> Self {
        let (mut from, mut map, mut step) = (self.clone(), self.clone(), None);
        let (mut least, mut rate) = (f64::INFINITY, 1.0);
        for _ in 0..STEPS {
            let (loss, next) = map.step(cases, some, has_factors, prior);
            if loss <= least {
                (least, from, step) = (loss, map, Some(next));
                rate = (1.5_f32 * rate).min(1.0);
            } else {
                rate *= 0.25;
            }
            let Some(step) = &step else { break };
            map = from.moved(step, rate);
        }
        from
    }

    /// What is to be made less, and the way there: steps of sharpness, shifts and factors.
    fn step(&self, cases: &[Case], some: &[usize], has_factors: bool, prior: f32) -> (f64, (f32, Vec<[f32; 2]>)) {
        let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
        let of_chunk = |chunk: &[usize]| {
            // First and second derivatives by the shift and the factor of each class; by the sharpness; the loss.
            let (mut sums, mut sharp, mut loss) = (vec![[0.0_f32; 4]; self.shifts.len()], [0.0_f64; 2], 0.0);
            for &at in chunk {
                let case = &cases[at];
                let all = self.softmax(case);
                loss -= f64::from(all[case.label].max(f32::MIN_POSITIVE)).ln();
                let (mut mean, mut square) = (0.0_f64, 0.0_f64);
                for (class, p) in all.into_iter().enumerate() {
                    if p < NEGLIGIBLE && class != case.label {
                        continue;
                    }
                    let off = p - f32::from(u8::from(class == case.label));
                    let own = p * (1.0 - p);
                    let (_, sharpened, centred) = self.score(class, case.scores[class]);
                    let (sharpened, centred) = (finite(sharpened), self.sharpness * finite(centred));
                    let terms = [off, own, off * centred, own * centred * centred];
                    sums[class].iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                    sharp[0] += f64::from(off * sharpened);
                    mean += f64::from(p * sharpened);
                    square += f64::from(p * sharpened * sharpened);
                }
                sharp[1] += square - mean * mean;
            }
            (sums, sharp, loss)
        };
        let chunks: Vec<_> = some.par_chunks(some.len().div_ceil(8).max(1)).map(of_chunk).collect();
        let mut loss: f64 = chunks.iter().map(|chunk| chunk.2).sum();
        let narrow = prior * NARROWER;
        let steps = (0..self.shifts.len()).map(|class| {
            let sum = |at: usize| chunks.iter().map(|chunk| chunk.0[class][at]).sum::<f32>();
            let (shift, factor) = (self.shifts[class], self.factors[class] - 1.0);
            loss += 0.5 * f64::from(prior * shift * shift + narrow * factor * factor);
            let of_factor = (sum(2) + narrow * factor) / (DAMPING * sum(3) + narrow);
            [(sum(0) + prior * shift) / (DAMPING * sum(1) + prior), if has_factors { of_factor } else { 0.0 }]
        });
        let steps = steps.collect();
        let sharp = [0, 1].map(|at| chunks.iter().map(|chunk| chunk.1[at]).sum::<f64>());
        (loss, ((sharp[0] / (sharp[1] + 1.0)) as f32, steps))
    }

    fn moved(&self, (sharp, steps): &(f32, Vec<[f32; 2]>), rate: f32) -> Self {
        let mut map = self.clone();
        map.sharpness = (map.sharpness - rate * sharp).clamp(0.1, 10.0);
        for (class, [shift, factor]) in steps.iter().enumerate() {
            map.shifts[class] -= rate * shift;
            // A class whose score says nothing, or the opposite, is not turned round.
            map.factors[class] = (map.factors[class] - rate * factor).clamp(0.25, 4.0);
        }
        map
    }

    /// The same map, with all scores multiplied by this.
    fn softened(mut self, softness: f32) -> Self {
        self.sharpness *= softness;
        self.shifts.iter_mut().for_each(|shift| *shift *= softness);
        self
    }

    /// What scores are divided by.
    fn whole_temperature(&self) -> f32 {
        self.temperature / self.sharpness
    }

    fn applied(&self, weights: &Matrix, biases: &[f32]) -> (Matrix, Vec<f32>) {
        let temperature = self.whole_temperature();
        let data = weights
            .iter()
            .zip(&self.factors)
            .flat_map(|(row, factor)| row.iter().map(move |w| w * factor / temperature));
        let bias = |(class, bias): (usize, &f32)| {
            let mean = self.means.get(class).copied().filter(|mean| mean.is_finite()).unwrap_or(0.0);
            (bias * self.factors[class] + (1.0 - self.factors[class]) * mean) / temperature + self.shifts[class]
        };
        let biases = biases.iter().enumerate().map(bias).collect();
        (Matrix::new(data.collect(), weights.cols()).expect("whole rows"), biases)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::drawn;
    use super::*;
    use crate::host::{Kind, Layer};

    fn loss(weights: &Matrix, biases: &[f32], labelled: Labelled<'_>) -> f64 {
        let float = FloatLayer { weights, biases, temperature: 1.0 };
        let of = |(query, &label): (&[f32], &usize)| {
            let map = Map::of(1.0, vec![0.0; biases.len()], biases.len());
            map.loss(&Case { scores: scores(&float, query), label })
        };
        labelled.queries.iter().zip(labelled.labels).map(of).sum::<f64>() / labelled.labels.len() as f64
    }

    #[test]
    fn biases_that_are_off_are_found_and_a_layer_that_is_right_is_left_alone() {
        let layer = Layer::generate(40, 8, 1);
        let (one, other) = (layer.queries(Kind::LanguageModel, 2000, 2), layer.queries(Kind::LanguageModel, 1000, 3));
        let (labels, others) = (drawn(&layer, &one, 1.0), drawn(&layer, &other, 1.0));
        let test = Labelled { queries: &other, labels: &others };
        // The layer that the labels are drawn from, and one whose biases are off by up to 2 nats.
        let off: Vec<f32> = layer.biases.iter().enumerate().map(|(i, b)| b + (i as f32 * 1.7).sin() * 2.0).collect();
        for (biases, is_off) in [(&layer.biases, false), (&off, true)] {
            let labelled = Labelled { queries: &one, labels: &labels };
            let mapped = fit_map(&layer.weights, biases, labelled);
            let temperature = mapped.figures.temperature;
            let scaled: Vec<f32> = biases.iter().map(|b| b / temperature).collect();
            let weights = layer.weights.data().iter().map(|w| w / temperature).collect();
            let plain = loss(&Matrix::new(weights, 8).expect("whole rows"), &scaled, test);
            let found = loss(&mapped.weights, &mapped.biases, test);
            let truth = loss(&layer.weights, &layer.biases, test);
            assert!(found <= plain + 0.01, "{found} {plain}");
            assert!(found - truth < 0.05, "{found} {truth}: {:?}", mapped.figures);
            assert!(!is_off || plain - truth > 0.1);
            assert!(is_off == (mapped.figures.chosen != "temperature") || found <= plain);
        }
    }

    #[test]
    fn a_shift_of_the_labels_is_a_shift_of_the_biases() {
        let shifted = shifted(&[1.0, 2.0, 3.0], &[0.5, 0.25, 0.25], &[0.25, 0.75, 0.0]);
        assert!((shifted[0] - (1.0 - 2.0_f32.ln())).abs() < 1e-6 && (shifted[1] - (2.0 + 3.0_f32.ln())).abs() < 1e-6);
        assert_eq!(shifted[2], f32::NEG_INFINITY);
    }
}
