//! Networks: their output layer, and what goes into it.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use zhat::host::Matrix;
use zhat::host::input::network::{self, InputFile, Onnx, OutputLayer, RunOptions};

use crate::error::value;
use crate::model::shaped;
use crate::queries::matrix;
use crate::work::interruptible;

/// Weights, biases, what was taken, what is left out, and the scale and zero point of int8 activations.
type Layer<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>, String, Option<String>, Option<(f32, i8)>);

/// Reads the output layer of a network.
#[pyfunction]
pub fn read_layer<'py>(py: Python<'py>, path: PathBuf, name: Option<String>) -> PyResult<Layer<'py>> {
    let layer =
        py.detach(|| network::output_layer(&path, name.as_deref())).map_err(|error| crate::error::import(&error))?;
    let OutputLayer { weights, biases, input, taken, left_out } = layer;
    let input = input.map(|input| (input.scale, input.zero_point));
    Ok((array(py, &weights)?, PyArray1::from_vec(py, biases), taken, left_out, input))
}

/// Runs a network on files up to its output layer: the inputs of that layer, and how many steps were padding.
#[pyfunction]
pub fn run_network<'py>(
    py: Python<'py>,
    path: PathBuf,
    name: Option<String>,
    inputs: Vec<(Option<String>, PathBuf)>,
    skip_padding: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyArray2<f32>>, usize)> {
    let inputs = files(inputs);
    let ran = interruptible(py, progress.as_ref(), move |watch| {
        let options = RunOptions { layer: name.as_deref(), inputs: &inputs, skip_padding };
        Onnx::open(&path)?
            .queries(&options, &mut |share| watch.step("running the network", (100.0 * share) as usize, 100))
    });
    let (queries, skipped) = ran?.map_err(|error| crate::error::import(&error))?;
    Ok((array(py, &queries)?, skipped))
}

/// Returns by how much what the network answers differs from the softmax of its layer's scores, in p of the best class; None
/// if the engine cannot run it to its end.
#[pyfunction]
pub fn difference(
    py: Python<'_>,
    path: PathBuf,
    name: Option<String>,
    inputs: Vec<(Option<String>, PathBuf)>,
    weights: PyReadonlyArray2<'_, f32>,
    bias: PyReadonlyArray1<'_, f32>,
) -> PyResult<Option<f64>> {
    let (inputs, weights) = (files(inputs), matrix("weights", &weights)?);
    let biases = bias.as_slice().map_err(value)?.to_vec();
    let ran = interruptible(py, None, move |_| {
        let options = RunOptions { layer: name.as_deref(), inputs: &inputs, skip_padding: false };
        network::difference(&Onnx::open(&path)?, &options, &weights, &biases)
    });
    ran?.map_err(|error| crate::error::import(&error))
}

fn files(inputs: Vec<(Option<String>, PathBuf)>) -> Vec<InputFile> {
    inputs.into_iter().map(|(name, path)| InputFile { name, path }).collect()
}

fn array<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f32>>> {
    shaped(py, matrix.data().to_vec(), matrix.cols())
}
