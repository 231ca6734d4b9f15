//! Describes a model file in words and numbers: its content, its size, and the needs of a device.

use serde::Serialize;

use super::{cost, warnings};
use crate::host::evaluate::ModelSummary;
use crate::math::Log2;
use crate::model::Section;
use crate::{Budget, Model};

/// The mean probability of the best class from which on a layer is called confident.
const CONFIDENT: f32 = 0.7;

/// A description of a model file.
///
/// ```
/// use zhat::host::report::describe::Description;
///
/// let description = Description::of(&zhat::doc_example().model());
/// assert!(description.tree.is_none() && description.sections.len() == 3);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// Sizes and budget.
    pub model: ModelSummary,
    /// The size of each section.
    pub sections: Vec<SectionSize>,
    /// The shape of the tree, if there is one.
    pub tree: Option<TreeShape>,
    /// The norms of the rows.
    pub norms: Range,
    /// The biases in nats, without those of masked classes.
    pub biases: Range,
    /// The difference between one bias and the next larger one, in nats: biases are rounded to sixteen bits.
    pub bias_step: f32,
    /// The scale of int8 activations, if the layer takes them.
    pub input: Option<InputFigures>,
    /// "flat" or "confident", if queries were measured.
    pub layer: Option<&'static str>,
    /// The figures that were measured when the file was built.
    pub measured: Option<MeasuredFigures>,
    /// The figures behind intervals and thresholds, if there were enough queries.
    pub trust: Option<TrustFigures>,
    /// The needs of a device.
    pub needs: Needs,
    /// True if the classes have names.
    pub names: bool,
    /// Problems of the model, in sentences; see [`warnings`].
    pub warnings: Vec<String>,
}

/// A section and its size.
///
/// ```
/// let description = zhat::host::report::describe::Description::of(&zhat::host::input::read_model("models/next_word.zhat")?.model());
/// for section in description.sections {
///     println!("{}: {} bytes", section.name, section.bytes);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct SectionSize {
    /// Its number in the file.
    pub kind: u16,
    /// Its name.
    pub name: &'static str,
    /// Its length.
    pub bytes: usize,
    /// Its purpose.
    pub purpose: &'static str,
}

/// The shape of a tree.
///
/// ```
/// let description = zhat::host::report::describe::Description::of(&zhat::host::input::read_model("models/next_word.zhat")?.model());
/// let tree = description.tree.expect("an index");
/// assert!(tree.leaves < tree.nodes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct TreeShape {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of nodes without a parent.
    pub top: usize,
    /// The number of nodes without children.
    pub leaves: usize,
    /// The number of nodes on the longest path down.
    pub depth: usize,
    /// The most children of a node.
    pub branching: usize,
    /// The mean number of rows of a leaf.
    pub leaf_rows_mean: f32,
    /// The most rows of a leaf.
    pub leaf_rows_max: usize,
}

/// The smallest, mean and largest of some values.
///
/// ```
/// let description = zhat::host::report::describe::Description::of(&zhat::host::input::read_model("models/next_word.zhat")?.model());
/// assert!(description.norms.min <= description.norms.max);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Range {
    /// The smallest value.
    pub min: f32,
    /// The mean.
    pub mean: f32,
    /// The largest value.
    pub max: f32,
}

/// The scale of int8 activations, see [`InputScale`](crate::model::InputScale).
///
/// ```
/// let description = zhat::host::report::describe::Description::of(&zhat::host::input::read_model("models/import/int8_head.zhat")?.model());
/// assert!(description.input.is_some_and(|input| input.scale > 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InputFigures {
    /// The factor of an activation less the zero point.
    pub scale: f32,
    /// The activation that stands for zero.
    pub zero_point: i8,
}

/// Figures measured on held-out queries.
///
/// ```
/// let description = zhat::host::report::describe::Description::of(&zhat::host::input::read_model("models/next_word.zhat")?.model());
/// assert!(description.measured.expect("queries").recall_at_1 > 0.95);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeasuredFigures {
    /// The number of queries.
    pub queries: u32,
    /// The mean error of Z, |Ẑ−Z|/Z.
    pub err_mean: f32,
    /// Recall of the best class.
    pub recall_at_1: f32,
    /// Coverage of the 95 % interval.
    pub coverage95: Option<f32>,
    /// Mean work.
    pub work_mean: f32,
    /// Largest work.
    pub work_max: f32,
    /// Mean probability of the best class.
    pub top_p_mean: f32,
    /// Mean standard deviation of a query's scores.
    pub score_spread: f32,
}

/// The figures behind intervals and thresholds, see [`Trust`](crate::model::Trust).
///
/// ```
/// let description = zhat::host::report::describe::Description::of(&zhat::host::input::read_model("models/next_word.zhat")?.model());
/// assert!(description.trust.expect("enough queries").queries > 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TrustFigures {
    /// The number of queries that the intervals were measured on.
    pub queries: u32,
    /// The margins of the first class and of the others, in units of the error.
    pub margins: [f32; 2],
    /// The margins of answers for which all rows are scored.
    pub exact_margins: [f32; 2],
    /// The norms of familiar queries.
    pub norms: [f32; 2],
    /// The energy above which a query is rejected as none of the classes.
    pub reject_energy: f32,
    /// The share of held-out queries that are rejected.
    pub reject_rate: f32,
}

/// The needs of a device.
///
/// ```
/// let description = zhat::host::report::describe::Description::of(&zhat::host::input::read_model("models/next_word.zhat")?.model());
/// println!("{} bytes of RAM, at most {} instructions", description.needs.ram, description.needs.instructions_max);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Needs {
    /// The flash for the file, in bytes.
    pub flash: usize,
    /// The RAM for a query, in bytes.
    pub ram: usize,
    /// The words of scratch memory that are enough for any query within the budget.
    pub scratch_words: usize,
    /// The part of these words that is for the nodes of a search.
    pub frontier: usize,
    /// Estimated Cortex-M4 instructions of a mean query; see [`cost`].
    pub instructions_mean: Option<u64>,
    /// Instructions that no query exceeds, see [`Budget::most_instructions`](crate::Budget::most_instructions).
    pub instructions_max: u64,
    /// Cycles without wait states that no query exceeds, see [`Budget::most_cycles`](crate::Budget::most_cycles).
    pub cycles_max: u64,
    /// Estimated instructions for scoring all rows.
    pub instructions_exact: u64,
}

impl Description {
    /// Describes a model.
    ///
    /// ```
    /// let description = zhat::host::report::describe::Description::of(&zhat::doc_example().model());
    /// println!("{} bytes of RAM", description.needs.ram);
    /// ```
    pub fn of(model: &Model<'_>) -> Self {
        let summary = ModelSummary::new(model);
        let (classes, stride, bits) = (model.classes() as f64, model.rows().stride(), model.bits());
        let measured = model.measured().map(|measured| MeasuredFigures {
            queries: measured.queries,
            err_mean: measured.error,
            recall_at_1: measured.recall,
            coverage95: model.trust().map(|_| measured.coverage),
            work_mean: measured.work,
            work_max: measured.max_work,
            top_p_mean: measured.top_p,
            score_spread: measured.spread,
        });
        let budget = model.settings().map_or(Budget::new(summary.cap), |settings| settings.budget);
        let needs = Needs {
            flash: model.len(),
            ram: cost::ram(model),
            scratch_words: model.scratch_words(),
            frontier: model.scratch_words().saturating_sub(crate::seen_words(model.classes())),
            instructions_mean: measured
                .map(|m| cost::search_instructions(f64::from(m.work_mean) * classes, stride, bits)),
            instructions_max: budget.most_instructions(model),
            cycles_max: budget.most_cycles(model),
            instructions_exact: cost::exact_instructions(model.classes(), stride, bits),
        };
        Self {
            sections: sections(model),
            tree: tree_shape(model),
            norms: norms(model),
            biases: biases(model),
            bias_step: Log2::from_bits(1 << model.rows().bias_shift()).to_nats(),
            input: model.input_scale().map(|input| InputFigures { scale: input.scale, zero_point: input.zero_point }),
            layer: measured.map(|m| if m.top_p_mean >= CONFIDENT { "confident" } else { "flat" }),
            measured,
            trust: model.trust().map(|trust| TrustFigures {
                queries: trust.queries,
                margins: trust.estimated.margins,
                exact_margins: trust.exact.margins,
                norms: trust.norms,
                reject_energy: trust.reject_energy,
                reject_rate: trust.reject_rate,
            }),
            needs,
            names: model.names().is_some(),
            warnings: warnings::of_model(model),
            model: summary,
        }
    }
}

/// Lists the sections with their sizes, in the order of the file.
pub fn sections(model: &Model<'_>) -> Vec<SectionSize> {
    let of_kind = |(kind, bytes)| {
        let known = Section::ALL.into_iter().find(|section| section.kind() == kind);
        let (name, purpose) = known.map_or(("unknown", "unknown"), |section| (section.name(), section.purpose()));
        SectionSize { kind, name, bytes, purpose }
    };
    model.sections().map(of_kind).collect()
}

fn tree_shape(model: &Model<'_>) -> Option<TreeShape> {
    let tree = model.tree()?;
    let mut depths = vec![1usize; tree.len()];
    let (mut leaves, mut most_rows, mut branching) = (0, 0, 0);
    for node in 0..tree.len() {
        let span = tree.span(node);
        if span.is_leaf() {
            leaves += 1;
            most_rows = most_rows.max(span.rows);
        }
        branching = branching.max(span.children);
        // Children come after their parents.
        for child in span.first_child..span.first_child + span.children {
            depths[child] = depths[node] + 1;
        }
    }
    Some(TreeShape {
        nodes: tree.len(),
        top: tree.top(),
        leaves,
        depth: depths.iter().copied().max().unwrap_or(0),
        branching,
        leaf_rows_mean: model.classes() as f32 / leaves.max(1) as f32,
        leaf_rows_max: most_rows,
    })
}

fn norms(model: &Model<'_>) -> Range {
    let rows = model.rows();
    range((0..rows.len()).map(|row| {
        let squares: u32 = rows.weights(row).map(|v| u32::from(v.unsigned_abs()).pow(2)).sum();
        (squares as f32).sqrt() * model.row_scale(row)
    }))
}

fn biases(model: &Model<'_>) -> Range {
    let rows = model.rows();
    range((0..rows.len()).filter(|&row| !rows.is_masked(row)).map(|row| rows.bias(row).to_nats()))
}

fn range(values: impl Iterator<Item = f32>) -> Range {
    let (mut min, mut max, mut sum, mut count) = (f32::INFINITY, f32::NEG_INFINITY, 0.0f64, 0u32);
    for value in values {
        min = min.min(value);
        max = max.max(value);
        sum += f64::from(value);
        count += 1;
    }
    if count == 0 {
        Range { min: 0.0, mean: 0.0, max: 0.0 }
    } else {
        Range { min, mean: (sum / f64::from(count)) as f32, max }
    }
}
