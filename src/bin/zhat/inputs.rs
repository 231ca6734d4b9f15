//! Reads the files that several commands take.

use std::path::{Path, PathBuf};

use clap::Args;
use zhat::host::Matrix;
use zhat::host::input::network::{self, InputScale, OutputLayer};
use zhat::host::input::{
    Problem, ReadError, ReadOptions, expect_labels_in_range, expect_same_dimension, expect_same_length, read_labels,
    read_model, read_named_matrix, read_queries, read_vector,
};
use zhat::model::ModelBuf;

use super::files::{File, given};
use super::output::count;
use super::{Failure, Outcome};

/// The trained layer.
#[derive(Args)]
pub struct LayerArgs {
    /// The weights, N×d: .npy (f16, f32, f64), .safetensors, .csv, or word vectors (.txt, .vec, .bin, .json)
    #[arg(long, value_name = "FILE", required_unless_present = "network")]
    pub weights: Option<PathBuf>,
    /// A trained network in the place of --weights and --bias: .onnx, .tflite
    #[arg(long = "model", id = "network", value_name = "FILE", conflicts_with_all = ["weights", "bias", "transpose", "tensor", "bias_tensor"])]
    pub network: Option<PathBuf>,
    /// The layer of the network, if it is not the one that its output comes from: the name of a node
    #[arg(long, value_name = "NAME", conflicts_with = "weights")]
    pub layer: Option<String>,
    /// The biases, N values; zero if absent
    #[arg(long, value_name = "FILE")]
    pub bias: Option<PathBuf>,
    /// The weights are stored d×N
    #[arg(long)]
    pub transpose: bool,
    /// The tensor that holds the weights, in a .safetensors file with several
    #[arg(long, value_name = "NAME")]
    pub tensor: Option<String>,
    /// The tensor that holds the biases, in a .safetensors file with several: that of --bias, or else that of --weights
    #[arg(long, value_name = "NAME")]
    pub bias_tensor: Option<String>,
}

/// A layer that was read.
pub struct Layer {
    /// One row for each class.
    pub weights: Matrix,
    /// One bias for each class.
    pub biases: Vec<f32>,
    /// Names, if the weights are word vectors.
    pub names: Option<Vec<String>>,
    /// For a network: one line about the part of it that was used.
    pub taken: Option<String>,
    /// For a network with int8 activations: their scale.
    pub input: Option<InputScale>,
    /// For a layer that was chosen by name: the part of the network behind it, which is left out.
    pub left_out: Option<String>,
}

impl LayerArgs {
    /// Returns the files that are read.
    pub fn files(&self) -> impl Iterator<Item = File<'_>> + Clone {
        [given("--weights", &self.weights), given("--model", &self.network), given("--bias", &self.bias)]
            .into_iter()
            .flatten()
    }

    /// Reads weights and biases.
    pub fn read(&self) -> Outcome<Layer> {
        let path = self.path();
        if self.network.is_some() {
            let OutputLayer { weights, biases, input, taken, left_out } =
                network::output_layer(path, self.layer.as_deref())?;
            return Ok(Layer { weights, biases, names: None, taken: Some(taken), input, left_out });
        }
        network::expect_no_pickle(path)?;
        let options =
            ReadOptions { tensor: self.tensor.as_deref(), transpose: self.transpose, ..ReadOptions::default() };
        let named = read_named_matrix(path, options).map_err(|error| named_by(error, "--tensor", &self.tensor))?;
        let weights = named.matrix;
        // If only a tensor is named, it is one of the file with the weights.
        let source = self.bias.as_deref().or(self.bias_tensor.as_ref().map(|_| path));
        let biases = match source {
            Some(source) => {
                let options = ReadOptions { tensor: self.bias_tensor.as_deref(), ..ReadOptions::default() };
                let biases = read_vector(source, options)
                    .map_err(|error| named_by(error, "--bias-tensor", &self.bias_tensor))?;
                let same = expect_same_length(path, &weights, source, biases.len());
                self.or_transposed(same, biases.len() == weights.cols())?;
                biases
            }
            None => vec![0.0; weights.rows()],
        };
        Ok(Layer { weights, biases, names: named.names, taken: None, input: None, left_out: None })
    }

    /// Returns the file that has the weights.
    pub fn path(&self) -> &Path {
        self.weights.as_deref().or(self.network.as_deref()).unwrap_or(Path::new(""))
    }

    /// Returns true if it is known whether the weights are stored N×d or d×N: from a network, or from a bias with a
    /// value for each class.
    pub fn is_oriented(&self) -> bool {
        self.network.is_some() || self.bias.is_some() || self.bias_tensor.is_some()
    }

    /// Reads queries for these weights.
    pub fn queries(&self, layer: &Layer, path: &Path) -> Outcome<Matrix> {
        let queries = read_queries(path, ReadOptions::default())?;
        let same = expect_same_dimension(path, &queries, self.path(), &layer.weights);
        self.or_transposed(same, queries.cols() == layer.weights.rows())?;
        Ok(queries)
    }

    /// Adds to an error the option that would make the files fit.
    pub fn or_transposed<E: std::error::Error>(&self, fits: Result<(), E>, turned_fits: bool) -> Outcome {
        fits.map_err(|error| Failure::Failed(format!("{error}{}", self.transpose_hint(turned_fits))))
    }

    /// Suggests --transpose, or leaving it out, if the other orientation would fit.
    pub fn transpose_hint(&self, turned_fits: bool) -> &'static str {
        match (turned_fits, self.transpose) {
            // For a network it is known how they are stored.
            _ if self.network.is_some() => "",
            (true, false) => ": are the weights stored d×N? Then add --transpose",
            (true, true) => ": are the weights stored N×d? Then leave out --transpose",
            (false, _) => "",
        }
    }
}

/// Adds to an error the option that names a tensor, if the name is missing or wrong.
fn named_by(error: ReadError, option: &str, tensor: &Option<String>) -> Failure {
    let hint = match (error.problem(), tensor) {
        (Problem::Choice { fitting: 1.., .. } | Problem::Missing { .. }, _) => format!(": {option} names it"),
        (Problem::Option(_), Some(name)) => format!(": {option} {name}"),
        _ => String::new(),
    };
    Failure::Failed(format!("{error}{hint}"))
}

/// Reads a model file.
pub fn model(path: &Path) -> Outcome<ModelBuf> {
    Ok(read_model(path)?)
}

/// Reads queries for a model.
pub fn model_queries(path: &Path, model_path: &Path, dim: usize) -> Outcome<Matrix> {
    let queries = read_queries(path, ReadOptions::default())?;
    expect_dim(path, &queries, model_path, dim)?;
    Ok(queries)
}

/// Checks that queries have the model's dimension.
pub fn expect_dim(path: &Path, queries: &Matrix, model_path: &Path, dim: usize) -> Outcome {
    if queries.cols() == dim {
        return Ok(());
    }
    let (rows, cols) = (queries.rows(), queries.cols());
    let message = format!("{}: {rows}×{cols}, but {} has a dimension of {dim}", path.display(), model_path.display());
    Err(Failure::Failed(message))
}

/// Reads a label for each query.
pub fn labels(path: &Path, queries_path: &Path, queries: &Matrix, classes: usize) -> Outcome<Vec<usize>> {
    let labels = read_labels(path, ReadOptions::default())?;
    expect_same_length(queries_path, queries, path, labels.len())?;
    expect_labels_in_range(path, &labels, classes)?;
    Ok(labels)
}

/// Formats a model and its number of queries, for the subtitle of a plot.
pub fn about(model: &Path, queries: usize) -> String {
    format!("{}, {} queries", name(model), count(queries as u64))
}

/// Returns a file's name without its folders.
pub fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
