//! A network with other outputs than it has: everything that they do not need is left out.
//!
//! Fields are copied as they are, so that what this reader does not know stays as it was.

use std::collections::HashSet;

use super::Onnx;
use super::graph::Graph;
use super::head::Head;
use super::linear::Axis;
use crate::host::import::error::Obstacle;
use crate::host::import::protobuf::{Broken, Message, put_bytes, put_int};

/// The number of f32 in onnx.proto.
const FLOAT: i64 = 1;

/// A value that becomes an output. Tools want its shape, as far as it is known.
pub(in crate::host::import) struct Output<'a> {
    pub name: &'a str,
    pub shape: Option<Vec<Option<usize>>>,
}

impl<'a> From<&'a str> for Output<'a> {
    fn from(name: &'a str) -> Self {
        Self { name, shape: None }
    }
}

impl<'a> Graph<'a> {
    /// The query of a layer as an output: its axes are those of the weights, or of the network's output.
    pub fn query_output(&self, head: &Head<'a>) -> Output<'a> {
        let weights = self.constant_shape(head.layer.weights.value()).unwrap_or_default();
        let columns = weights.get(usize::from(head.layer.by_class)).copied();
        let known = self.outputs.iter().find(|output| output.name == head.output);
        let rank = match self.nodes[head.layer.node].op {
            "Gemm" => Some(2),
            "Conv" => Some(weights.len()),
            _ => known.filter(|_| head.same_layout).and_then(|output| Some(output.shape.as_ref()?.len())),
        };
        let shape = rank.filter(|&rank| rank >= 2).map(|rank| {
            let mut shape = vec![None; rank];
            shape[if head.layer.axis == Axis::Last { rank - 1 } else { 1 }] = columns;
            shape
        });
        Output { name: head.layer.query, shape }
    }
}

impl Onnx {
    /// The file with these outputs. With `whole` it is one for the engine: weights that are kept in other files are taken
    /// in, and what a convolution leaves unsaid is said.
    pub(in crate::host::import) fn with_outputs(
        &self,
        graph: &Graph<'_>,
        outputs: &[Output<'_>],
        whole: bool,
    ) -> Result<Vec<u8>, Obstacle> {
        let needed = needed(graph, outputs.iter().map(|output| output.name))?;
        let mut body = Vec::new();
        let mut node = 0;
        graph.message.each::<Obstacle>(|field| {
            let keep = match field.number {
                1 => {
                    node += 1;
                    let keep = needed.nodes.contains(&(node - 1));
                    if keep && whole && graph.nodes[node - 1].op == "Conv" {
                        put_bytes(&mut body, 1, &spelled_out(graph, node - 1, field.value.bytes()?)?);
                        return Ok(());
                    }
                    keep
                }
                5 => {
                    let tensor = super::tensor::Tensor::parse(field.value.message()?)?;
                    if needed.values.contains(tensor.name) && tensor.external.is_some() && whole {
                        put_bytes(&mut body, 5, &tensor.taken_in(self.folder())?);
                        return Ok(());
                    }
                    needed.values.contains(tensor.name)
                }
                // An input that is not needed would have to be given all the same.
                11 => needed.values.contains(super::graph::name_of(field.value.message()?)?),
                12 => false,
                // What is said about values that are gone is of no use.
                13 => needed.values.contains(super::graph::name_of(field.value.message()?)?),
                _ => true,
            };
            if keep {
                body.extend_from_slice(field.raw);
            }
            Ok(())
        })?;
        for output in outputs {
            put_bytes(&mut body, 12, &output_of(graph, output)?);
        }
        let mut file = Vec::with_capacity(body.len() + 1024);
        Message(&self.bytes).each::<Broken>(|field| {
            match field.number {
                7 => put_bytes(&mut file, 7, &body),
                _ => file.extend_from_slice(field.raw),
            }
            Ok(())
        })?;
        Ok(file)
    }
}

/// A convolution with the attributes that the format lets a writer leave out, and the engine does not.
fn spelled_out(graph: &Graph<'_>, node: usize, message: &[u8]) -> Result<Vec<u8>, Obstacle> {
    /// The number of a list of integers among the types of attributes.
    const INTS: i64 = 7;
    let node = &graph.nodes[node];
    let mut message = message.to_vec();
    let shape = node.input(1).and_then(|weights| graph.constant_shape(weights)).unwrap_or_default();
    let axes = shape.len().saturating_sub(2);
    for (name, value, count) in [("strides", 1, axes), ("dilations", 1, axes), ("pads", 0, 2 * axes)] {
        // Padding may be asked for in words instead.
        if axes == 0 || node.ints(name)?.is_some() || name == "pads" && node.has("auto_pad")? {
            continue;
        }
        let mut attribute = Vec::new();
        put_bytes(&mut attribute, 1, name.as_bytes());
        (0..count).for_each(|_| put_int(&mut attribute, 8, value));
        put_int(&mut attribute, 20, INTS);
        put_bytes(&mut message, 5, &attribute);
    }
    Ok(message)
}

struct Needed<'a> {
    nodes: HashSet<usize>,
    values: HashSet<&'a str>,
}

/// The nodes that some values come from, and all values that these nodes take or make.
fn needed<'a, 'o>(graph: &Graph<'a>, outputs: impl Iterator<Item = &'o str>) -> Result<Needed<'a>, Obstacle> {
    let mut needed = Needed { nodes: HashSet::new(), values: HashSet::new() };
    let mut open = Vec::new();
    for output in outputs {
        match graph.maker_index(output) {
            Some(index) => open.push(index),
            None if graph.inputs.iter().any(|input| input.name == output) => {
                let why = format!("the layer takes the network's input \"{output}\" as it is: nothing comes before it");
                return Err(Obstacle::Malformed(why));
            }
            None => return Err(Obstacle::Malformed(format!("no node makes \"{output}\""))),
        }
    }
    while let Some(index) = open.pop() {
        if !needed.nodes.insert(index) {
            continue;
        }
        let node = &graph.nodes[index];
        needed.values.extend(node.outputs.iter().copied());
        // A node with a graph inside takes values of this one without naming them as inputs.
        for value in node.inputs.iter().copied().chain(node.captured()?) {
            needed.values.insert(value);
            open.extend(graph.maker_index(value));
        }
    }
    Ok(needed)
}

/// An output: what the file says about the value, or else that it is of floats.
fn output_of(graph: &Graph<'_>, output: &Output<'_>) -> Result<Vec<u8>, Obstacle> {
    let (name, mut known) = (output.name, None);
    graph.message.each::<Broken>(|field| {
        if matches!(field.number, 12 | 13) {
            let message = field.value.message()?;
            if super::graph::name_of(message)? == name {
                known = Some(message.0.to_vec());
            }
        }
        Ok(())
    })?;
    Ok(known.unwrap_or_else(|| {
        let (mut tensor, mut kind, mut info) = (Vec::new(), Vec::new(), Vec::new());
        put_int(&mut tensor, 1, FLOAT);
        if let Some(lengths) = &output.shape {
            let mut shape = Vec::new();
            for &length in lengths {
                let mut axis = Vec::new();
                if let Some(length) = length {
                    put_int(&mut axis, 1, length as i64);
                }
                put_bytes(&mut shape, 1, &axis);
            }
            put_bytes(&mut tensor, 2, &shape);
        }
        put_bytes(&mut kind, 1, &tensor);
        put_bytes(&mut info, 1, name.as_bytes());
        put_bytes(&mut info, 2, &kind);
        info
    }))
}
