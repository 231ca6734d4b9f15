//! What p of the best class is worth: calibration with its uncertainty, Brier score, accuracy of the surest answers.

use serde::Serialize;

use crate::host::label::confidence;

/// Bins with the same number of answers in each.
const BINS: usize = 15;
/// Draws of the bootstrap, and of answers that are calibrated.
const DRAWS: usize = 200;
/// Classes that are the best of fewer answers than this are taken together.
const FEW: usize = 10;
/// Shares of the answers, the surest ones, whose accuracy is told.
const SHARES: [f32; 5] = [0.25, 0.5, 0.75, 0.9, 1.0];

/// Figures of the best class's p against labels.
///
/// ```
/// use zhat::host::evaluate::{LabelFigures, TopAnswers};
///
/// let mut answers = TopAnswers::default();
/// (0..1000).for_each(|i| answers.add(7, 0.8, i % 5 != 0));
/// let LabelFigures { ece, ece_high, ece_by_chance, .. } = answers.figures();
/// assert!(ece < 0.03 && ece_high < 0.05 && ece_by_chance > 0.0);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct LabelFigures {
    /// Expected calibration error: |mean p − accuracy| over 15 bins with equally many answers.
    pub ece: f32,
    /// The lower end of the 95 % interval of the error once what chance adds is taken off, by a bootstrap of the answers.
    pub ece_low: f32,
    /// The upper end.
    pub ece_high: f32,
    /// What `ece` would be of as many answers with the same p if they were calibrated: chance alone makes it larger than zero.
    pub ece_by_chance: f32,
    /// |mean p − accuracy| of the answers with the same best class, in the mean over answers; classes with fewer than ten answers
    /// are taken together.
    pub classwise_ece: f32,
    /// Mean (p − 1)² of answers that are right and p² of those that are wrong.
    pub brier: f32,
    /// The mean share of wrong answers among the surest, over all shares of the answers: the area under the risk–coverage curve.
    pub risk_area: f32,
    /// The accuracy of the surest answers.
    pub surest: Vec<Surest>,
}

/// The accuracy of the answers with the largest p.
///
/// ```
/// use zhat::host::evaluate::TopAnswers;
///
/// let mut answers = TopAnswers::default();
/// answers.add(3, 0.9, true);
/// answers.add(4, 0.2, false);
/// let half = &answers.figures().surest[1];
/// assert_eq!((half.share, half.accuracy, half.p), (0.5, 1.0, 0.9));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Surest {
    /// Which share of the answers.
    pub share: f32,
    /// The least p of one of them.
    pub p: f32,
    /// The share of them whose best class is the label.
    pub accuracy: f32,
    /// The lower end of its 95 % confidence interval.
    pub accuracy_low: f32,
    /// The upper end.
    pub accuracy_high: f32,
}

/// The best class of each answer, its p, and whether it is the label.
///
/// ```
/// let mut answers = zhat::host::evaluate::TopAnswers::default();
/// answers.add(3, 1.0, false);
/// assert_eq!(answers.figures().brier, 1.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct TopAnswers(Vec<(u32, f32, bool)>);

impl TopAnswers {
    /// Adds an answer.
    pub fn add(&mut self, class: u32, p: f32, hit: bool) {
        let p = if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) };
        self.0.push((class, p, hit));
    }

    /// Computes the figures.
    pub fn figures(&self) -> LabelFigures {
        let mut answers = self.0.clone();
        answers.sort_by(|a, b| b.1.total_cmp(&a.1));
        let n = answers.len();
        let ece = ece(answers.iter().map(|&(_, p, hit)| (p, hit)), n);
        let mut random = Random(1);
        let drawn: Vec<f32> = (0..DRAWS)
            .map(|_| {
                let mut times = vec![0_u32; n];
                (0..n).for_each(|_| times[random.below(n)] += 1);
                let again =
                    answers.iter().zip(&times).flat_map(|(&(_, p, hit), &times)| (0..times).map(move |_| (p, hit)));
                self::ece(again, n)
            })
            .collect();
        let by_chance: f32 =
            (0..DRAWS).map(|_| self::ece(answers.iter().map(|&(_, p, _)| (p, random.share() < p)), n)).sum();
        // A draw is off from the answers as those are off from what they stand for.
        let mut off: Vec<f32> = drawn.iter().map(|drawn| 2.0 * ece - drawn).collect();
        off.sort_by(f32::total_cmp);
        let brier: f64 = answers.iter().map(|&(_, p, hit)| f64::from(p - f32::from(u8::from(hit))).powi(2)).sum();
        let (mut wrong, mut risks) = (0_usize, 0.0_f64);
        for (place, &(_, _, hit)) in answers.iter().enumerate() {
            wrong += usize::from(!hit);
            risks += wrong as f64 / (place + 1) as f64;
        }
        let mean = |sum: f64| (sum / n.max(1) as f64) as f32;
        let surest = |&share: &f32| {
            let count = ((f64::from(share) * n as f64).round() as usize).clamp(n.min(1), n);
            let hits = answers[..count].iter().filter(|answer| answer.2).count();
            let (accuracy_low, accuracy_high) = confidence(hits, count);
            let p = answers[..count].last().map_or(0.0, |answer| answer.1);
            Surest { share, p, accuracy: hits as f32 / count.max(1) as f32, accuracy_low, accuracy_high }
        };
        LabelFigures {
            ece,
            ece_low: off[DRAWS / 40].clamp(0.0, 1.0),
            ece_high: off[DRAWS - 1 - DRAWS / 40].clamp(0.0, 1.0),
            ece_by_chance: by_chance / DRAWS as f32,
            classwise_ece: classwise(&answers),
            brier: mean(brier),
            risk_area: mean(risks),
            surest: SHARES.iter().map(surest).collect(),
        }
    }
}

/// The expected calibration error of so many answers in the order of their p.
fn ece(answers: impl Iterator<Item = (f32, bool)>, count: usize) -> f32 {
    let mut bins = [(0.0_f64, 0.0_f64); BINS];
    for (place, (p, hit)) in answers.enumerate() {
        let (sum, hits) = &mut bins[place * BINS / count.max(1)];
        *sum += f64::from(p);
        *hits += f64::from(u8::from(hit));
    }
    (bins.iter().map(|(sum, hits)| (sum - hits).abs()).sum::<f64>() / count.max(1) as f64) as f32
}

fn classwise(answers: &[(u32, f32, bool)]) -> f32 {
    let mut classes: std::collections::BTreeMap<u32, (usize, f64)> = std::collections::BTreeMap::new();
    for &(class, p, hit) in answers {
        let (count, off) = classes.entry(class).or_default();
        *count += 1;
        *off += f64::from(p) - f64::from(u8::from(hit));
    }
    let (mut sum, mut others) = (0.0, 0.0);
    for &(count, off) in classes.values() {
        if count < FEW { others += off } else { sum += off.abs() }
    }
    ((sum + others.abs()) / answers.len().max(1) as f64) as f32
}

/// Numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, limit: usize) -> usize {
        ((self.next() * limit as u64) >> 31) as usize
    }

    fn share(&mut self) -> f32 {
        self.next() as f32 / (1_u64 << 31) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with p from 0.1 to 0.9 that are right with the chance `right(p)`.
    fn answers(count: usize, right: impl Fn(f32) -> f32) -> LabelFigures {
        let mut random = Random(7);
        let mut answers = TopAnswers::default();
        for i in 0..count {
            let p = 0.1 + 0.8 * random.share();
            answers.add(i as u32 % 20, p, random.share() < right(p));
        }
        answers.figures()
    }

    #[test]
    fn calibrated_answers_have_the_error_of_chance_and_others_have_more() {
        let good = answers(4000, |p| p);
        assert!(good.ece < 2.0 * good.ece_by_chance && good.ece_low < 0.005, "{good:?}");
        assert!(good.classwise_ece < 0.05);
        // Off by one part in twenty.
        let bad = answers(4000, |p| p - 0.05);
        assert!(bad.ece_low > 0.025 && bad.ece_high < 0.075, "{bad:?}");
        assert!(bad.ece_low <= bad.ece && bad.ece <= bad.ece_high + bad.ece_by_chance);
    }

    #[test]
    fn the_surest_answers_are_those_of_the_largest_p() {
        let found = answers(4000, |p| p);
        let accuracies: Vec<f32> = found.surest.iter().map(|surest| surest.accuracy).collect();
        assert!(accuracies.is_sorted_by(|a, b| a >= b) && accuracies[0] > 0.75, "{accuracies:?}");
        assert!((accuracies[4] - 0.5).abs() < 0.03);
        assert!(found.risk_area < 0.4);
        // E(p − hit)² = E p(1 − p) = 0.25 − 0.8²/12.
        assert!((found.brier - (0.25 - 0.64 / 12.0)).abs() < 0.01, "{}", found.brier);
    }

    #[test]
    fn no_answers_and_one_have_figures() {
        assert_eq!(TopAnswers::default().figures().ece, 0.0);
        let mut one = TopAnswers::default();
        one.add(0, f32::NAN, false);
        assert_eq!(one.figures().surest.len(), SHARES.len());
    }
}
