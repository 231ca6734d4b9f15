//! How long the stages of a build take beside each other, for whoever shows the time that is left.
//!
//! The unit is a nanosecond of the host that the factors were measured on (10 000 × 64 to 200 000 × 32, 2 000 to 16 000
//! queries); on another one only the ratios count. They are within a factor of about two.

use super::asking::{self, MOST_LOOKED_AT, MOST_LOOKED_AT_TO_CHOOSE};
use super::links::BRUTE_FORCE;
use super::parts::Sizes;
use super::tune::{SEARCHES, SEARCHES_TO_CHOOSE};
use super::{Plan, Stage, Targets, Task};

/// The stages of a build in their order, and what each takes.
#[derive(Clone, Debug)]
pub(crate) struct Effort(Vec<(Task, f64)>);

impl Effort {
    /// Of a layer of `rows` × `cols` with so many calibration queries.
    pub fn new(rows: usize, cols: usize, queries: Option<usize>, targets: &Targets) -> Self {
        let plans = targets.plans(queries.is_some(), rows);
        let trees: Vec<&[Plan]> = plans.chunk_by(Plan::has_the_tree_of).collect();
        let Sizes { learn, tune, prove } = Sizes::new(queries);
        let layer = Layer { rows: rows as f64, cols: cols as f64 };
        let all = queries.unwrap_or(tune);
        let tree = layer.grow(all) + layer.learn(learn);
        // Rows that stand in for queries are surrounded by others: a search goes further for them.
        let harder = if queries.is_none() { 2.5 } else { 1.0 };
        let search = harder * layer.search(tune, targets.work);
        let trial = |searches: usize| layer.exact(tune) + searches as f64 * search;
        let mut stages = vec![(Task::Quantise, layer.quantise())];
        if learn > 0 {
            stages.push((Task::Teach, layer.teach(learn)));
        }
        let of = trees.len() + 1;
        // In a small layer the nearest rows are the same for every tree of one metric.
        let mut blend = None;
        for (i, plans) in trees.iter().enumerate() {
            let is_known = rows <= BRUTE_FORCE && blend.replace(plans[0].blend) == Some(plans[0].blend);
            let near = if is_known { 0.0 } else { layer.near() };
            stages.push((Task::Try(i + 1, of), tree + near + plans.len() as f64 * trial(SEARCHES)));
        }
        let kinds = if learn > 0 { 2.0 } else { 1.0 };
        let reach = |asked: usize, times: f64| layer.search(asked, targets.work) * (asking::FURTHER as f64 + times);
        let made_up = |looked_at: f32| asking::how_many(rows, targets.work, looked_at).min(2 * rows);
        let asked = if learn > 0 { learn + made_up(MOST_LOOKED_AT_TO_CHOOSE) } else { 0 };
        let choice = kinds * trial(SEARCHES_TO_CHOOSE) + reach(asked, kinds + 1.0);
        stages.push((Task::Try(of, of), tree + layer.near() + choice));
        let taught = if learn > 0 { layer.teach(learn + tune) + layer.learn(tune) } else { 0.0 };
        stages.push((Task::Finish, tree + taught + layer.near() + reach(learn + tune + made_up(MOST_LOOKED_AT), 1.0)));
        if prove > 0 {
            let proof = layer.exact(all + 2 * prove) + layer.search(all + prove, targets.work);
            stages.push((Task::Prove, proof));
        }
        Self(stages)
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.0.iter().map(|(_, effort)| effort).sum()
    }

    /// The stage with its share of the whole.
    pub fn stage(&self, task: Task) -> Stage {
        let before = self.0.iter().take_while(|(other, _)| *other != task).map(|(_, effort)| effort).sum::<f64>();
        let own = self.0.iter().find(|(other, _)| *other == task).map_or(0.0, |(_, effort)| *effort);
        let share = |effort: f64| (effort / self.total()) as f32;
        Stage { task, from: share(before), to: share(before + own) }
    }
}

/// What is done with a layer of this size.
pub(crate) struct Layer {
    pub rows: f64,
    pub cols: f64,
}

impl Layer {
    /// Scoring all rows for so many queries.
    pub fn exact(&self, queries: usize) -> f64 {
        0.08 * queries as f64 * self.rows * (self.cols + 40.0)
    }

    /// Searching for so many queries with this share of the rows.
    pub fn search(&self, queries: usize, work: f32) -> f64 {
        0.05 * queries as f64 * f64::from(work) * self.rows * (self.cols + 180.0)
    }

    fn quantise(&self) -> f64 {
        20.0 * self.rows * (self.cols + 30.0)
    }

    /// The best rows of the queries, and, in a small layer, of a query for each row.
    fn teach(&self, queries: usize) -> f64 {
        let made_up = if self.rows <= BRUTE_FORCE as f64 { 1.3 * self.rows } else { 0.0 };
        0.018 * (queries as f64 + made_up) * self.rows * (self.cols + 70.0)
    }

    /// Clusters and moments.
    fn grow(&self, queries: usize) -> f64 {
        60.0 * self.rows * (self.cols + 60.0) + 2.0 * self.rows * queries as f64
    }

    /// The corrections of the nodes.
    fn learn(&self, queries: usize) -> f64 {
        0.04 * self.rows * queries as f64 * (self.cols + 110.0)
    }

    /// The nearest rows of each, among all or in its region.
    fn near(&self) -> f64 {
        let among = if self.rows <= BRUTE_FORCE as f64 { self.rows } else { 4096.0 };
        0.013 * self.rows * among * (self.cols + 30.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::build::build;
    use crate::host::{Kind, Layer as Generated};

    #[test]
    fn stages_follow_each_other_from_nothing_to_all() {
        for queries in [None, Some(40), Some(150), Some(2000)] {
            let effort = Effort::new(10_000, 64, queries, &Targets::default());
            let mut end = 0.0;
            for &(task, _) in &effort.0 {
                let stage = effort.stage(task);
                assert!((stage.from - end).abs() < 1e-5 && stage.to >= stage.from, "{queries:?}: {stage:?}");
                end = stage.to;
            }
            assert!((end - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn every_stage_of_a_build_is_in_it_and_in_its_order() {
        let layer = Generated::generate(500, 8, 1);
        let queries = layer.queries(Kind::LanguageModel, 400, 1);
        for queries in [None, Some(&queries)] {
            let targets = Targets { always_index: true, work: 0.3, cap: 0.6, ..Targets::default() };
            let effort = Effort::new(500, 8, queries.map(|queries| queries.rows()), &targets);
            let mut seen = Vec::new();
            build(&layer.weights, &layer.biases, queries, &targets, &mut |stage| seen.push(stage.task)).unwrap();
            assert_eq!(seen, effort.0.iter().map(|(task, _)| *task).collect::<Vec<_>>());
        }
    }

    /// Beside seconds that were measured.
    #[test]
    fn stages_are_as_long_as_they_were_within_a_factor_of_three() {
        let measured = [
            // rows, cols, quantise, teach, first tree, choice, finish, prove
            (10_000, 64, [0.019, 0.792, 0.337, 1.162, 1.343, 0.151]),
            (200_000, 32, [0.106, 0.452, 3.384, 5.961, 7.526, 2.720]),
            (100_000, 100, [0.131, 0.270, 2.783, 4.658, 7.663, 1.705]),
        ];
        for (rows, cols, seconds) in measured {
            let effort = Effort::new(rows, cols, Some(1600), &Targets::default());
            let of = effort.0.iter().filter(|(task, _)| matches!(task, Task::Try(..))).count();
            let tasks = [Task::Quantise, Task::Teach, Task::Try(1, of), Task::Try(of, of), Task::Finish, Task::Prove];
            let expected = tasks.map(|task| effort.0.iter().find(|(other, _)| *other == task).unwrap().1);
            let scale = seconds.iter().sum::<f64>() / expected.iter().sum::<f64>();
            for ((task, expected), measured) in tasks.iter().zip(expected).zip(seconds) {
                let ratio = scale * expected / measured;
                assert!((0.33..3.0).contains(&ratio), "{rows}×{cols}, {task:?}: {ratio}");
            }
        }
    }
}
