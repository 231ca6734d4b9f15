//! Files of inputs, checked against what the network takes, in portions that it can be run on.

use std::path::{Path, PathBuf};

use crate::host::input::network::error::Obstacle;
use crate::host::input::network::onnx::Input;
use crate::host::input::{Tensor, TensorValues, read_tensor};

/// Examples that a network of any batch is given at a time.
const AT_A_TIME: usize = 16;

/// A file for one of the network's inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The input's name; not needed where there is only one.
    pub name: Option<String>,
    /// A `.npy` file.
    pub path: PathBuf,
}

impl InputFile {
    /// Parses `FILE` or `NAME=FILE`.
    pub fn parse(text: &str) -> Self {
        match text.split_once('=') {
            Some((name, path)) if !Path::new(text).exists() => {
                Self { name: Some(name.into()), path: PathBuf::from(path) }
            }
            _ => Self { name: None, path: PathBuf::from(text) },
        }
    }
}

/// One array for each input, in the order of the inputs.
pub(super) type Batch = Vec<Tensor>;

/// Assigns the files of each input, in the order of the inputs: the first files of all belong together, then the second ones.
pub(super) fn assign<'f>(inputs: &[Input<'_>], files: &'f [InputFile]) -> Result<Vec<Vec<&'f Path>>, Obstacle> {
    let mut assigned = vec![Vec::new(); inputs.len()];
    let takes = || {
        let names: Vec<String> =
            inputs.iter().map(|input| format!("{}=FILE ({})", input.name, described(input))).collect();
        format!("the network takes --inputs {}", names.join(" "))
    };
    for file in files {
        let at = match &file.name {
            Some(name) => inputs.iter().position(|input| input.name == name),
            None => (inputs.len() == 1).then_some(0),
        };
        let Some(at) = at else {
            let what = file.name.as_ref().map_or("several inputs".into(), |name| format!("no input \"{name}\""));
            return Err(Obstacle::Inputs(format!("{what}: {}", takes())));
        };
        assigned[at].push(file.path.as_path());
    }
    let count = assigned.first().map_or(0, Vec::len);
    for (input, files) in inputs.iter().zip(&assigned) {
        if files.len() != count || files.is_empty() {
            let why = format!("{} files for the input \"{}\": {}", files.len(), input.name, takes());
            return Err(Obstacle::Inputs(why));
        }
    }
    Ok(assigned)
}

/// Reads an array for an input, and adds the axis of the batch where only that is missing.
pub(super) fn read(input: &Input<'_>, path: &Path) -> Result<Tensor, Obstacle> {
    let mut tensor = read_tensor(path)?;
    let found = shown(&tensor.shape);
    let Some(shape) = &input.shape else { return typed(input, tensor, path) };
    if tensor.shape.len() + 1 == shape.len() && shape[0].is_none_or(|length| length == 1) {
        tensor.shape.insert(0, 1);
    }
    let fits = tensor.shape.len() == shape.len()
        && tensor.shape.iter().zip(shape).enumerate().all(|(axis, (&length, &expected))| match expected {
            // A file may hold many batches.
            Some(batch) if axis == 0 => length.is_multiple_of(batch),
            Some(expected) => length == expected,
            None => true,
        });
    if !fits {
        let why = format!("the input \"{}\" takes {}, but {} is {found}", input.name, described(input), path.display());
        return Err(Obstacle::Inputs(why));
    }
    typed(input, tensor, path)
}

/// Turns integers into floats where floats are wanted; the other way round is an error.
fn typed(input: &Input<'_>, tensor: Tensor, path: &Path) -> Result<Tensor, Obstacle> {
    let wants_floats = matches!(input.kind, 1 | 10 | 11 | 16);
    let values = match tensor.values {
        TensorValues::Int(ints) if wants_floats => TensorValues::Float(ints.iter().map(|&int| int as f32).collect()),
        TensorValues::Float(_) if !wants_floats => {
            let why = format!("the input \"{}\" takes integers, but {} holds floats", input.name, path.display());
            return Err(Obstacle::Inputs(why));
        }
        values => values,
    };
    Ok(Tensor { values, ..tensor })
}

/// Calls `run` with portions of the arrays, as many examples as the network takes at a time, and the share that is done
/// with each.
pub(super) fn portions(
    inputs: &[Input<'_>],
    tensors: &Batch,
    mut run: impl FnMut(&Batch, f32) -> Result<(), Obstacle>,
) -> Result<(), Obstacle> {
    let examples = tensors.first().and_then(|tensor| tensor.shape.first().copied());
    let batched = |tensor: &Tensor| tensor.shape.first().copied() == examples;
    let Some(examples) = examples.filter(|_| tensors.iter().all(batched)) else { return run(tensors, 1.0) };
    let fixed = inputs.iter().filter_map(|input| input.shape.as_ref()?.first().copied()?).min();
    let size = fixed.unwrap_or(AT_A_TIME).max(1);
    for first in (0..examples).step_by(size) {
        let count = size.min(examples - first);
        let portion = tensors.iter().map(|tensor| rows(tensor, first, count)).collect();
        run(&portion, (first + count) as f32 / examples as f32)?;
    }
    Ok(())
}

/// Returns some examples of an array.
fn rows(tensor: &Tensor, first: usize, count: usize) -> Tensor {
    fn part<T: Clone>(values: &[T], examples: usize, first: usize, count: usize) -> Vec<T> {
        let size = values.len() / examples.max(1);
        values[first * size..][..count * size].to_vec()
    }
    let examples = tensor.shape[0];
    let mut shape = tensor.shape.clone();
    shape[0] = count;
    let values = match &tensor.values {
        TensorValues::Float(values) => TensorValues::Float(part(values, examples, first, count)),
        TensorValues::Int(values) => TensorValues::Int(part(values, examples, first, count)),
    };
    Tensor { shape, values }
}

/// Returns the shape and type that an input takes.
fn described(input: &Input<'_>) -> String {
    let kind = if matches!(input.kind, 1 | 10 | 11 | 16) { "floats" } else { "integers" };
    match &input.shape {
        None => format!("any shape of {kind}"),
        Some(shape) if shape.is_empty() => format!("one number of {kind}"),
        Some(shape) => {
            let lengths: Vec<String> = shape.iter().map(|n| n.map_or("?".into(), |n| n.to_string())).collect();
            format!("{} {kind}", lengths.join("×"))
        }
    }
}

fn shown(shape: &[usize]) -> String {
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("×")
}
