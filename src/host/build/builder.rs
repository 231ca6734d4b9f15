//! From a quantised layer to the best index for it: trees are compared, links and budgets tried on the best of them, and what is chosen is
//! taught by all queries but those that are to prove it.

use super::asking::{self, Asking, MOST_LOOKED_AT, MOST_LOOKED_AT_TO_CHOOSE};
use super::index::{Grown, Index, Source, Taught};
use super::parts::Parts;
use super::shift::Shift;
use super::tune::{self, Judge};
use super::{NoIndex, Plan, Stage, Targets, Trial, TrialResult, links, thin};
use crate::host::{BuildError, Matrix, cost, measure};
use crate::math::Log2;
use crate::model::{Budget, ModelBuf, Section, Settings};

/// What comes first in the list of plans is best most often: a later one takes its place if its cost is below this share of
/// it. Smaller differences are the luck of the queries.
const CLEARLY: f32 = 0.96;
/// With more rows than this, work that no search can keep to is an error; with fewer, all rows are scored.
const SMALL: usize = 4096;

/// What a build has to work with.
pub struct Builder<'a> {
    pub weights: &'a Matrix,
    pub source: &'a Source,
    pub parts: &'a Parts,
    /// Queries as they will come.
    pub like: &'a Matrix,
    pub targets: &'a Targets,
}

/// The state of a search for the best plan.
struct Search<'b> {
    builder: &'b Builder<'b>,
    taught: Option<Taught<'b>>,
    judge: Judge<'b>,
    most_links: usize,
    near: Option<(f32, Vec<Vec<u32>>)>,
    trials: Vec<Trial>,
    /// The least cap of any tree.
    least: usize,
}

impl Builder<'_> {
    /// The best plan and budget, and every trial.
    pub fn search(
        &self,
        with_queries: bool,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<Result<(Trial, Vec<Trial>), NoIndex>, BuildError> {
        let rows = self.source.rows.len();
        let plans = self.targets.plans(with_queries, rows);
        let plans: Vec<Plan> =
            plans.into_iter().map(|plan| Plan { linked: self.targets.linked.unwrap_or(1.0), ..plan }).collect();
        let most_links = plans.iter().map(|plan| plan.links).max().unwrap_or(0);
        let taught = self.parts.learn.as_ref().map(|queries| {
            progress(Stage::Teach);
            Taught::new(self.source, queries, most_links)
        });
        let judge = Judge::new(self.targets, &self.parts.tune, taught.as_ref().map(Taught::best), rows);
        let mut search =
            Search { builder: self, taught, judge, most_links, near: None, trials: Vec::new(), least: usize::MAX };
        let best = match search.best_tree(&plans, progress)? {
            Some(plan) => search.best_links_and_budget(&plan)?,
            None => None,
        };
        let Some(best) = best else {
            let (asked, least) = ((self.targets.work * rows as f32) as usize, search.least);
            let is_small = rows <= SMALL;
            return if is_small {
                Ok(Err(NoIndex::Work { asked, least }))
            } else {
                Err(BuildError::Work { asked, least, rows })
            };
        };
        let stride = self.source.rows.dim.next_multiple_of(crate::kernels::ROW_ALIGN);
        let bits = self.targets.bits;
        let searching = cost::search_instructions(f64::from(best.result.work) * rows as f64, stride, bits);
        if searching >= cost::exact_instructions(rows, stride, bits) && !self.targets.always_index {
            return Ok(Err(NoIndex::Cheaper));
        }
        Ok(Ok((best, search.trials)))
    }

    /// The chosen index, taught by all queries but those that are to prove it.
    pub fn finish(&self, best: &Trial, log_z_of_zero: Log2) -> Result<ModelBuf, BuildError> {
        let plan = &best.plan;
        let grown = Grown::new(self.source, plan, self.like, self.targets.seed);
        let queries = self.parts.learn_and_tune.as_ref();
        let taught = queries.map(|queries| Taught::new(self.source, queries, plan.links));
        let learned = taught.as_ref().and_then(|taught| grown.learn(taught));
        let near = grown.nearest(plan.links);
        let mut index = grown.index(plan, learned.as_deref(), taught.as_ref(), &near);
        let mut settings = best.settings(log_z_of_zero);
        let made_up = self.for_each_class(taught.as_ref(), MOST_LOOKED_AT);
        let asking = Asking::all(&index, settings, taught.as_ref(), made_up.as_ref())?;
        index.reach(settings, &asking)?;
        if taught.is_none() {
            let draft = index.draft(settings)?;
            let found = measure::outcomes(&draft.model(), &self.parts.tune, &settings.budget)?;
            let truths = measure::truths(&draft.model(), &self.parts.tune)?;
            settings.far_factor = Log2::from_nats(tune::far_factor(&found, &truths));
        }
        if let Some(taught) = &taught {
            let draft = index.draft(settings)?;
            let found = measure::outcomes(&draft.model(), taught.queries, &settings.budget)?;
            if let Some(shift) =
                Shift::fit(&self.source.spectrum, taught.queries, &found, &taught.log_z(), best.far_factor)
            {
                index.shift(&shift);
            }
        }
        index.assemble(settings)
    }

    /// The rows alone.
    pub fn without_index(&self, log_z_of_zero: Log2) -> Result<ModelBuf, BuildError> {
        let mut file = self.source.rows.start_file(None);
        let settings = Settings {
            budget: Budget { cap: self.source.rows.len() as u32, epsilon: 0.0, expand: 0 },
            far_factor: Log2::default(),
            temperature: 1.0,
            frontier_words: 0,
            log_z_of_zero,
        };
        file.required(Section::Settings, &settings.to_words());
        Ok(file.into_model()?)
    }

    fn for_each_class(&self, taught: Option<&Taught<'_>>, looked_at: f32) -> Option<Matrix> {
        asking::for_each_class(self.weights, self.source, taught, self.targets, looked_at)
    }
}

impl Search<'_> {
    /// The best plan of all trees that keep to the cap, links and budgets left as they are.
    fn best_tree(&mut self, plans: &[Plan], progress: &mut dyn FnMut(Stage)) -> Result<Option<Plan>, BuildError> {
        let Builder { source, like, targets, .. } = *self.builder;
        let cap = (targets.cap.max(targets.work) * source.rows.len() as f32) as usize;
        let trees: Vec<&[Plan]> = plans.chunk_by(Plan::has_the_tree_of).collect();
        let mut best: Option<(Plan, f32)> = None;
        for (i, plans) in trees.iter().enumerate() {
            progress(Stage::Try(i + 1, trees.len() + 1));
            let grown = Grown::new(source, &plans[0], like, targets.seed);
            self.least = self.least.min(grown.hierarchy.least_cap());
            if grown.hierarchy.least_cap() > cap {
                continue;
            }
            let learned = self.taught.as_ref().and_then(|taught| grown.learn(taught));
            self.find_nearest(&grown, plans[0].blend);
            for plan in *plans {
                let index = grown.index(plan, learned.as_deref(), self.taught.as_ref(), self.nearest());
                let (trial, cost) = self.judge.try_once(&index, plan)?;
                if best.as_ref().is_none_or(|&(_, least)| cost < CLEARLY * least) {
                    best = Some((trial.plan, cost));
                }
                self.trials.push(trial);
            }
        }
        progress(Stage::Try(trees.len() + 1, trees.len() + 1));
        Ok(best.map(|(plan, _)| plan))
    }

    /// The best that keeps to the work of what can be done with a tree; nothing where none does.
    fn best_links_and_budget(&mut self, first: &Plan) -> Result<Option<Trial>, BuildError> {
        let Builder { source, like, targets, .. } = *self.builder;
        let grown = Grown::new(source, first, like, targets.seed);
        let learned = self.taught.as_ref().and_then(|taught| grown.learn(taught));
        self.find_nearest(&grown, first.blend);
        let (taught, near) = (self.taught.as_ref(), self.near.as_ref().map_or(&[][..], |(_, near)| near));
        let settings = self.judge.provisional(first, &self.trials);
        let made_up = taught.and_then(|taught| self.builder.for_each_class(Some(taught), MOST_LOOKED_AT_TO_CHOOSE));
        let asking = match taught {
            Some(_) => {
                let index = grown.index(first, learned.as_deref(), taught, near);
                Asking::all(&index, settings, taught, made_up.as_ref())?
            }
            None => Vec::new(),
        };
        let index = |plan: &Plan| -> Result<Index<'_>, BuildError> {
            let mut index = grown.index(plan, learned.as_deref(), taught, near);
            index.reach(settings, &asking)?;
            Ok(index)
        };
        // Links from joint appearance, with and without: each kind is worth something on its own.
        let kinds: &[bool] = if first.joint_links && taught.is_some() { &[true, false] } else { &[false] };
        for &joint_links in kinds {
            let plan = Plan { joint_links, ..*first };
            self.trials.extend(self.judge.try_all(&index(&plan)?, &plan)?);
        }
        let eligible = self.trials.iter().filter(|trial| self.judge.keeps_to_work(trial));
        let best = eligible.min_by(|a, b| a.result.cost().total_cmp(&b.result.cost())).cloned();
        match best {
            Some(best) if taught.is_some() && targets.linked.is_none() => {
                thin::fewest_links(&self.judge, best, index, &mut self.trials).map(Some)
            }
            best => Ok(best),
        }
    }

    /// Finds the nearest rows in a tree's metric; once for each metric where the tree does not matter.
    fn find_nearest(&mut self, grown: &Grown<'_>, blend: f32) {
        let is_known = self.near.as_ref().is_some_and(|(of, _)| *of == blend);
        if !is_known || !links::is_the_same_for_every_tree(&self.builder.source.rows) {
            self.near = Some((blend, grown.nearest(self.most_links)));
        }
    }

    fn nearest(&self) -> &[Vec<u32>] {
        self.near.as_ref().map_or(&[], |(_, near)| near)
    }
}

/// The best of the trials with the tree of the one that was chosen that follow no links.
pub fn without_links(best: &Trial, trials: &[Trial]) -> Option<TrialResult> {
    let same = |trial: &&Trial| trial.budget.expand == 0 && trial.plan.has_the_tree_of(&best.plan);
    let others = trials.iter().filter(same).min_by(|a, b| a.result.cost().total_cmp(&b.result.cost()));
    others.filter(|_| best.budget.expand > 0).map(|trial| trial.result.clone())
}
