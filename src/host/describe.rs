//! A model file in words and numbers: what is in it, how large, what a device needs for it.

use serde::Serialize;

use super::evaluate::ModelSummary;
use super::{cost, warnings};
use crate::{Budget, Model};
use crate::math::Log2;
use crate::model::Section;

/// From this mean probability of the best class on, a layer is called confident.
const CONFIDENT: f32 = 0.7;

/// What a model file is.
///
/// ```
/// use zhat::host::describe::Description;
///
/// let description = Description::of(&zhat::doc_example().model());
/// assert!(description.tree.is_none() && description.sections.len() == 3);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// Sizes and budget.
    pub model: ModelSummary,
    /// What each section takes.
    pub sections: Vec<SectionSize>,
    /// The shape of the tree, if there is one.
    pub tree: Option<TreeShape>,
    /// Lengths of the rows.
    pub norms: Range,
    /// Biases, in nats; classes that are masked are left out.
    pub biases: Range,
    /// From one bias to the next larger one, in nats: they are rounded to sixteen bits.
    pub bias_step: f32,
    /// How int8 activations are to be read, if the layer takes such.
    pub input: Option<InputFigures>,
    /// "flat" or "confident", where queries told.
    pub layer: Option<&'static str>,
    /// What was measured when the file was built.
    pub measured: Option<MeasuredFigures>,
    /// What intervals and thresholds were measured, if there were queries enough.
    pub trust: Option<TrustFigures>,
    /// What a device needs.
    pub needs: Needs,
    /// Whether the classes have names.
    pub names: bool,
    /// What is wrong with it, in sentences; see [`warnings`].
    pub warnings: Vec<String>,
}

/// A section and its size.
///
/// ```
/// let description = zhat::host::describe::Description::of(&zhat::host::io::read_model("models/next_word.zhat")?.model());
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
    /// What it is there for.
    pub purpose: &'static str,
}

/// The shape of a tree.
///
/// ```
/// let description = zhat::host::describe::Description::of(&zhat::host::io::read_model("models/next_word.zhat")?.model());
/// let tree = description.tree.expect("an index");
/// assert!(tree.leaves < tree.nodes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct TreeShape {
    /// Nodes in all.
    pub nodes: usize,
    /// Nodes that no other is above.
    pub top: usize,
    /// Nodes without children.
    pub leaves: usize,
    /// Nodes on the longest way down.
    pub depth: usize,
    /// Most children of a node.
    pub branching: usize,
    /// Mean rows of a leaf.
    pub leaf_rows_mean: f32,
    /// Most rows of a leaf.
    pub leaf_rows_max: usize,
}

/// Least, mean and largest.
///
/// ```
/// let description = zhat::host::describe::Description::of(&zhat::host::io::read_model("models/next_word.zhat")?.model());
/// assert!(description.norms.min <= description.norms.max);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Range {
    /// The least.
    pub min: f32,
    /// The mean.
    pub mean: f32,
    /// The largest.
    pub max: f32,
}

/// See [`InputScale`](crate::model::InputScale).
///
/// ```
/// let description = zhat::host::describe::Description::of(&zhat::host::io::read_model("models/import/int8_head.zhat")?.model());
/// assert!(description.input.is_some_and(|input| input.scale > 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InputFigures {
    /// What an activation, less the zero point, is multiplied with.
    pub scale: f32,
    /// The activation that stands for zero.
    pub zero_point: i8,
}

/// What was measured on queries held out.
///
/// ```
/// let description = zhat::host::describe::Description::of(&zhat::host::io::read_model("models/next_word.zhat")?.model());
/// assert!(description.measured.expect("queries").recall_at_1 > 0.95);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeasuredFigures {
    /// How many.
    pub queries: u32,
    /// Mean |Ẑ−Z|/Z.
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

/// What is known of the answers: see [`Trust`](crate::model::Trust).
///
/// ```
/// let description = zhat::host::describe::Description::of(&zhat::host::io::read_model("models/next_word.zhat")?.model());
/// assert!(description.trust.expect("enough queries").queries > 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TrustFigures {
    /// How many queries the intervals were measured on.
    pub queries: u32,
    /// The margins of the first class and of the others, in units of the error.
    pub margins: [f32; 2],
    /// The same where all rows are scored.
    pub exact_margins: [f32; 2],
    /// The norms of familiar queries.
    pub norms: [f32; 2],
    /// Above this energy a query is taken for none of the classes.
    pub reject_energy: f32,
    /// The share of calibration queries that are.
    pub reject_rate: f32,
}

/// What a device needs.
///
/// ```
/// let description = zhat::host::describe::Description::of(&zhat::host::io::read_model("models/next_word.zhat")?.model());
/// println!("{} bytes of RAM, at most {} instructions", description.needs.ram, description.needs.instructions_max);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Needs {
    /// Flash for the file.
    pub flash: usize,
    /// RAM for a query.
    pub ram: usize,
    /// Words of scratch memory that are enough for any query within the budget.
    pub scratch_words: usize,
    /// Those of them that are for the nodes of a search.
    pub frontier: usize,
    /// Estimated Cortex-M4 instructions of a mean query; see [`cost`].
    pub instructions_mean: Option<u64>,
    /// The instructions that no query takes more than, see [`Budget::most_instructions`](crate::Budget::most_instructions).
    pub instructions_max: u64,
    /// The same in cycles without wait states.
    pub cycles_max: u64,
    /// Estimated instructions for scoring all rows.
    pub instructions_exact: u64,
}

impl Description {
    /// Describes a model.
    ///
    /// ```
    /// let description = zhat::host::describe::Description::of(&zhat::doc_example().model());
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

/// What each section takes, in the order of the file.
///
/// ```
/// let sections = zhat::host::describe::sections(&zhat::doc_example().model());
/// assert_eq!(sections[0].name, "rows");
/// ```
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
        // Children lie after their parents.
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
