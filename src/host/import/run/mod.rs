//! Runs a network up to its output layer: what goes into that layer are the queries.

mod agreement;
mod engine;
mod feed;
mod padding;

pub use agreement::{Agreement, Difference};
pub use feed::InputFile;

use super::error::{ImportError, Obstacle};
use super::onnx::{Axis, Head, Kind, Onnx};
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
    /// The inputs of the output layer on files of inputs of the network, which is run up to there. `progress` is told the
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
        self.run(options, false, &mut |seen| {
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

    /// As [`Onnx::queries`], and runs the rest of the network too: `each` is given queries and probabilities, portion by
    /// portion.
    ///
    /// # Errors
    /// As [`Onnx::queries`], and what `each` returns.
    pub fn answers(
        &self,
        options: &RunOptions<'_>,
        each: &mut dyn FnMut(Seen) -> Result<(), Obstacle>,
    ) -> Result<(), ImportError> {
        self.run(options, true, each)
    }

    fn run(
        &self,
        options: &RunOptions<'_>,
        whole: bool,
        each: &mut dyn FnMut(Seen) -> Result<(), Obstacle>,
    ) -> Result<(), ImportError> {
        let graph = self.graph()?;
        let head = self.named(graph.head(options.layer))?;
        self.named((|| {
            let files = feed::assign(&graph.inputs, options.inputs)?;
            let truth = if whole { Some(truth(&head)?) } else { None };
            let names = core::iter::once(head.layer.query).chain(truth.map(|truth| truth.0));
            let outputs: Vec<_> = names.map(Into::into).collect();
            let engine = Engine::load(self.with_outputs(&graph, &outputs, true)?)?;
            let count = files.first().map_or(0, Vec::len);
            for at in 0..count {
                let tensors = graph.inputs.iter().zip(&files).map(|(input, files)| feed::read(input, files[at]));
                let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
                feed::portions(&graph.inputs, &tensors, |tensors, share| {
                    let named: Vec<_> = graph.inputs.iter().map(|input| input.name).zip(tensors).collect();
                    let mut found = engine.run(&named)?.into_iter();
                    let query = found.next().ok_or_else(|| Obstacle::Engine("it gave nothing".into()))?;
                    let examples = query.shape.first().copied().unwrap_or(1).max(1);
                    let queries = rows(query, head.layer.axis)?;
                    let steps = queries.rows() / examples;
                    let kept = match options.skip_padding {
                        true => padding::kept(&graph.inputs, tensors, examples, steps),
                        false => vec![true; queries.rows()],
                    };
                    let probabilities = match (found.next(), truth) {
                        (Some(found), Some((_, kind))) => {
                            Some(picked(&normalised(rows(found, head.layer.axis)?, kind), &kept)?)
                        }
                        _ => None,
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

/// The value that says what the network answers: its output where that has a place for each class, else the scores.
fn truth<'a>(head: &Head<'a>) -> Result<(&'a str, Kind), Obstacle> {
    match (head.same_layout && head.kind != Kind::Other, head.scores) {
        (true, _) => Ok((head.output, head.kind)),
        (false, Some(scores)) => Ok((scores, Kind::Scores)),
        (false, None) => {
            Err(Obstacle::Engine("what stands behind the layer changes its scores and their layout".into()))
        }
    }
}

/// The rows that are kept.
fn picked(rows: &Matrix, kept: &[bool]) -> Result<Matrix, Obstacle> {
    if rows.rows() != kept.len() {
        return Err(Obstacle::Engine("its output has another number of rows than the layer's input".into()));
    }
    let data = rows.iter().zip(kept).filter(|&(_, &kept)| kept).flat_map(|(row, _)| row).copied().collect();
    Matrix::new(data, rows.cols()).ok_or_else(|| Obstacle::Engine("it gave nothing".into()))
}

/// Rows of the axis that holds columns or classes.
fn rows(output: Output, axis: Axis) -> Result<Matrix, Obstacle> {
    let Output { shape, data } = output;
    // A class may be masked by a score of −∞.
    if data.iter().any(|value| value.is_nan() || *value == f32::INFINITY) {
        return Err(Obstacle::Engine("what it computes is not all numbers".into()));
    }
    let (data, cols) = match (axis, &shape[..]) {
        (Axis::Last, [.., cols]) => (data, *cols),
        (Axis::Channel, [_, cols, places @ ..]) => {
            let places: usize = places.iter().product();
            let size = cols * places;
            let value = |at: usize| data[at / size * size + at % cols * places + at % size / cols];
            ((0..data.len()).map(value).collect(), *cols)
        }
        _ => (Vec::new(), 0),
    };
    Matrix::new(data, cols).ok_or_else(|| Obstacle::Engine("the layer's input has too few axes".into()))
}

/// Probabilities of what the network gives.
fn normalised(rows: Matrix, kind: Kind) -> Matrix {
    let cols = rows.cols();
    let data = rows.iter().flat_map(|row| {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = match kind {
            Kind::Scores => row.iter().map(|&value| f64::from(value - most).exp()).sum(),
            _ => 1.0,
        };
        row.iter().map(move |&value| match kind {
            Kind::Scores => (f64::from(value - most).exp() / sum) as f32,
            Kind::LogProbabilities => value.exp(),
            Kind::Probabilities | Kind::Other => value,
        })
    });
    Matrix::new(data.collect(), cols).unwrap_or(rows)
}
