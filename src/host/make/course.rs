//! Which part of the whole time each step takes: one build with all plans, and builds with one plan for limits on the
//! error or the size.

use super::{Doing, Request, STEPS, Stage, Step, Task};
use crate::host::build::effort::{Effort, Layer};
use crate::host::build::{Plan, Targets};

/// Where things stand, in the unit of [`Effort`].
pub(super) struct Course {
    temperature: f64,
    /// The build that is on, and a further one.
    build: f64,
    again: f64,
    report: f64,
    /// Before the build that is on.
    done: f64,
    all: f64,
}

impl Course {
    /// Of a request with so many queries to tune on and to report on.
    pub fn new(request: &Request<'_>, queries: Option<usize>, held: Option<usize>) -> Self {
        let (rows, cols) = (request.weights.rows(), request.weights.cols());
        let layer = Layer { rows: rows as f64, cols: cols as f64 };
        let total = |plans: Vec<Plan>| {
            let targets = Targets { plans, ..request.targets.clone() };
            Effort::new(rows, cols, queries, &targets).total()
        };
        let mut plans = request.knobs.apply(request.targets.plans(queries.is_some(), rows));
        let first = total(plans.clone());
        plans.truncate(1);
        let again = total(plans);
        let temperature = match queries {
            Some(queries) if request.fit_temperature || request.fit_map => layer.exact(queries),
            _ => 0.0,
        };
        let report = held.map_or(0.0, |held| layer.exact(2 * held) + layer.search(held, request.targets.work));
        // A bisection halves the works that are left.
        let bisection = if request.max_error.is_some() { again * (STEPS as f64).log2().ceil() } else { 0.0 };
        let all = temperature + first + bisection + report;
        Self { temperature, build: first, again, report, done: temperature, all }
    }

    pub fn temperature(&self) -> Step {
        self.step(Doing::Temperature, 0.0, self.temperature)
    }

    /// A stage of the build that is on.
    pub fn stage(&self, stage: Stage, doing: impl FnOnce(Task) -> Doing) -> Step {
        let at = |share: f32| self.done + f64::from(share) * self.build;
        self.step(doing(stage.task), at(stage.from), at(stage.to))
    }

    /// A build with one plan begins behind another.
    pub fn next(&mut self) {
        self.done += self.build;
        self.build = self.again;
        // A bisection may take a step more than was expected.
        self.all = self.all.max(self.done + self.build + self.report);
    }

    /// The same, and it was not planned.
    pub fn one_more(&mut self) {
        self.all += self.again;
        self.next();
    }

    pub fn report(&self) -> Step {
        self.step(Doing::Report, self.all - self.report, self.all)
    }

    fn step(&self, doing: Doing, from: f64, to: f64) -> Step {
        Step { doing, from: (from / self.all) as f32, to: (to / self.all) as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Matrix;

    fn stage(from: f32, to: f32) -> Stage {
        Stage { task: Task::Finish, from, to }
    }

    #[test]
    fn steps_follow_each_other_from_nothing_to_all() {
        let weights = Matrix::new(vec![0.0; 8 * 5000], 8).unwrap();
        let biases = vec![0.0; 5000];
        let request = Request { fit_temperature: true, max_error: Some(0.01), ..Request::new(&weights, &biases) };
        let mut course = Course::new(&request, Some(1000), Some(200));
        let mut steps = vec![course.temperature()];
        for _ in 0..4 {
            steps.push(course.stage(stage(0.0, 0.5), Doing::Build));
            steps.push(course.stage(stage(0.5, 1.0), Doing::Build));
            course.next();
        }
        steps.push(course.stage(stage(0.0, 1.0), Doing::Build));
        steps.push(course.report());
        assert_eq!(steps[0].from, 0.0);
        assert!(steps.windows(2).all(|pair| (pair[0].to - pair[1].from).abs() < 1e-5), "{steps:?}");
        assert!((steps[steps.len() - 1].to - 1.0).abs() < 1e-5);
    }

    #[test]
    fn what_was_not_planned_adds_to_the_whole() {
        let weights = Matrix::new(vec![0.0; 8 * 5000], 8).unwrap();
        let biases = vec![0.0; 5000];
        let mut course = Course::new(&Request::new(&weights, &biases), Some(1000), Some(200));
        for _ in 0..20 {
            let before = course.stage(stage(0.0, 1.0), Doing::Build);
            course.one_more();
            let after = course.stage(stage(0.0, 1.0), Doing::Build);
            assert!(after.to <= 1.0 && after.to > after.from && after.from < before.to);
        }
    }
}
