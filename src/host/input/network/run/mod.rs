//! Runs a network up to its output layer: what goes into that layer are the queries.

mod agreement;
mod engine;
mod feed;
mod padding;

pub use agreement::{Agreement, Comparison, Difference, difference};
pub use feed::InputFile;

use super::error::{ImportError, Obstacle};
use super::meaning::Answer;
use super::onnx::{Head, Onnx, Shapes, ValueOutput};
use crate::host::Matrix;
use engine::{Engine, Output};

/// What to run a network on.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions<'a> {
    /// The layer; without a name the one that the outputs come from.
    pub layer: Option<&'a str>,
    /// Files for the network's inputs.
    pub inputs: &'a [InputFile],
    /// Whether to leave out steps of a sequence that are padding.
    pub skip_padding: bool,
}

/// What a portion of the inputs shows.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The layer's inputs, one for each example, or for each step of it.
    pub queries: Matrix,
    /// What the network itself makes of each query, p of every class: for a run of the whole network.
    pub probabilities: Option<Matrix>,
    /// Steps that were left out as padding.
    pub skipped: usize,
    /// The share of the files that are done.
    pub done: f32,
}

impl Onnx {
    /// Runs the network up to its output layer on files of inputs, and returns the inputs of that layer. `progress` is told the
    /// share that is done.
    ///
    /// # Errors
    /// If the inputs are not what the network takes, or the engine can't run it.
    pub fn queries(
        &self,
        options: &RunOptions<'_>,
        progress: &mut dyn FnMut(f32),
    ) -> Result<(Matrix, usize), ImportError> {
        let (mut data, mut cols, mut skipped) = (Vec::new(), 0, 0);
        self.run(options, Extent::Body, &mut |seen| {
            cols = seen.queries.cols();
            data.extend_from_slice(seen.queries.data());
            skipped += seen.skipped;
            progress(seen.done);
            Ok(())
        })?;
        let queries = Matrix::new(data, cols).filter(|queries| queries.rows() > 0);
        let none = || Obstacle::Inputs("the inputs make no queries".into());
        Ok((self.named(queries.ok_or_else(none))?, skipped))
    }

    /// Runs the whole network, as [`Onnx::queries`] runs its body: `each` is given queries and probabilities, portion by
    /// portion.
    ///
    /// # Errors
    /// As [`Onnx::queries`], and what `each` returns.
    pub fn answers(
        &self,
        options: &RunOptions<'_>,
        each: &mut dyn FnMut(Seen) -> Result<(), Obstacle>,
    ) -> Result<(), ImportError> {
        self.run(options, Extent::Whole, each)
    }

    /// Runs the whole network on the first portion of the inputs alone.
    fn first_answers(
        &self,
        options: &RunOptions<'_>,
        each: &mut dyn FnMut(Seen) -> Result<(), Obstacle>,
    ) -> Result<(), ImportError> {
        self.run(options, Extent::First, each)
    }

    fn run(
        &self,
        options: &RunOptions<'_>,
        extent: Extent,
        each: &mut dyn FnMut(Seen) -> Result<(), Obstacle>,
    ) -> Result<(), ImportError> {
        let whole = extent != Extent::Body;
        let graph = self.graph()?;
        let shapes = Shapes::of(&graph);
        let head = self.named(graph.head(&shapes, self.folder(), options.layer))?;
        self.named((|| {
            let files = feed::assign(&graph.inputs, options.inputs)?;
            let query_scale = graph.query_scale(&head, self.folder())?;
            let truths = if whole { truths(&head) } else { Vec::new() };
            // A layer may take an input of the network as it is: then there is no body to run.
            let given = graph.inputs.iter().position(|input| input.name == head.layer.query);
            let names = given.is_none().then_some(head.layer.query).into_iter().chain(truths.iter().copied());
            let outputs: Vec<_> = names.map(|name| ValueOutput::of(&shapes, name)).collect();
            let engine = match outputs.is_empty() {
                true => None,
                false => Some(Engine::load(self.with_outputs(&graph, &shapes, &outputs, true)?)?),
            };
            let (count, mut is_done) = (files.first().map_or(0, Vec::len), false);
            for at in 0..count {
                if is_done {
                    break;
                }
                let tensors = graph.inputs.iter().zip(&files).map(|(input, files)| feed::read(input, files[at]));
                let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
                feed::portions(&graph.inputs, &tensors, |tensors, share| {
                    if is_done {
                        return Ok(());
                    }
                    is_done = extent == Extent::First;
                    let named: Vec<_> = graph.inputs.iter().map(|input| input.name).zip(tensors).collect();
                    let found = engine.as_ref().map(|engine| engine.run(&named)).transpose()?;
                    let mut found = found.unwrap_or_default().into_iter();
                    let query = given.map(|at| Output::given(&tensors[at])).or_else(|| found.next());
                    let mut query = query.ok_or_else(|| Obstacle::Engine("it gave nothing".into()))?;
                    if let Some((scale, zero)) = query_scale {
                        query.data.iter_mut().for_each(|value| *value = (*value - zero) * scale);
                    }
                    let places = places(&query.shape, head.layer.query_axis);
                    let examples = query.shape.first().copied().unwrap_or(1).max(1);
                    let queries = rows(query, head.layer.query_axis)?;
                    let steps = queries.rows() / examples;
                    let kept = match options.skip_padding {
                        true => padding::kept(&graph.inputs, tensors, examples, steps),
                        false => vec![true; queries.rows()],
                    };
                    let found: Vec<Output> = found.collect();
                    let probabilities = match whole {
                        true => Some(picked(&answers(&head, found, &places)?, &kept)?),
                        false => None,
                    };
                    let skipped = kept.iter().filter(|&&kept| !kept).count();
                    let done = (at as f32 + share) / count as f32;
                    each(Seen { queries: picked(&queries, &kept)?, probabilities, skipped, done })
                })?;
            }
            Ok(())
        })())
    }
}

/// How much of a network is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Up to the layer.
    Body,
    /// To the end.
    Whole,
    /// To the end, on the first portion of the inputs.
    First,
}

/// Returns the values that say what the network answers: for a layer that was asked for by name the network's own outputs, and
/// the layer's scores to know their places by.
fn truths<'a>(head: &Head<'a>) -> Vec<&'a str> {
    let mut names = vec![head.truth];
    names.extend(head.others.iter().copied().filter(|&other| other != head.truth));
    names
}

/// Returns the network's answers: p of every class, in the order of the queries.
fn answers(head: &Head<'_>, found: Vec<Output>, places: &[usize]) -> Result<Matrix, Obstacle> {
    let none = || Obstacle::Engine("it gave nothing".into());
    let mut found = found.into_iter();
    let truth = found.next().ok_or_else(none)?;
    let class = head.layout.class_from_end().ok_or_else(none)?;
    if head.left_out.is_empty() {
        let ordered = ordered(rows(truth, class)?, head.layout.order().as_deref(), places)?;
        return Ok(normalised(ordered, head.answer));
    }
    // Whatever stands behind the layer: a number for each class is what people read as its p.
    let alike = found.find(|other| other.shape == truth.shape);
    let other = alike.ok_or_else(|| {
        Obstacle::Engine(
            "no output of it has a number for each class of the layer, so there is nothing to compare with".into(),
        )
    })?;
    ordered(rows(other, class)?, head.layout.order().as_deref(), places)
}

/// Returns the rows that are kept.
fn picked(rows: &Matrix, kept: &[bool]) -> Result<Matrix, Obstacle> {
    if rows.rows() != kept.len() {
        return Err(Obstacle::Engine("its output has another number of rows than the layer's input".into()));
    }
    let data = rows.iter().zip(kept).filter(|&(_, &kept)| kept).flat_map(|(row, _)| row).copied().collect();
    Matrix::new(data, rows.cols()).ok_or_else(|| Obstacle::Engine("it gave nothing".into()))
}

/// Returns lengths of the axes beside that of the columns.
fn places(shape: &[usize], axis: usize) -> Vec<usize> {
    let at = shape.len().checked_sub(1 + axis);
    shape.iter().enumerate().filter(|&(axis, _)| Some(axis) != at).map(|(_, &length)| length).collect()
}

/// Returns rows in the order of the queries, whose places have these lengths: rows run through the axes in another order.
fn ordered(rows: Matrix, order: Option<&[u32]>, places: &[usize]) -> Result<Matrix, Obstacle> {
    let lost = || Obstacle::Engine("the order of what it gives can't be followed".into());
    let order = order.ok_or_else(lost)?;
    if order.is_sorted() {
        return Ok(rows);
    }
    let lengths =
        order.iter().map(|&axis| places.get(axis as usize).copied()).collect::<Option<Vec<_>>>().ok_or_else(lost)?;
    if lengths.iter().product::<usize>() != rows.rows() || places.iter().product::<usize>() != rows.rows() {
        return Err(lost());
    }
    // How far apart neighbours on an axis are among the queries.
    let stride = |axis: u32| places[axis as usize + 1..].iter().product::<usize>();
    let mut target = vec![0; rows.rows()];
    for (row, target) in target.iter_mut().enumerate() {
        let mut rest = row;
        for (&axis, &length) in order.iter().zip(&lengths).rev() {
            *target += rest % length * stride(axis);
            rest /= length;
        }
    }
    let mut data = vec![0.0; rows.data().len()];
    for (row, target) in rows.iter().zip(target) {
        data[target * rows.cols()..][..rows.cols()].copy_from_slice(row);
    }
    Matrix::new(data, rows.cols()).ok_or_else(lost)
}

/// Returns rows of the axis that holds columns or classes, counted from the end.
fn rows(output: Output, axis: usize) -> Result<Matrix, Obstacle> {
    let Output { shape, data } = output;
    // A class may be masked by a score of −∞.
    if data.iter().any(|value| value.is_nan() || *value == f32::INFINITY) {
        return Err(Obstacle::Engine("what it computes is not all numbers".into()));
    }
    let too_few = || Obstacle::Engine("the layer's input has too few axes".into());
    let at = shape.len().checked_sub(1 + axis).ok_or_else(too_few)?;
    let (cols, places) = (shape[at], shape[at + 1..].iter().product::<usize>());
    let data = match places {
        1 => data,
        _ => {
            let size = cols * places;
            let value = |at: usize| data[at / size * size + at % cols * places + at % size / cols];
            (0..data.len()).map(value).collect()
        }
    };
    Matrix::new(data, cols).ok_or_else(too_few)
}

/// Probabilities of what the network gives.
fn normalised(rows: Matrix, answer: Answer) -> Matrix {
    let cols = rows.cols();
    let data = rows.iter().flat_map(|row| {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = match answer {
            Answer::Scores => row.iter().map(|&value| f64::from(value - most).exp()).sum(),
            _ => 1.0,
        };
        row.iter().map(move |&value| match answer {
            Answer::Scores => (f64::from(value - most).exp() / sum) as f32,
            Answer::LogProbabilities => value.exp(),
            Answer::Probabilities | Answer::Choice => value,
        })
    });
    Matrix::new(data.collect(), cols).unwrap_or(rows)
}
