//! Thresholds of the sets of classes that hold the true one, and how often they do: see [`Sets`].
//!
//! k and λ are chosen for short lists; whatever they are, the threshold makes the promise. It is the order statistic of split
//! conformal prediction, half a standard error further out: the share that sets of a build hold in the long run is itself
//! spread around what was promised, by √(level·(1 − level)/labels), and would be below it for one build of two.

use core::fmt;

use serde::Serialize;

use super::{Labelled, confidence};
use crate::Error;
use crate::host::measure::each_answer;
use crate::model::{FileWriter, Model, ModelBuf, Section, SetRule, Sets};

/// The longest list of which the places are told apart. A promise that holds with it holds with any that is shorter.
const LIST: usize = 1024;

/// A list as a device has it, for figures.
const SHORT: usize = 16;

/// With fewer cases than this nothing is chosen.
const FEW: usize = 100;

/// What k and λ are chosen from; a penalty has to make lists shorter by this share.
const FREE: [u32; 2] = [1, 5];
const PENALTIES: [f32; 4] = [0.002, 0.01, 0.05, 0.2];
const WORTH: f64 = 0.98;

/// Standard errors by which a threshold is further out than the order statistic.
const MARGIN: f64 = 0.5;

/// Why there are no sets.
///
/// ```
/// use zhat::host::label::SetsError;
///
/// assert_eq!(SetsError::Labels { level: 0.9, found: 5, least: 9 }.to_string(), "sets of 90 % need 9 labels at least, there are 5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SetsError {
    /// Too few labels of familiar queries for a level.
    Labels {
        /// The level.
        level: f32,
        /// The labels that there are.
        found: usize,
        /// The labels that would be enough.
        least: usize,
    },
    /// A level that is no share between zero and one, or too many of them.
    Levels,
    /// The model was built without what tells whether a query is familiar.
    Unmeasured,
    /// The model refuses a query, or the section does not fit into the file.
    Model(Error),
}

impl fmt::Display for SetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labels { level, found, least } => {
                write!(f, "sets of {} % need {least} labels at least, there are {found}", level * 100.0)
            }
            Self::Levels => {
                write!(f, "sets have levels above 0 and below 1, and at most {} of them", Sets::MOST_LEVELS)
            }
            Self::Unmeasured => f.write_str("sets need a model that was measured on queries: give more of them"),
            Self::Model(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SetsError {}

impl From<Error> for SetsError {
    fn from(error: Error) -> Self {
        Self::Model(error)
    }
}

/// Stores in a model what makes sets of these levels, from labels that nothing else was made from.
///
/// `choice` are other labels, to choose the penalty on long lists by; without enough of them it is chosen by the same ones, of
/// which the promise is affected very little.
///
/// ```
/// use zhat::host::label::{Labelled, with_sets};
/// use zhat::host::{Kind, Layer, flat_model};
///
/// let layer = Layer::generate(60, 8, 1);
/// let queries = layer.queries(Kind::Classifier, 200, 2);
/// let labels: Vec<usize> = (0..200).map(|i| i % 60).collect(); // the true classes
/// let file = flat_model(&layer.weights, &layer.biases)?;
/// let file = with_sets(&file, Labelled { queries: &queries, labels: &labels }, None, &[0.8, 0.9])?;
/// assert_eq!(file.model().sets().map(|sets| sets.levels().count()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SetsError`].
pub fn with_sets(
    file: &ModelBuf,
    labelled: Labelled<'_>,
    choice: Option<Labelled<'_>>,
    levels: &[f32],
) -> Result<ModelBuf, SetsError> {
    if levels.is_empty() || levels.len() > Sets::MOST_LEVELS || !levels.iter().all(|&level| 0.0 < level && level < 1.0)
    {
        return Err(SetsError::Levels);
    }
    let model = file.model();
    if model.index().is_some() && model.trust().is_none() {
        return Err(SetsError::Unmeasured);
    }
    let estimated = Cases::of(&model, labelled, false)?;
    // Where there is no index these are the same.
    let exact = if model.index().is_some() { Some(Cases::of(&model, labelled, true)?) } else { None };
    let other = choice.map(|choice| Cases::of(&model, choice, false)).transpose()?;
    let by = other.as_ref().filter(|cases| cases.0.len() >= FEW).unwrap_or(&estimated);
    let rule = by.choose(levels);
    let mut stored = Vec::new();
    for &level in levels {
        let of_estimated = estimated.threshold(&rule, level)?;
        let of_exact = exact.as_ref().map_or(Ok(of_estimated), |cases| cases.threshold(&rule, level))?;
        stored.push([level, of_estimated, of_exact]);
    }
    let section = Sets::encode(estimated.0.len() as u32, (rule.free, rule.penalty), &stored);
    let mut writer = FileWriter::reopen(file)?;
    writer.optional(Section::Sets, &section);
    Ok(writer.into_model()?)
}

/// An answer as far as its sets go.
struct Case {
    /// The probabilities of the list, best first.
    list: Vec<f32>,
    /// The place of the true class; the end of the list if it is not there.
    place: usize,
}

/// Answers that have sets.
struct Cases(Vec<Case>);

impl Cases {
    fn of(model: &Model<'_>, labelled: Labelled<'_>, of_all_rows: bool) -> Result<Self, Error> {
        let cases = each_answer::<LIST, _>(model, labelled.queries, of_all_rows, |i, answer, _| {
            let place = answer.top.iter().position(|ranked| ranked.class as usize == labelled.labels[i]);
            let list: Vec<f32> = answer.top.iter().map(|ranked| ranked.p).collect();
            (answer.is_familiar() != Some(false)).then(|| Case { place: place.unwrap_or(list.len()), list })
        })?;
        Ok(Self(cases.into_iter().flatten().collect()))
    }

    /// τ of a level.
    fn threshold(&self, rule: &SetRule, level: f32) -> Result<f32, SetsError> {
        let endless = SetRule { threshold: f32::INFINITY, ..*rule };
        let s = |case: &Case| endless.walk(case.list.iter().copied().take(case.place)).1;
        let mut all: Vec<f32> = self.0.iter().map(s).collect();
        all.sort_by(f32::total_cmp);
        let share = f64::from(level);
        let plain = ((all.len() + 1) as f64 * share - 1e-6).ceil() as usize;
        let further = (plain as f64 + MARGIN * (all.len() as f64 * share * (1.0 - share)).sqrt()).round() as usize;
        let place = if further <= all.len() { further } else { plain };
        all.get(place.wrapping_sub(1)).copied().ok_or_else(|| SetsError::Labels {
            level,
            found: all.len(),
            least: (share / (1.0 - share) - 1e-6).ceil() as usize,
        })
    }

    /// The rule of the shortest lists, without its threshold.
    fn choose(&self, levels: &[f32]) -> SetRule {
        let plain = SetRule { free: 0, penalty: 0.0, threshold: 0.0 };
        let mut best = (plain, self.length(&plain, levels) * WORTH);
        for free in FREE {
            for penalty in PENALTIES {
                let rule = SetRule { free, penalty, threshold: 0.0 };
                let length = self.length(&rule, levels);
                if length < best.1 {
                    best = (rule, length);
                }
            }
        }
        best.0
    }

    /// Classes of a short list that are in the set, one more where there are others, summed over levels and cases.
    fn length(&self, rule: &SetRule, levels: &[f32]) -> f64 {
        let of_level = |&level: &f32| {
            let rule = SetRule { threshold: self.threshold(rule, level).unwrap_or(f32::INFINITY), ..*rule };
            let length = |case: &Case| rule.walk(case.list.iter().copied().take(SHORT + 1)).0 as f64;
            self.0.iter().map(length).sum::<f64>()
        };
        levels.iter().map(of_level).sum()
    }
}

/// How the sets of a level did on labels that nothing was made from.
///
/// ```
/// # use zhat::host::label::{Labelled, set_figures};
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
/// # let queries = layer.queries(zhat::host::Kind::Classifier, 20, 2);
/// let file = zhat::host::flat_model(&layer.weights, &layer.biases)?; // without sets
/// assert!(set_figures(&file.model(), Labelled { queries: &queries, labels: &[0; 20] }, None)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct SetFigures {
    /// The share that was promised.
    pub level: f32,
    /// Labels that the threshold was taken from.
    pub labels: u32,
    /// Queries that were asked.
    pub queries: usize,
    /// The share of them that have a set: the others are not familiar.
    pub answered: f32,
    /// The share of those with a set that hold the label, or say that there is more than the list of 1 024.
    pub coverage: f32,
    /// The lower end of its 95 % confidence interval.
    pub coverage_low: f32,
    /// The upper end.
    pub coverage_high: f32,
    /// The share of the sets that are whole in a list of 16 classes.
    pub whole: f32,
    /// The mean length of a set in a list of 16.
    pub short_mean: f32,
    /// The mean length of a set in a list of 1 024.
    pub size_mean: f32,
    /// `coverage` where all rows are scored.
    pub exact_coverage: f32,
    /// `short_mean` where all rows are scored.
    pub exact_short_mean: f32,
    /// `size_mean` where all rows are scored.
    pub exact_size_mean: f32,
    /// Coverage by how often the label was seen while building; empty where that is not known.
    pub groups: Vec<GroupFigures>,
}

/// Coverage of a group of classes.
///
/// ```
/// use zhat::host::label::GroupFigures;
///
/// let rare = |groups: &[GroupFigures]| groups.iter().find(|group| group.group == "rare").map(|group| group.coverage);
/// assert_eq!(rare(&[]), None);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct GroupFigures {
    /// "frequent": the classes that half of the labels of the build are of; "rare"; "unseen": of none of them.
    pub group: &'static str,
    /// Queries with a set whose label is of the group.
    pub queries: usize,
    /// The share of those that are covered.
    pub coverage: f32,
    /// The lower end of its 95 % confidence interval.
    pub coverage_low: f32,
    /// The upper end.
    pub coverage_high: f32,
}

/// Hits and queries of a share.
#[derive(Clone, Copy, Default)]
struct Share {
    hits: usize,
    count: usize,
}

impl Share {
    fn add(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.count += 1;
    }

    fn get(&self) -> f32 {
        self.hits as f32 / self.count.max(1) as f32
    }
}

/// What a list of this length would show of a set.
#[derive(Clone, Copy)]
struct Seen {
    covered: bool,
    len: usize,
    short: usize,
    whole: bool,
}

/// Measures the sets of a model, one of each level; nothing if it has none. `building` are the labels that it was built with.
///
/// ```
/// use zhat::host::label::{Labelled, set_figures, with_sets};
/// use zhat::host::{Kind, Layer, flat_model};
///
/// let layer = Layer::generate(60, 8, 1);
/// let labels: Vec<usize> = (0..200).map(|i| i % 60).collect(); // the true classes
/// let (one, other) = (layer.queries(Kind::Classifier, 200, 2), layer.queries(Kind::Classifier, 200, 3));
/// let file = flat_model(&layer.weights, &layer.biases)?;
/// let file = with_sets(&file, Labelled { queries: &one, labels: &labels }, None, &[0.9])?;
/// let found = set_figures(&file.model(), Labelled { queries: &other, labels: &labels }, Some(&labels))?;
/// assert!(found[0].coverage_high > 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error`], for the first query that the model refuses.
pub fn set_figures(
    model: &Model<'_>,
    test: Labelled<'_>,
    building: Option<&[usize]>,
) -> Result<Vec<SetFigures>, Error> {
    let Some(sets) = model.sets() else { return Ok(Vec::new()) };
    let levels: Vec<f32> = sets.levels().collect();
    let groups = building.map(|labels| groups(labels, model.classes()));
    let seen = |of_all_rows: bool| {
        each_answer::<LIST, _>(model, test.queries, of_all_rows, |i, answer, _| {
            let of_level = |&level: &f32| {
                let set = answer.set(model, level)?;
                let holds = set.classes.iter().any(|ranked| ranked.class as usize == test.labels[i]);
                let (len, more) = (set.classes.len(), set.more);
                let whole = !more && len <= SHORT;
                Some(Seen { covered: holds || more, len, short: len.min(SHORT), whole })
            };
            levels.iter().map(of_level).collect::<Vec<_>>()
        })
    };
    let (estimated, exact) = (seen(false)?, seen(true)?);
    let of_level = |(at, &level): (usize, &f32)| {
        let figures = |all: &[Vec<Option<Seen>>]| {
            let some: Vec<Seen> = all.iter().filter_map(|levels| levels[at]).collect();
            let mut coverage = Share::default();
            some.iter().for_each(|seen| coverage.add(seen.covered));
            let mean = |of: fn(&Seen) -> usize| some.iter().map(of).sum::<usize>() as f32 / some.len().max(1) as f32;
            (coverage, mean(|seen| seen.short), mean(|seen| seen.len), mean(|seen| usize::from(seen.whole)))
        };
        let (coverage, short_mean, size_mean, whole) = figures(&estimated);
        let (of_exact, exact_short_mean, exact_size_mean, _) = figures(&exact);
        let mut shares = [Share::default(); GROUPS.len()];
        for (levels, &label) in estimated.iter().zip(test.labels) {
            if let (Some(groups), Some(seen)) = (&groups, levels[at]) {
                shares[groups[label]].add(seen.covered);
            }
        }
        let group = |(&group, share): (&&'static str, &Share)| {
            let (coverage_low, coverage_high) = confidence(share.hits, share.count);
            GroupFigures { group, queries: share.count, coverage: share.get(), coverage_low, coverage_high }
        };
        let (coverage_low, coverage_high) = confidence(coverage.hits, coverage.count);
        SetFigures {
            level,
            labels: sets.labels(),
            queries: test.labels.len(),
            answered: coverage.count as f32 / test.labels.len().max(1) as f32,
            coverage: coverage.get(),
            coverage_low,
            coverage_high,
            whole,
            short_mean,
            size_mean,
            exact_coverage: of_exact.get(),
            exact_short_mean,
            exact_size_mean,
            groups: groups.iter().flat_map(|_| GROUPS.iter().zip(&shares).map(group)).collect(),
        }
    };
    Ok(levels.iter().enumerate().map(of_level).collect())
}

/// Names of the groups.
const GROUPS: [&str; 3] = ["frequent", "rare", "unseen"];

/// The group of each class, by how often it is among the labels of the build.
fn groups(labels: &[usize], classes: usize) -> Vec<usize> {
    let mut counts = vec![0_usize; classes];
    labels.iter().for_each(|&label| counts[label] += 1);
    let mut order: Vec<usize> = (0..classes).collect();
    order.sort_by_key(|&class| core::cmp::Reverse(counts[class]));
    let (mut before, mut groups) = (0, vec![2; classes]);
    for class in order {
        if counts[class] > 0 {
            groups[class] = usize::from(2 * before >= labels.len());
        }
        before += counts[class];
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::tests::drawn;
    use super::*;
    use crate::host::{Kind, Layer, flat_model};

    #[test]
    fn classes_of_half_of_the_labels_are_frequent() {
        assert_eq!(groups(&[1, 1, 1, 3, 0, 3, 1, 2], 5), [1, 0, 1, 1, 2]);
    }

    #[test]
    fn sets_cover_what_they_promise_even_of_a_layer_that_is_wrong() {
        let layer = Layer::generate(300, 8, 1);
        for temperature in [1.0, 3.0] {
            let (one, other) =
                (layer.queries(Kind::LanguageModel, 3000, 2), layer.queries(Kind::LanguageModel, 3000, 3));
            let (labels, others) = (drawn(&layer, &one, temperature), drawn(&layer, &other, temperature));
            let file = flat_model(&layer.weights, &layer.biases).expect("valid");
            let made = Labelled { queries: &one, labels: &labels };
            let file = with_sets(&file, made, None, &[0.8, 0.9, 0.95]).expect("labels enough");
            let test = Labelled { queries: &other, labels: &others };
            for found in set_figures(&file.model(), test, Some(&labels)).expect("valid") {
                let error = (2.0 * found.level * (1.0 - found.level) / 3000.0).sqrt();
                assert!((found.coverage - found.level).abs() < 3.0 * error, "{temperature}: {found:?}");
                assert!(found.groups.iter().map(|group| group.queries).sum::<usize>() == 3000);
            }
        }
    }

    #[test]
    fn a_level_needs_labels_enough() {
        let layer = Layer::generate(60, 8, 1);
        let queries = layer.queries(Kind::Classifier, 18, 2);
        let file = flat_model(&layer.weights, &layer.biases).expect("valid");
        let labelled = Labelled { queries: &queries, labels: &[0; 18] };
        assert!(with_sets(&file, labelled, None, &[0.9]).is_ok());
        let error = with_sets(&file, labelled, None, &[0.95]).expect_err("too few");
        assert_eq!(error, SetsError::Labels { level: 0.95, found: 18, least: 19 });
        for wrong in [&[][..], &[1.0], &[0.0], &[f32::NAN], &[0.5; 9]] {
            assert!(with_sets(&file, labelled, None, wrong).is_err(), "{wrong:?}");
        }
    }
}
