//! The sums and lists behind one estimator's figures.

use super::figures::TopAnswers;
use super::method::{Answer, Method};
use super::quality::Reliability;
use super::report::EstimatorReport;
use super::truth::{Exact, FloatLayer, Rows};
use crate::host::linear;

/// The limit on errors: JSON has no infinity.
const MOST_ERROR: f32 = 1e9;

/// The tolerance between scores of the integer kernel and of a float product.
const SAME: f32 = 1e-4;

/// A running mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    /// Adds a value.
    pub fn add(&mut self, value: f32) {
        self.sum += f64::from(value);
        self.count += 1;
    }

    /// Returns the mean; `None` without values.
    pub fn get(&self) -> Option<f32> {
        (self.count > 0).then(|| (self.sum / self.count as f64) as f32)
    }
}

/// The facts about a query, apart from an estimator's answers.
pub struct Case<'a> {
    /// The quantised layer's exact answer.
    pub exact: &'a Exact,
    /// The float layer's exact answer, if the layer was given.
    pub float: Option<Float<'a>>,
    /// The label and its score in the quantised layer.
    pub label: Option<(usize, f32)>,
    /// True if the best class is the best of no calibration query; `None` without calibration queries.
    pub unseen: Option<bool>,
}

/// A float layer's exact answer to a query.
pub struct Float<'a> {
    /// The answer.
    pub exact: &'a Exact,
    /// The layer.
    pub layer: FloatLayer<'a>,
    /// The query.
    pub query: &'a [f32],
}

impl Float<'_> {
    /// Returns true if this is the best class, or one of equal score.
    fn is_best(&self, class: u32) -> bool {
        let &(best, score) = &self.exact.top[0];
        class == best || self.layer.score(class as usize, self.query) > score - SAME
    }
}

impl Case<'_> {
    /// Returns the true probability of a class: the float layer's if it was given, else the quantised layer's, given
    /// the class's score in it.
    fn p(&self, class: u32, score: f32) -> f32 {
        match &self.float {
            Some(float) => (float.layer.score(class as usize, float.query) - float.exact.log_z).exp(),
            None => (score - self.exact.log_z).exp().min(1.0),
        }
    }
}

/// The number of classes in a list whose intervals are checked.
const OTHERS: usize = 5;

/// One estimator's answers so far.
pub struct Tally {
    method: Method,
    seeds: usize,
    k: usize,
    errors: Vec<f32>,
    works: Vec<u32>,
    float_error: Mean,
    dp: Mean,
    recall: Mean,
    float_recall: Mean,
    recall_k: Mean,
    unseen_recall: Mean,
    coverage: Mean,
    coverage_of_others: Mean,
    width: Mean,
    familiar: Mean,
    /// Best classes against labels.
    answers: Option<TopAnswers>,
    rejected: Mean,
    /// Probabilities against labels.
    pub reliability: Option<Reliability>,
}

impl Tally {
    /// Starts without answers.
    pub fn new(method: Method, seeds: usize, k: usize, labelled: bool) -> Self {
        let none = Mean::default();
        Self {
            method,
            seeds,
            k,
            errors: Vec::new(),
            works: Vec::new(),
            float_error: none,
            dp: none,
            recall: none,
            float_recall: none,
            recall_k: none,
            unseen_recall: none,
            coverage: none,
            coverage_of_others: none,
            width: none,
            familiar: none,
            answers: labelled.then(TopAnswers::default),
            rejected: none,
            reliability: labelled.then(Reliability::default),
        }
    }

    /// Adds an answer.
    pub fn add(&mut self, answer: &Answer, case: &Case<'_>) {
        let Case { exact, float, label, unseen, .. } = case;
        let error = |log_z: f32| (answer.log_z - log_z).exp_m1().abs().min(MOST_ERROR);
        self.errors.push(error(exact.log_z));
        self.works.push(answer.work);
        let (true_class, true_score) = exact.top.first().copied().unwrap_or((0, f32::NEG_INFINITY));
        let names = self.method.names_classes();
        // A method that names no class gets the best one; a method that should name one and does not has none.
        let asked = if names { None } else { Some((true_class, true_score)) };
        let found = answer.top.first().copied().or(asked);
        let score = found.map_or(f32::NEG_INFINITY, |(_, score)| score);
        let p = (score - answer.log_z).exp().min(1.0);
        if let Some(float) = float {
            self.float_error.add(error(float.exact.log_z));
            self.dp.add((p - float.exact.top_p()).abs());
        }
        if names {
            let share = |hit: bool| f32::from(u8::from(hit));
            let hit = found.is_some_and(|(class, score)| class == true_class || score > true_score - SAME);
            self.recall.add(share(hit));
            if *unseen == Some(true) {
                self.unseen_recall.add(share(hit));
            }
            if let Some(float) = float {
                self.float_recall.add(share(found.is_some_and(|(class, _)| float.is_best(class))));
            }
            let best = &exact.top[..self.k.min(exact.top.len())];
            let found =
                best.iter().filter(|(class, _)| answer.top.iter().take(self.k).any(|(c, _)| c == class)).count();
            self.recall_k.add(found as f32 / best.len().max(1) as f32);
        }
        if let Some((low, high)) = answer.sampled {
            let exact_p = (score - exact.log_z).exp().min(1.0);
            let (low, high) = (p * low, (p * high).min(1.0));
            self.coverage.add(f32::from(u8::from(found.is_some() && holds((low, high), exact_p))));
            self.width.add(high - low);
        }
        for (place, (&interval, &(class, score))) in answer.intervals.iter().zip(&answer.top).take(OTHERS).enumerate() {
            let covered = f32::from(u8::from(holds(interval, case.p(class, score))));
            if place == 0 {
                self.coverage.add(covered);
                self.width.add(interval.1 - interval.0);
            } else {
                self.coverage_of_others.add(covered);
            }
        }
        if let Some(familiar) = answer.familiar {
            self.familiar.add(f32::from(u8::from(familiar)));
        }
        if let (Some((label, _)), Some(answers)) = (label, &mut self.answers) {
            let class = found.map_or(u32::MAX, |(class, _)| class);
            answers.add(class, p, class as usize == *label);
        }
        if let Some(rejected) = answer.rejected {
            self.rejected.add(f32::from(u8::from(rejected)));
        }
        if let (Some((label, label_score)), Some(reliability)) = (label, &mut self.reliability) {
            let hit = found.is_some_and(|(class, _)| class as usize == *label);
            let asked = found.filter(|_| answer.top.is_empty());
            reliability.add(p, hit, p_of_label(answer, asked, exact, (*label as u32, *label_score)));
        }
    }

    /// Computes the figures.
    pub fn report(&mut self, classes: usize, time_us: f32, exact_us: f32) -> EstimatorReport {
        self.errors.sort_by(f32::total_cmp);
        self.works.sort_unstable();
        let mut errors = Mean::default();
        self.errors.iter().for_each(|&error| errors.add(error));
        let mut works = Mean::default();
        self.works.iter().for_each(|&work| works.add(work as f32 / classes as f32));
        let work = |share: f64| quantile(&self.works, share).unwrap_or(0) as f32 / classes as f32;
        let error = |share: f64| quantile(&self.errors, share).unwrap_or(0.0);
        let quality = self.reliability.as_ref().map(Reliability::quality);
        EstimatorReport {
            name: self.method.name(),
            seeds: self.seeds,
            work_mean: works.get().unwrap_or(0.0),
            work_p95: work(0.95),
            work_max: work(1.0),
            err_mean: errors.get().unwrap_or(0.0),
            err_median: error(0.5),
            err_p95: error(0.95),
            err_p99: error(0.99),
            err_float_mean: self.float_error.get(),
            dp_mean: self.dp.get(),
            recall_at_1: self.recall.get(),
            float_recall_at_1: self.float_recall.get(),
            recall_at_k: self.recall_k.get(),
            k: self.k,
            unseen_recall_at_1: self.unseen_recall.get(),
            coverage95: self.coverage.get(),
            coverage95_others: self.coverage_of_others.get(),
            familiar: self.familiar.get(),
            rejected: self.rejected.get(),
            interval_width: self.width.get(),
            accuracy: quality.map(|quality| quality.accuracy),
            log_loss: quality.map(|quality| quality.log_loss),
            ece: quality.map(|quality| quality.ece),
            figures: self.answers.as_ref().map(TopAnswers::figures),
            time_us,
            time_ratio_to_exact: time_us / exact_us.max(1e-9),
        }
    }
}

/// Returns p of the label in the distribution that an answer stands for, which adds up to one whatever its Ẑ.
///
/// A class that the answer names has exp(score)/Ẑ, as the device says. All others share what that leaves of one in proportion to
/// their own exp(score), for which each is scored here. An Ẑ that is too small takes from them, one that is too large from those that
/// are named: no error of Ẑ makes labels more probable in the mean. `asked` is the class that a method is asked for which names none.
fn p_of_label(answer: &Answer, asked: Option<(u32, f32)>, exact: &Exact, (label, score): (u32, f32)) -> f32 {
    let p_exact = f64::from(score - exact.log_z).exp();
    // Rounding alone: what is left of one would be nothing else.
    if (answer.log_z - exact.log_z).abs() < ROUNDING {
        return p_exact as f32;
    }
    let named = || answer.top.iter().copied().chain(asked);
    let share = |log_z: f32| named().map(|(_, score)| f64::from(score - log_z).exp()).sum::<f64>();
    let of_named: Vec<f32> = named().map(|(_, score)| score).collect();
    // What is named alone may be more than Ẑ, which may not even be positive.
    let log_z = answer.log_z.max(linear::log_sum_exp(&of_named));
    if named().any(|(class, _)| class == label) {
        return f64::from(score - log_z).exp() as f32;
    }
    let left = (1.0 - share(log_z)).max(0.0);
    (left * p_exact / (1.0 - share(exact.log_z)).max(p_exact).max(f64::MIN_POSITIVE)) as f32
}

/// Sums of the integer kernel and of float products agree to this.
const ROUNDING: f32 = 2e-5;

/// Returns true if a probability is in an interval, with a tolerance for exact answers: their interval has no width,
/// and the rounding of a float product is no miss.
pub(crate) fn holds((low, high): (f32, f32), p: f32) -> bool {
    (low - 2e-5..=high + 2e-5).contains(&p)
}

/// Returns the smallest value that this share of a sorted list does not exceed.
fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.clamp(1, sorted.len().max(1)) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_a_class_is_a_miss() {
        let exact = Exact { log_z: 1.0, top: vec![(7, 0.5)], spread: 1.0 };
        let answer = |top: &[(u32, f32)]| Answer {
            log_z: 1.0,
            top: top.iter().copied().collect(),
            intervals: heapless::Vec::new(),
            familiar: None,
            rejected: None,
            sampled: Some((0.9, 1.1)),
            work: 1,
        };
        let report = |method: Method| {
            let mut tally = Tally::new(method, 1, 5, true);
            for top in [&[(7, 0.5)][..], &[]] {
                let case = Case { exact: &exact, float: None, label: Some((7, 0.5)), unseen: Some(true) };
                tally.add(&answer(top), &case);
            }
            tally.report(10, 1.0, 1.0)
        };
        let found = report(Method::Moments);
        let shares = [found.recall_at_1, found.recall_at_k, found.unseen_recall_at_1, found.coverage95, found.accuracy];
        assert_eq!(shares, [Some(0.5); 5]);
        // A method that estimates Z only does not have to name a class.
        assert_eq!(report(Method::Uniform).recall_at_1, None);
        assert_eq!(report(Method::Uniform).accuracy, Some(1.0));
    }

    /// Four classes, labels as often as the layer says: the loss of each Ẑ, for an answer that names so many.
    fn loss(ln_factor: f32, named: usize) -> f32 {
        let scores = [2.0f32, 1.0, 0.0, -1.0];
        let log_z = scores.iter().map(|score| score.exp()).sum::<f32>().ln();
        let top: Vec<(u32, f32)> = (0..4).map(|class| (class, scores[class as usize])).collect();
        let exact = Exact { log_z, top: top.clone(), spread: 1.0 };
        let answer = Answer {
            log_z: log_z + ln_factor,
            top: top.iter().take(named).copied().collect(),
            intervals: heapless::Vec::new(),
            familiar: None,
            rejected: None,
            sampled: None,
            work: 1,
        };
        let asked = answer.top.is_empty().then_some((0, 2.0));
        let p = |class: u32| f64::from(p_of_label(&answer, asked, &exact, (class, scores[class as usize])));
        let all: f64 = (0..4).map(p).sum();
        assert!(all < 1.0 + 1e-5, "{all}");
        assert!(named == 4 || ln_factor < 0.0 || all > 1.0 - 1e-5, "{all} with {named} of ln {ln_factor}");
        let loss = |class: u32| -f64::from((scores[class as usize] - log_z).exp()) * p(class).max(1e-38).ln();
        (0..4).map(loss).sum::<f64>() as f32
    }

    #[test]
    fn no_estimate_of_z_has_a_smaller_loss_than_z() {
        for named in 0..=4 {
            let least = loss(0.0, named);
            assert!((least - 0.9475).abs() < 1e-3, "{least}");
            let mut last = least;
            for step in 1..30 {
                // Far too large, and far too small: ln Z is 2.44, so that this takes in Ẑ = 1.
                let (large, small) = (loss(0.1 * step as f32, named), loss(-0.1 * step as f32, named));
                assert!(large >= last - 1e-6 && small >= least - 1e-6, "{named} {step}: {large} {small} {least}");
                last = large;
            }
        }
        assert!(loss(-2.44, 0) > 2.0 * loss(0.0, 0), "Z = 1 is no good answer");
    }

    #[test]
    fn quantiles_are_values_of_the_list() {
        let list: Vec<u32> = (1..=100).collect();
        assert_eq!([0.0, 0.5, 0.95, 1.0].map(|share| quantile(&list, share)), [Some(1), Some(50), Some(95), Some(100)]);
        assert_eq!(quantile::<u32>(&[], 0.5), None);
        assert_eq!(quantile(&[7], 0.5), Some(7));
    }
}
