//! The output layer of a network, ready for the builder.

use crate::host::{BuildError, Matrix};
use crate::model::{FileWriter, InputScale, ModelBuf, Section};

/// The output layer of a network.
///
/// ```
/// let layer = zhat::host::import::output_layer("models/import/int8.tflite", None)?;
/// assert_eq!(layer.biases.len(), layer.weights.rows());
/// assert!(layer.input.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OutputLayer {
    /// One row for each class.
    pub weights: Matrix,
    /// One bias for each class.
    pub biases: Vec<f32>,
    /// For a layer whose inputs are int8 in the network: how to read them.
    pub input: Option<InputScale>,
    /// One line for people: what was taken, and what after it is ignored.
    pub taken: String,
}

/// A model file with the scale of its int8 activations: `Model::input_scale` gives it on the device.
///
/// ```
/// use zhat::host::import::{InputScale, with_input_scale};
///
/// let file = with_input_scale(&zhat::doc_example(), InputScale { scale: 0.02, zero_point: -3 })?;
/// assert_eq!(file.model().input_scale().map(|input| input.zero_point), Some(-3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`BuildError::File`], if `file` is no model file.
pub fn with_input_scale(file: &ModelBuf, input: InputScale) -> Result<ModelBuf, BuildError> {
    let mut writer = FileWriter::reopen(file)?;
    writer.optional(Section::InputScale, &input.to_words());
    Ok(writer.into_model()?)
}
