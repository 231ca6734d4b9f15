//! Which queries and labels are for what: to tune on, to fit the map from scores to probabilities, to take the thresholds of
//! sets from, and to report on. No query is in two of them, but that the map is fitted on queries that are tuned on as well.

use core::ops::Range;

use super::Request;
use crate::host::Matrix;
use crate::host::label::Labelled;

/// With fewer queries than this there is nothing to put aside.
const FEW: usize = 80;

/// Queries that are the parts of a request.
#[derive(Default)]
pub(super) struct Parts {
    /// To tune on, where that is not all.
    pub tune: Option<Matrix>,
    /// To report on, where that was put aside.
    pub held: Option<Matrix>,
    fit: Option<Own>,
    sets: Option<Own>,
    test: Option<Own>,
}

struct Own {
    queries: Matrix,
    labels: Vec<usize>,
}

impl Own {
    fn of(queries: &Matrix, labels: &[usize], range: Range<usize>) -> Option<Self> {
        Some(Self { queries: rows(queries, range.clone())?, labels: labels[range].to_vec() })
    }

    fn labelled(&self) -> Labelled<'_> {
        Labelled { queries: &self.queries, labels: &self.labels }
    }
}

impl Parts {
    /// The last fifth of the queries is reported on, unless there are others for that. Sets have the fifth before it, or, of
    /// labelled queries that are not tuned on, whatever is neither for the map, three tenths, nor to report on.
    pub fn of(request: &Request<'_>) -> Self {
        let mut parts = Self::default();
        let has_sets = !request.sets.is_empty();
        let own = request.labels.filter(|_| request.labelled.is_none());
        if let Some(queries) = request.queries {
            let n = queries.rows();
            let part = if n < FEW { 0 } else { n / 5 };
            let end = if request.report.is_some() { n } else { n - part };
            let first = if own.is_some() && has_sets { end - part } else { end };
            if first < n {
                parts.tune = rows(queries, 0..first);
                parts.held = rows(queries, end..n);
            }
            if let Some(labels) = own {
                parts.fit = Own::of(queries, labels, 0..first);
                parts.sets = Own::of(queries, labels, first..end);
                parts.test = Own::of(queries, labels, end..n);
            }
        }
        if let (Some(queries), Some(labels)) = (request.labelled, request.labels) {
            let n = queries.rows();
            let end = if request.report_labels.is_some() { n } else { n - n / 5 };
            let first = match (has_sets, request.fit_temperature || request.fit_map) {
                (true, false) => 0,
                (true, true) => 3 * n / 10,
                (false, _) => end,
            };
            parts.fit = Own::of(queries, labels, 0..first);
            parts.sets = Own::of(queries, labels, first..end);
            parts.test = Own::of(queries, labels, end..n);
        }
        if let (Some(queries), Some(labels)) = (request.report, request.report_labels) {
            parts.test = Own::of(queries, labels, 0..queries.rows());
        }
        parts
    }

    /// To fit the map from scores to probabilities on, and to choose by.
    pub fn fit(&self) -> Option<Labelled<'_>> {
        self.fit.as_ref().map(Own::labelled)
    }

    /// To take the thresholds of sets from.
    pub fn sets(&self) -> Option<Labelled<'_>> {
        self.sets.as_ref().map(Own::labelled)
    }

    /// To report on.
    pub fn test(&self) -> Option<Labelled<'_>> {
        self.test.as_ref().map(Own::labelled)
    }

    /// The labels that something is made from.
    pub fn building(&self) -> Vec<usize> {
        [&self.fit, &self.sets].into_iter().flatten().flat_map(|own| own.labels.iter().copied()).collect()
    }
}

/// Some rows of a matrix; `None` if there are none.
fn rows(queries: &Matrix, range: Range<usize>) -> Option<Matrix> {
    let cols = queries.cols();
    let data = queries.data()[range.start * cols..range.end * cols].to_vec();
    Matrix::new(data, cols).filter(|part| part.rows() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queries that are their own numbers, from the first on.
    fn queries(count: usize, first: usize) -> Matrix {
        Matrix::new((first..first + count).map(|i| i as f32).collect(), 1).expect("one column")
    }

    fn seen(labelled: Option<Labelled<'_>>) -> Vec<usize> {
        let Some(Labelled { queries, labels }) = labelled else { return Vec::new() };
        assert!(queries.iter().zip(labels).all(|(query, &label)| query[0] as usize == label));
        labels.to_vec()
    }

    #[test]
    fn no_label_is_for_two_purposes() {
        let (weights, biases) = (queries(3, 0), [0.0; 3]);
        let (own, other, report) = (queries(200, 0), queries(100, 1000), queries(50, 2000));
        let (own_labels, other_labels, report_labels) = (labels_of(&own), labels_of(&other), labels_of(&report));
        let levels = [0.9];
        for (labelled, labels) in [(None, &own_labels), (Some(&other), &other_labels)] {
            for given in [None, Some(&report)] {
                for sets in [&levels[..], &[]] {
                    for fit_temperature in [false, true] {
                        let request = Request {
                            queries: Some(&own),
                            labels: Some(labels),
                            labelled,
                            report: given,
                            report_labels: given.map(|_| &report_labels[..]),
                            sets,
                            fit_temperature,
                            ..Request::new(&weights, &biases)
                        };
                        let parts = Parts::of(&request);
                        let all = [seen(parts.fit()), seen(parts.sets()), seen(parts.test())];
                        assert_eq!(all[1].is_empty(), sets.is_empty());
                        assert!(!all[2].is_empty());
                        let mut together = all.concat();
                        let count = together.len();
                        together.sort_unstable();
                        together.dedup();
                        assert_eq!(together.len(), count);
                        // What is tuned on is neither for sets nor reported on.
                        let tuned = parts.tune.as_ref().map_or_else(|| own_labels.clone(), labels_of);
                        let held = parts.held.as_ref().map(labels_of).unwrap_or_default();
                        assert!(tuned.iter().all(|i| !all[1].contains(i) && !all[2].contains(i) && !held.contains(i)));
                    }
                }
            }
        }
    }

    fn labels_of(matrix: &Matrix) -> Vec<usize> {
        matrix.data().iter().map(|&x| x as usize).collect()
    }
}
