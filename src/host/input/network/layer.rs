//! The output layer of a network, ready for the builder.

use super::meaning::Affine;
use crate::host::{BuildError, Matrix};
use crate::model::{FileWriter, InputScale, ModelBuf, Section};

/// The output layer of a network.
///
/// ```
/// let layer = zhat::host::input::network::output_layer("models/import/int8.tflite", None)?;
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
    /// One line for people: what was taken, and what of the network behind it is accounted for.
    pub taken: String,
    /// For a layer that was asked for by name: the operators behind it that are left out, so that p is a softmax of the
    /// layer's scores and not what the network answers. See [`as_partial`].
    pub left_out: Option<String>,
}

/// Returns a model file with the scale of its int8 activations: `Model::input_scale` gives it on the device.
///
/// ```
/// use zhat::host::input::network::{InputScale, with_input_scale};
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

/// Returns a model file that is marked as partial: its p is not what the network answers, because the operators that
/// `left_out` names stand behind the layer. `Model::is_partial` tells.
///
/// ```
/// let file = zhat::host::input::network::as_partial(&zhat::doc_example(), "squash (Sigmoid)")?;
/// assert!(file.model().is_partial());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`BuildError::File`], if `file` is no model file.
pub fn as_partial(file: &ModelBuf, left_out: &str) -> Result<ModelBuf, BuildError> {
    let mut writer = FileWriter::reopen(file)?;
    writer.optional(Section::LeftOut, left_out.as_bytes());
    Ok(writer.into_model()?)
}

/// Takes what stands behind a layer into its rows and biases: scores are factor · weights + bias, then the affine map.
/// An empty bias is zero.
pub(super) fn scaled(
    weights: Matrix,
    bias: Vec<f64>,
    factor: f64,
    affine: &Affine,
) -> Result<(Matrix, Vec<f32>), String> {
    let cols = weights.cols();
    let rows = |class: usize| affine.rows.as_ref().map_or(class, |rows| rows[class]);
    let classes = affine.rows.as_ref().map_or(weights.rows(), Vec::len);
    let own = |class: usize| bias.get(rows(class)).copied().unwrap_or(0.0);
    // A masked class has no score: zero times −∞ is not a number.
    let biases = (0..classes).map(|class| match (affine.factor.at(class), affine.bias.at(class)) {
        (_, bias) if bias == f64::NEG_INFINITY => f32::NEG_INFINITY,
        (0.0, bias) => bias as f32,
        (by, bias) => (by * own(class) + bias) as f32,
    });
    let biases: Vec<f32> = biases.collect();
    let is_same = affine.rows.is_none() && affine.factor.is(1.0) && factor == 1.0;
    let weights = match is_same {
        true => weights,
        false => {
            let mut data = Vec::with_capacity(classes * cols);
            for class in 0..classes {
                let by = factor * affine.factor.at(class);
                data.extend(weights.row(rows(class)).iter().map(|&weight| (f64::from(weight) * by) as f32));
            }
            Matrix::new(data, cols).ok_or("no rows")?
        }
    };
    if let Some(at) = weights.data().iter().position(|weight| !weight.is_finite()) {
        let (row, column) = (at / cols, at % cols);
        return Err(format!("the weight of class {row}, column {column} is not a number"));
    }
    if let Some(class) = biases.iter().position(|bias| bias.is_nan() || *bias == f32::INFINITY) {
        return Err(format!("the bias of class {class} is not a number"));
    }
    Ok((weights, biases))
}
