//! TensorFlow Lite networks: reading the output layer. Nothing is run here.
//!
//! The layer is a `FULLY_CONNECTED`, or a `CONV_2D` of one point, without an activation of its own. int8 weights are
//! multiplied with their scales, and the builder finds the scales again, so that the int8 weights in the model file are
//! those of the network. An int32 bias is taken at its own scale.

mod flatbuffer;
mod graph;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::array::Array;
use super::error::{ImportError, Obstacle};
use super::layer::OutputLayer;
use crate::model::InputScale;
use graph::{ADD, CONV_2D, DEQUANTIZE, FULLY_CONNECTED, Graph, Operator};

/// Operators after the layer that make probabilities or choose by them: `SOFTMAX`, `LOG_SOFTMAX`, `ARG_MAX`, `TOPK_V2`.
const CHOICES: [u32; 4] = [25, 50, 56, 48];
/// Operators that only rearrange or round values: `DEQUANTIZE`, `RESHAPE`, `TRANSPOSE`, `SQUEEZE`, `CAST`,
/// `EXPAND_DIMS`, `QUANTIZE`.
const MOVES: [u32; 7] = [DEQUANTIZE, 22, 39, 43, 53, 70, 114];

/// A .tflite file in memory.
///
/// ```
/// let network = zhat::host::import::Tflite::open("models/import/int8.tflite")?;
/// assert!(network.layer(None)?.input.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tflite {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// The output layer: the operator, constants that are added after it, and what is ignored.
struct Head<'a> {
    layer: Operator<'a>,
    added: Vec<i32>,
    behind: Vec<String>,
}

impl Tflite {
    /// Reads a file.
    ///
    /// ```
    /// let network = zhat::host::import::Tflite::open("models/import/float.tflite")?;
    /// assert!(network.layer(None)?.input.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it can't be read, or is no network.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImportError> {
        let path = path.as_ref();
        Self::from_bytes(path, super::read(path)?)
    }

    /// Takes the bytes of a file; `path` is for messages.
    ///
    /// ```
    /// let bytes = std::fs::read("models/import/float.tflite")?;
    /// assert!(zhat::host::import::Tflite::from_bytes("float.tflite", bytes).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are no network.
    pub fn from_bytes(path: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Self, ImportError> {
        let file = Self { path: path.as_ref().to_owned(), bytes };
        match Graph::parse(&file.bytes) {
            Some(_) => Ok(file),
            None => {
                let why = "not a .tflite file, or a broken one";
                Err(ImportError::new(&file.path, Obstacle::Malformed(why.into())))
            }
        }
    }

    /// The output layer: the one whose output is called `name`, or the one that the network's outputs come from.
    ///
    /// ```
    /// let network = zhat::host::import::Tflite::open("models/import/float.tflite")?;
    /// println!("{}", network.layer(None)?.taken);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, or several could be meant; if its weights can't be read.
    pub fn layer(&self, name: Option<&str>) -> Result<OutputLayer, ImportError> {
        let named = |obstacle| ImportError::new(&self.path, obstacle);
        let graph = Graph::parse(&self.bytes).ok_or_else(|| named(broken()))?;
        head(&graph, name).and_then(|head| output_layer(&graph, &head)).map_err(named)
    }
}

fn broken() -> Obstacle {
    Obstacle::Malformed("is broken: an operator or a tensor is not where it should be".into())
}

/// All operators, and the one that makes each tensor.
fn operators<'a>(graph: &Graph<'a>) -> Result<(Vec<Operator<'a>>, HashMap<i32, usize>), Obstacle> {
    let all: Option<Vec<_>> = (0..graph.operators.len()).map(|index| graph.operator(index)).collect();
    let all = all.ok_or_else(broken)?;
    let made = all.iter().enumerate().filter(|(_, operator)| operator.output >= 0);
    let makers = made.map(|(index, operator)| (operator.output, index)).collect();
    Ok((all, makers))
}

fn head<'a>(graph: &Graph<'a>, name: Option<&str>) -> Result<Head<'a>, Obstacle> {
    let (all, makers) = operators(graph)?;
    let shown = |operator: &Operator<'_>| {
        let shape = weights_tensor(graph, operator, &all, &makers).map(|tensor| tensor.shape()).unwrap_or_default();
        format!("{}, {}×{}", graph.label(operator), shape.first().unwrap_or(&0), shape.last().unwrap_or(&0))
    };
    let candidates = || -> Vec<String> {
        all.iter().filter(|operator| linear(graph, operator, &all, &makers).is_ok()).map(shown).collect()
    };
    let starts: Vec<i32> = match name {
        None => graph.outputs.ints().collect(),
        Some(name) => match all.iter().find(|operator| graph.id(operator) == name) {
            Some(operator) => vec![operator.output],
            None => return Err(Obstacle::NoSuchLayer { name: name.into(), candidates: candidates() }),
        },
    };
    let (mut heads, mut first) = (Vec::<Head<'a>>::new(), None);
    for start in starts {
        match trace(graph, start, &all, &makers) {
            Ok(head) if heads.iter().any(|other| other.layer.output == head.layer.output) => {}
            Ok(head) => heads.push(head),
            Err((node, why)) => first = first.or(Some((node, why))),
        }
    }
    match (heads.len(), first) {
        (1, _) => Ok(heads.swap_remove(0)),
        (0, Some((node, why))) => Err(Obstacle::NotLinear { node, why, candidates: candidates() }),
        (0, None) => Err(broken()),
        _ => Err(Obstacle::Unclear { candidates: heads.iter().map(|head| shown(&head.layer)).collect() }),
    }
}

/// From a tensor back to the layer that its values come from, or the operator at which that ends, and why.
fn trace<'a>(
    graph: &Graph<'a>,
    start: i32,
    all: &[Operator<'a>],
    makers: &HashMap<i32, usize>,
) -> Result<Head<'a>, (String, String)> {
    let (mut tensor, mut added, mut behind) = (start, Vec::new(), Vec::new());
    for _ in 0..=all.len() {
        let Some(operator) = makers.get(&tensor).map(|&index| &all[index]) else {
            return Err(("the output".into(), "comes from no layer".into()));
        };
        let is_constant = |tensor: i32| graph.tensor(tensor).is_some_and(|tensor| tensor.is_constant());
        let why = match linear(graph, operator, all, makers) {
            Ok(()) => {
                behind.reverse();
                return Ok(Head { layer: operator.clone(), added, behind });
            }
            Err(why) => why,
        };
        tensor = match (operator.code, &operator.inputs[..]) {
            (ADD, &[a, b]) if is_constant(b) && activation(operator) == 0 => {
                added.push(b);
                a
            }
            (ADD, &[a, b]) if is_constant(a) && activation(operator) == 0 => {
                added.push(a);
                b
            }
            (code, &[input, ..]) if CHOICES.contains(&code) => {
                behind.push(graph.label(operator));
                added.clear();
                input
            }
            (code, &[input, ..]) if MOVES.contains(&code) && !is_constant(input) => input,
            _ => return Err((format!("{}, which the output comes from,", graph.label(operator)), why)),
        };
    }
    Err(("the output".into(), "comes from operators that go in a circle".into()))
}

/// What is computed on the operator's result: zero for nothing.
fn activation(operator: &Operator<'_>) -> u8 {
    let field = match operator.code {
        CONV_2D => 3,
        _ => 0,
    };
    operator.options.and_then(|options| options.u8(field)).unwrap_or(0)
}

/// Whether an operator is a linear layer with constant weights, or why not.
fn linear<'a>(
    graph: &Graph<'a>,
    operator: &Operator<'a>,
    all: &[Operator<'a>],
    makers: &HashMap<i32, usize>,
) -> Result<(), String> {
    if !matches!(operator.code, FULLY_CONNECTED | CONV_2D) {
        return Err("is not a linear layer".into());
    }
    let Some(weights) = weights_tensor(graph, operator, all, makers) else {
        return Err("has no constant weights".into());
    };
    let shape = weights.shape();
    if operator.code == CONV_2D {
        let strides = |field| operator.options.and_then(|options| options.u32(field)).unwrap_or(1);
        if shape.len() != 4 || shape[1..3] != [1, 1] || (strides(1), strides(2)) != (1, 1) {
            return Err("is a convolution over more than one point".into());
        }
    }
    match activation(operator) {
        0 => Ok(()),
        _ => Err("has an activation behind it".into()),
    }
}

/// The weights: a constant, or one that is made floats of.
fn weights_tensor<'a>(
    graph: &Graph<'a>,
    operator: &Operator<'a>,
    all: &[Operator<'a>],
    makers: &HashMap<i32, usize>,
) -> Option<graph::Tensor<'a>> {
    constant(graph, *operator.inputs.get(1)?, all, makers)
}

fn constant<'a>(
    graph: &Graph<'a>,
    tensor: i32,
    all: &[Operator<'a>],
    makers: &HashMap<i32, usize>,
) -> Option<graph::Tensor<'a>> {
    let found = graph.tensor(tensor)?;
    if found.is_constant() {
        return Some(found);
    }
    let maker = all.get(*makers.get(&tensor)?).filter(|maker| maker.code == DEQUANTIZE)?;
    graph.tensor(*maker.inputs.first()?).filter(|tensor| tensor.is_constant())
}

fn output_layer(graph: &Graph<'_>, head: &Head<'_>) -> Result<OutputLayer, Obstacle> {
    let (all, makers) = operators(graph)?;
    let label = graph.label(&head.layer);
    let fail = |what: &str| Obstacle::Malformed(format!("{label}: {what}"));
    let weights = weights_tensor(graph, &head.layer, &all, &makers).ok_or_else(|| fail("has no weights"))?.read()?;
    let weights = weights.into_rows().ok_or_else(|| fail("the weights are not a matrix"))?;
    let mut biases = vec![0.0f64; weights.rows()];
    let mut add = |array: Array| {
        let values = array.floats();
        if values.len() != biases.len() {
            return Err(fail("has not one bias for each class"));
        }
        biases.iter_mut().zip(values).for_each(|(bias, value)| *bias += f64::from(value));
        Ok(())
    };
    let bias = head.layer.inputs.get(2).copied().filter(|&tensor| tensor >= 0);
    if let Some(tensor) = bias {
        add(constant(graph, tensor, &all, &makers).ok_or_else(|| fail("has a bias that is not constant"))?.read()?)?;
    }
    for &tensor in &head.added {
        add(graph.tensor(tensor).ok_or_else(broken)?.read()?)?;
    }
    if !weights.data().iter().all(|weight| weight.is_finite()) || !biases.iter().all(|bias| bias.is_finite()) {
        return Err(fail("a weight or a bias is not a number"));
    }
    let input = head.layer.inputs.first().and_then(|&tensor| graph.tensor(tensor)?.int8_scale());
    let with = if bias.is_some() || !head.added.is_empty() { "with its bias" } else { "without a bias" };
    let mut taken = format!("{label}, {}×{}, {with}", weights.rows(), weights.cols());
    if !head.behind.is_empty() {
        taken += &format!("; ignored behind it: {}", head.behind.join(", "));
    }
    Ok(OutputLayer {
        weights,
        biases: biases.iter().map(|&bias| bias as f32).collect(),
        input: input.map(|(scale, zero_point)| InputScale { scale, zero_point }),
        taken,
    })
}
