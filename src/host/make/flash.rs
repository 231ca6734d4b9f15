//! A file that fits the flash: parts are left out in the order of what they cost.
//!
//! Bounds on the nodes come first: answers are the same without them, only what is certain can't be told. Then links at fewer
//! rows and larger leaves, the largest file that is expected to fit first.

use super::{MakeError, Maker, Step, add_lookup};
use crate::host::BuildError;
use crate::host::build::{Built, Plan, Targets};
use crate::kernels;
use crate::model::{FileWriter, Measured, Names, Recognition, Section, Sets};
use crate::rows::Indices;

impl Maker<'_> {
    /// Bytes that no choice can save: rows, scales, biases, their order, and names.
    pub(super) fn fixed_bytes(&self) -> usize {
        let (n, index) = (self.weights.rows(), if Indices::are_short(self.weights.rows()) { 2 } else { 4 });
        let orders = if self.request.lookup { 2 } else { 1 };
        let names = self.request.names.map_or(0, |names| Names::encode(names).len());
        n * (self.request.targets.bits.row_bytes(self.weights.cols()) + 2 + orders * index) + names
    }

    /// The size of the finished file.
    fn size(&self, built: &Built) -> Result<usize, MakeError> {
        let empty = Measured::default();
        let mut file = FileWriter::reopen(&built.model).map_err(BuildError::File)?;
        file.optional(Section::Measured, &empty.to_words());
        if self.request.lookup {
            add_lookup(&mut file, &built.model);
        }
        if !self.request.sets.is_empty() {
            let levels: Vec<[f32; 3]> = self.request.sets.iter().map(|&level| [level; 3]).collect();
            file.optional(Section::Sets, &Sets::encode(0, (0, 0.0), &levels));
        }
        if let Some(unknown) = self.request.unknown {
            let row = vec![0; self.request.targets.bits.row_len(unknown.cols().next_multiple_of(kernels::ROW_ALIGN))];
            file.optional(Section::Known, &Recognition::encode([0; 2], [0.0; 5], 0.0, 0.0, &row));
        }
        if let Some(names) = self.request.names {
            file.optional(Section::Names, &Names::encode(names));
        }
        Ok(file.finish().map_err(BuildError::File)?.len())
    }

    /// Less and less, until it fits.
    pub(super) fn smaller(
        &self,
        built: Built,
        targets: &Targets,
        limit: usize,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Built, MakeError> {
        if self.size(&built)? <= limit {
            return Ok(built);
        }
        let built = without_bounds(built)?;
        let size = self.size(&built)?;
        let plan = match &built.index {
            Ok(chosen) if size > limit => chosen.plan,
            _ => return Ok(built),
        };
        let links = length(&built, Section::Links) + length(&built, Section::LinkedRows);
        let nodes = size.saturating_sub(self.fixed_bytes() + links);
        let expected = |step: &Plan| {
            let link_share = step.links as f32 * step.linked / (plan.links.max(1) as f32 * plan.linked);
            let node_share = plan.leaf as f32 / step.leaf as f32;
            self.fixed_bytes() + (links as f32 * link_share + nodes as f32 * node_share) as usize
        };
        let mut steps = Vec::new();
        for factor in [1, 2, 4, 8] {
            for step in self.thinner(&plan).map(|step| Plan { leaf: plan.leaf * factor, ..step }) {
                if step != plan && !steps.contains(&step) {
                    steps.push(step);
                }
            }
        }
        steps.sort_by_key(|step| core::cmp::Reverse(expected(step)));
        let mut least = size;
        let last = steps.len().saturating_sub(1);
        for (i, step) in steps.into_iter().enumerate() {
            // Leaves are not filled evenly: what is a twentieth too large may still fit.
            if expected(&step) > limit + limit / 20 && i < last {
                continue;
            }
            let targets = Targets { plans: vec![step], linked: Some(step.linked), ..targets.clone() };
            let built = self.build(&targets, &mut |stage| progress(Step::Smaller(step, stage)))?;
            let built = without_bounds(built)?;
            let size = self.size(&built)?;
            if size <= limit {
                return Ok(built);
            }
            least = least.min(size);
        }
        Err(MakeError::Flash { limit, least, rows: self.fixed_bytes() })
    }

    /// The plan, then with less and less for links, at last with none. Queries say which rows need them; without queries all
    /// rows have fewer.
    fn thinner(&self, plan: &Plan) -> impl Iterator<Item = Plan> + use<> {
        let (plan, is_taught) = (*plan, self.queries.is_some());
        let fewer = move |part: usize| {
            if is_taught {
                Plan { linked: plan.linked / part as f32, ..plan }
            } else {
                Plan { links: plan.links / part, ..plan }
            }
        };
        [1, 2, 4].map(fewer).into_iter().chain([Plan { links: 0, ..plan }])
    }
}

/// The length of a section; zero if there is none.
fn length(built: &Built, section: Section) -> usize {
    let model = built.model.model();
    model.sections().find(|&(kind, _)| kind == section.kind()).map_or(0, |(_, len)| len)
}

/// Without the bounds on its nodes.
fn without_bounds(built: Built) -> Result<Built, MakeError> {
    let mut file = FileWriter::reopen(&built.model).map_err(BuildError::File)?;
    file.leave_out(Section::NodeBounds);
    Ok(Built { model: file.into_model().map_err(BuildError::File)?, ..built })
}
