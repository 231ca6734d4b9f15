//! TensorFlow Lite networks: reading the output layer. Nothing is run here.
//!
//! The layer is a `FULLY_CONNECTED`, or a `CONV_2D` of one point, without an activation of its own. int8 weights are
//! multiplied with their scales, and the builder finds the scales again, so that the int8 weights in the model file are
//! those of the network. An int32 bias is taken at its own scale.

mod flatbuffer;
mod graph;
mod tail;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::error::{ImportError, Obstacle};
use super::layer::{OutputLayer, scaled};
use super::meaning::{Affine, Answer, Form, best};
use crate::model::InputScale;
use graph::{ADD, CONV_2D, DEQUANTIZE, DIV, FULLY_CONNECTED, Graph, MUL, Operator, SHAPE, SUB};
use tail::{MOVES, State, Tail, Value};

/// A .tflite file in memory.
///
/// ```
/// let network = zhat::host::input::network::Tflite::open("models/import/int8.tflite")?;
/// assert!(network.layer(None)?.input.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tflite {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Tflite {
    /// Reads a file.
    ///
    /// ```
    /// let network = zhat::host::input::network::Tflite::open("models/import/float.tflite")?;
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
    /// assert!(zhat::host::input::network::Tflite::from_bytes("float.tflite", bytes).is_ok());
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

    /// Returns the output layer: the one whose output is called `name`, or the one that the network's outputs come from.
    ///
    /// ```
    /// let network = zhat::host::input::network::Tflite::open("models/import/float.tflite")?;
    /// println!("{}", network.layer(None)?.taken);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, or several could be meant; if its weights can't be read.
    pub fn layer(&self, name: Option<&str>) -> Result<OutputLayer, ImportError> {
        let named = |obstacle| ImportError::new(&self.path, obstacle);
        let graph = Graph::parse(&self.bytes).ok_or_else(|| named(broken()))?;
        let network = Network::of(&graph).map_err(named)?;
        network.head(name).and_then(|head| network.output_layer(&head)).map_err(named)
    }
}

fn broken() -> Obstacle {
    Obstacle::Malformed("is broken: an operator or a tensor is not where it should be".into())
}

/// Returns the number of the activation that an operator applies to its result; zero for none.
fn activation(operator: &Operator<'_>) -> u8 {
    let field = match operator.code {
        CONV_2D => 3,
        _ => 0,
    };
    operator.options.and_then(|options| options.u8(field)).unwrap_or(0)
}

/// The operators, and the one that makes each tensor.
struct Network<'g, 'a> {
    graph: &'g Graph<'a>,
    all: Vec<Operator<'a>>,
    makers: HashMap<i32, usize>,
}

/// The output layer, and what stands behind it.
struct Head<'a> {
    layer: Operator<'a>,
    affine: Rc<Affine>,
    answer: Answer,
    /// Operators behind the layer that do more than move values.
    behind: Vec<usize>,
    step: f32,
    left_out: Vec<usize>,
    /// The tensor that says what the network answers, and the network's output.
    value: i32,
    output: i32,
}

impl<'a> Network<'_, 'a> {
    fn head(&self, name: Option<&str>) -> Result<Head<'a>, Obstacle> {
        let Some(name) = name else { return self.last() };
        let Some(start) = self.all.iter().position(|operator| self.graph.id(operator) == name) else {
            return Err(Obstacle::NoSuchLayer { name: name.into(), candidates: self.candidates() });
        };
        let value = self.all[start].output;
        let outputs: Vec<i32> = self.graph.outputs.ints().collect();
        let layers = self.layers_before(&[value]);
        let [layer] = layers[..] else {
            return Err(
                self.no_layer("the tensor of this name", layers.iter().map(|&layer| self.shown(layer)).collect())
            );
        };
        let whole = self.judged(layer)?;
        if start == layer
            && let Ok(head) = whole
        {
            return Ok(head);
        }
        let tail = Tail::of(self, layer)?;
        // A bias that is added to a named layer at once is a part of it.
        let mut end = value;
        for _ in 0..self.all.len() {
            if start != layer || outputs.contains(&end) {
                break;
            }
            let mut users = self.all.iter().filter(|operator| operator.inputs.contains(&end));
            let (Some(user), None) = (users.next(), users.next()) else { break };
            match tail.states.get(&user.output) {
                Some(State::Known(known)) if matches!(known.meaning.form, Form::Scores(_)) => end = user.output,
                _ => break,
            }
        }
        let head = match tail.states.get(&end) {
            Some(State::Known(known)) => self.ending(layer, end, known, end)?,
            Some(State::Lost { operator, why }) => return Err(self.behind(*operator, why, layer)),
            None => return Err(self.no_layer("the tensor of this name", Vec::new())),
        };
        if outputs.contains(&end) && start != layer || whole.is_ok_and(|whole| whole.affine == head.affine) {
            return Ok(head);
        }
        let (mut after, mut left_out) = (vec![end], Vec::new());
        for (index, operator) in self.all.iter().enumerate() {
            if operator.inputs.iter().any(|input| after.contains(input)) {
                after.extend(&operator.outputs);
                left_out.push(index);
            }
        }
        Ok(Head { left_out, ..head })
    }

    /// Returns the layer that the network's outputs come from.
    fn last(&self) -> Result<Head<'a>, Obstacle> {
        let outputs: Vec<i32> = self.graph.outputs.ints().collect();
        let layers = self.layers_before(&outputs);
        if layers.is_empty() {
            return Err(self.no_layer("the output", self.candidates()));
        }
        let (mut heads, mut refused) = (Vec::new(), None);
        for &layer in &layers {
            match self.judged(layer)? {
                Ok(head) => heads.push((layer, head)),
                Err(obstacle) => refused = refused.or(Some(obstacle)),
            }
        }
        // A layer that others come from is not the last one.
        let queries: Vec<i32> = heads.iter().filter_map(|(_, head)| head.layer.inputs.first().copied()).collect();
        let inner = self.ancestors(&queries);
        heads.retain(|(layer, _)| !inner.contains(layer));
        match (heads.len(), refused) {
            (1, _) => Ok(heads.swap_remove(0).1),
            (0, Some(obstacle)) => Err(obstacle),
            _ => Err(Obstacle::Unclear { candidates: heads.iter().map(|&(layer, _)| self.shown(layer)).collect() }),
        }
    }

    /// Returns the head that all outputs of a layer agree on, or why there is none.
    fn judged(&self, layer: usize) -> Result<Result<Head<'a>, Obstacle>, Obstacle> {
        let tail = Tail::of(self, layer)?;
        if tail.classes < 2 {
            return Ok(Err(self.behind(layer, "has one output only: there are no classes to choose from", layer)));
        }
        let (mut found, mut side) = (Vec::new(), None);
        for output in self.graph.outputs.ints() {
            let known = match tail.states.get(&output) {
                None => continue,
                Some(State::Lost { operator, why }) => return Ok(Err(self.behind(*operator, why, layer))),
                Some(State::Known(known)) => known,
            };
            let source = known.source.filter(|_| matches!(known.meaning.form, Form::Choice | Form::Best));
            let (value, known) = match source.map(|source| (source, tail.states.get(&source))) {
                Some((source, Some(State::Known(known)))) => (source, known),
                _ => (output, known),
            };
            match self.ending(layer, value, known, output) {
                Ok(head) => found.push(head),
                Err(obstacle) if !known.meaning.is_by_class() => side = side.or(Some(obstacle)),
                Err(obstacle) => return Ok(Err(obstacle)),
            }
        }
        let answers: Vec<_> = found.iter().map(|head| (head.answer, &*head.affine)).collect();
        Ok(match best(&answers) {
            Ok(Some(at)) => Ok(found.swap_remove(at)),
            Ok(None) => Err(side.unwrap_or_else(|| self.behind(layer, "does not lead to an output", layer))),
            Err((_, other)) => {
                let maker = self.makers.get(&found[other].output).copied().unwrap_or(layer);
                Err(self.behind(
                    maker,
                    "gives other probabilities than another output, so it is not clear which are meant",
                    layer,
                ))
            }
        })
    }

    fn ending(&self, layer: usize, value: i32, known: &Value, output: i32) -> Result<Head<'a>, Obstacle> {
        let node = self.makers.get(&value).copied().unwrap_or(layer);
        let answer = known.meaning.answer().map_err(|why| self.behind(node, &why, layer))?;
        if known.layout.class_from_end().is_none() {
            return Err(self.behind(node, "hands out one number for all classes", layer));
        }
        let before = self.ancestors(&[value]);
        let (mut after, mut behind) = (vec![self.all[layer].output], Vec::new());
        for (index, operator) in self.all.iter().enumerate() {
            if operator.inputs.iter().any(|input| after.contains(input)) {
                after.extend(&operator.outputs);
                let is_bias = matches!(operator.code, ADD | SUB | MUL | DIV);
                if before.contains(&index) && !MOVES.contains(&operator.code) && !is_bias {
                    behind.push(index);
                }
            }
        }
        let layer = self.all[layer].clone();
        let (affine, step) = (known.meaning.affine.clone(), known.step);
        Ok(Head { layer, affine, answer, behind, step, left_out: Vec::new(), value, output })
    }

    fn of<'g>(graph: &'g Graph<'a>) -> Result<Network<'g, 'a>, Obstacle> {
        let all: Option<Vec<_>> = (0..graph.operators.len()).map(|index| graph.operator(index)).collect();
        let all = all.ok_or_else(broken)?;
        let mut makers = HashMap::new();
        for (index, operator) in all.iter().enumerate() {
            makers.extend(operator.outputs.iter().filter(|&&output| output >= 0).map(|&output| (output, index)));
        }
        Ok(Network { graph, all, makers })
    }

    /// Returns the last linear layers on all ways to some tensors.
    fn layers_before(&self, tensors: &[i32]) -> Vec<usize> {
        let (mut found, mut open, mut seen) = (Vec::new(), tensors.to_vec(), HashSet::new());
        while let Some(tensor) = open.pop() {
            let Some(&index) = self.makers.get(&tensor).filter(|index| seen.insert(**index)) else { continue };
            if self.linear(&self.all[index]).is_ok() {
                found.push(index);
            } else if self.all[index].code != SHAPE {
                open.extend(&self.all[index].inputs);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// Returns all operators that some tensors come from.
    fn ancestors(&self, tensors: &[i32]) -> HashSet<usize> {
        let (mut found, mut open) = (HashSet::new(), tensors.to_vec());
        while let Some(tensor) = open.pop() {
            if let Some(&index) = self.makers.get(&tensor).filter(|index| found.insert(**index)) {
                open.extend(&self.all[index].inputs);
            }
        }
        found
    }

    /// Checks that an operator is a linear layer with constant weights; the error says why it is none.
    fn linear(&self, operator: &Operator<'a>) -> Result<(), String> {
        if !matches!(operator.code, FULLY_CONNECTED | CONV_2D) {
            return Err("is not a linear layer".into());
        }
        let Some(weights) = self.weights(operator) else {
            return Err("has no constant weights".into());
        };
        let shape = weights.shape();
        if operator.code == CONV_2D {
            let strides = |field| operator.options.and_then(|options| options.u32(field)).unwrap_or(1);
            if shape.len() != 4 || shape[1..3] != [1, 1] || (strides(1), strides(2)) != (1, 1) {
                return Err("is a convolution over more than one point".into());
            }
        } else if operator.options.and_then(|options| options.u8(1)).unwrap_or(0) != 0 {
            return Err("has shuffled weights".into());
        }
        match activation(operator) {
            0 => Ok(()),
            _ => Err("has an activation behind it".into()),
        }
    }

    /// Returns the weights: a constant, or one that is made floats of.
    fn weights(&self, operator: &Operator<'a>) -> Option<graph::Tensor<'a>> {
        self.constant(*operator.inputs.get(1)?)
    }

    fn constant(&self, tensor: i32) -> Option<graph::Tensor<'a>> {
        let found = self.graph.tensor(tensor)?;
        if found.is_constant() {
            return Some(found);
        }
        let maker = self.all.get(*self.makers.get(&tensor)?).filter(|maker| maker.code == DEQUANTIZE)?;
        self.graph.tensor(*maker.inputs.first()?).filter(|tensor| tensor.is_constant())
    }

    fn candidates(&self) -> Vec<String> {
        let layers = (0..self.all.len()).filter(|&index| self.linear(&self.all[index]).is_ok());
        layers.map(|index| self.shown(index)).collect()
    }

    fn shown(&self, index: usize) -> String {
        let operator = &self.all[index];
        let shape = self.weights(operator).map(|tensor| tensor.shape()).unwrap_or_default();
        format!("{}, {}×{}", self.graph.label(operator), shape.first().unwrap_or(&0), shape.last().unwrap_or(&0))
    }

    fn behind(&self, operator: usize, why: &str, layer: usize) -> Obstacle {
        let label = self.graph.label(&self.all[layer]);
        let node = match operator == layer {
            true => format!("{label}, which the output comes from,"),
            false => format!(
                "{}, which stands between the layer {label} and the output,",
                self.graph.label(&self.all[operator])
            ),
        };
        Obstacle::Behind { node, why: why.into(), layer: self.graph.id(&self.all[layer]).into() }
    }

    fn no_layer(&self, node: &str, candidates: Vec<String>) -> Obstacle {
        Obstacle::NotLinear { node: node.into(), why: "comes from no single linear layer".into(), candidates }
    }

    fn output_layer(&self, head: &Head<'a>) -> Result<OutputLayer, Obstacle> {
        let label = self.graph.label(&head.layer);
        let fail = |what: &str| Obstacle::Malformed(format!("{label}: {what}"));
        let weights = self.weights(&head.layer).ok_or_else(|| fail("has no weights"))?.read()?;
        let weights = weights.into_rows().ok_or_else(|| fail("the weights are not a matrix"))?;
        let tensor = head.layer.inputs.get(2).copied().filter(|&tensor| tensor >= 0);
        let bias = match tensor {
            None => Vec::new(),
            Some(tensor) => {
                let bias = self.constant(tensor).ok_or_else(|| fail("has a bias that is not constant"))?.read()?;
                bias.floats().into_iter().map(f64::from).collect()
            }
        };
        if !bias.is_empty() && bias.len() != weights.rows() {
            return Err(fail("has not one bias for each class"));
        }
        let input = head.layer.inputs.first().and_then(|&tensor| self.graph.tensor(tensor)?.int8_scale());
        let with = match (tensor.is_some() || !head.affine.bias.is(0.0), !head.affine.factor.is(1.0)) {
            (true, false) => "with its bias",
            (false, false) => "without a bias",
            (true, true) => "with its bias and a factor behind it",
            (false, true) => "with a factor behind it, without a bias",
        };
        let mut taken = format!("{label}, {}×{}, {with}", weights.rows(), weights.cols());
        let labels = |operators: &[usize]| -> String {
            operators.iter().map(|&index| self.graph.label(&self.all[index])).collect::<Vec<_>>().join(", ")
        };
        if !head.behind.is_empty() {
            taken += &format!("; behind it: {}", labels(&head.behind));
        }
        if head.step > 0.0 {
            taken += &format!(
                "; the network rounds scores to steps of {:.3} and cuts off what its integers can't hold, which zhat does not",
                head.step
            );
        }
        if head.value != head.output && head.left_out.is_empty() {
            taken += "; the output says which classes are best, without p of every class";
        } else if head.answer == Answer::Scores && head.left_out.is_empty() {
            taken += "; the network ends in scores: p is their softmax";
        }
        let (weights, biases) = scaled(weights, bias, 1.0, &head.affine).map_err(|what| fail(&what))?;
        Ok(OutputLayer {
            weights,
            biases,
            input: input.map(|(scale, zero_point)| InputScale { scale, zero_point }),
            taken,
            left_out: (!head.left_out.is_empty()).then(|| labels(&head.left_out)),
        })
    }
}
