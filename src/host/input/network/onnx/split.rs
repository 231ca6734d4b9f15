//! A network with other outputs than it has: everything that they do not need is left out.
//!
//! Fields are copied as they are, so that what this reader does not know stays as it was.

use std::collections::HashSet;

use super::Onnx;
use super::graph::{Graph, Node};
use super::head::Head;
use super::shapes::{FLOAT, Shapes};
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::layout::Dim;
use crate::host::input::network::protobuf::{Broken, Message, put_bytes, put_int};

/// A value that becomes an output. Tools want its type, and its shape as far as it is known.
pub(in crate::host::input::network) struct Output<'a> {
    pub name: &'a str,
    kind: i64,
    shape: Option<Vec<Option<usize>>>,
}

impl<'a> Output<'a> {
    pub fn of(shapes: &Shapes<'a>, name: &'a str) -> Self {
        let info = shapes.get(name).cloned().unwrap_or_default();
        let length = |dim: &Dim| match *dim {
            Dim::Known(length) => Some(length),
            Dim::Symbol(_) => None,
        };
        let shape = info.dims.map(|dims| dims.iter().map(length).collect());
        Self { name, kind: if info.kind == 0 { FLOAT } else { info.kind }, shape }
    }
}

impl<'a> Graph<'a> {
    /// Returns the query of a layer as an output: the length of its columns is that of the weights.
    pub fn query_output(&self, shapes: &Shapes<'a>, head: &Head<'a>) -> Output<'a> {
        let mut output = Output::of(shapes, head.layer.query);
        let columns = self.lengths(&head.layer).map(|(_, columns)| columns);
        let op = self.nodes[head.layer.node].op;
        let rank = match op {
            op if op.ends_with("Gemm") => Some(2),
            op if op.ends_with("Conv") => self.constant_shape(head.layer.weights.value).map(|shape| shape.len()),
            // A product with a matrix has as many axes as its query, and nothing behind it moved axes that are not known.
            "MatMul" | "FusedMatMul" => match shapes.dims(head.layer.scores) {
                Some(dims) => Some(dims.len()),
                None if head.layout.rank().is_none() => {
                    self.declared.get(head.output).and_then(|output| output.shape.as_ref()).map(Vec::len)
                }
                None => None,
            },
            _ => None,
        };
        // Both operands of these have one type, which is surely known of the weights.
        if matches!(op, "Gemm" | "MatMul" | "FusedMatMul" | "Conv" | "Einsum")
            && let Some(kind) = shapes.kind(self, head.layer.weights.value)
        {
            output.kind = kind;
        }
        if output.shape.is_none() {
            output.shape = rank.map(|rank| vec![None; rank]);
        }
        if let Some(shape) = &mut output.shape {
            let axis = shape.len().checked_sub(1 + head.layer.query_axis);
            if let Some(length) = axis.and_then(|axis| shape.get_mut(axis)) {
                *length = columns;
            }
        }
        output
    }
}

impl Onnx {
    /// Returns the file with these outputs. Weights that are kept in other files are taken in, so that it may lie in any
    /// folder. With `whole` it is one for the engine: what a convolution leaves unsaid is said.
    pub(in crate::host::input::network) fn with_outputs(
        &self,
        graph: &Graph<'_>,
        shapes: &Shapes<'_>,
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
                    if keep && whole {
                        put_bytes(&mut body, 1, &spelled_out(graph, shapes, node - 1, field.value.message()?)?);
                        return Ok(());
                    }
                    keep
                }
                5 => {
                    let tensor = super::tensor::Tensor::parse(field.value.message()?)?;
                    if needed.values.contains(tensor.name) && tensor.external.is_some() {
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

/// Returns a node with the attributes that the format lets a writer leave out, and the engine does not, or reads otherwise.
fn spelled_out(graph: &Graph<'_>, shapes: &Shapes<'_>, node: usize, message: Message<'_>) -> Result<Vec<u8>, Obstacle> {
    /// The numbers of an integer and of a list of integers among the types of attributes.
    const INT: i64 = 2;
    const INTS: i64 = 7;
    let node = &graph.nodes[node];
    let mut spelled = message.0.to_vec();
    if matches!(node.op, "Softmax" | "LogSoftmax") && graph.opset < 13 {
        let axis = old_axis(shapes, node)?;
        spelled.clear();
        message.each::<Broken>(|field| {
            if field.number != 5 || super::graph::name_of(field.value.message()?)? != "axis" {
                spelled.extend_from_slice(field.raw);
            }
            Ok(())
        })?;
        let mut attribute = Vec::new();
        put_bytes(&mut attribute, 1, b"axis");
        put_int(&mut attribute, 3, axis);
        put_int(&mut attribute, 20, INT);
        put_bytes(&mut spelled, 5, &attribute);
    }
    // Without training it hands on its input, which the engine does not know.
    if node.op == "Dropout" && node.outputs.len() == 1 && !node.inputs.is_empty() && node.input(2).is_none() {
        spelled.clear();
        for (number, text) in [(1, node.inputs[0]), (2, node.output()), (3, node.name), (4, "Identity")] {
            put_bytes(&mut spelled, number, text.as_bytes());
        }
    }
    if node.op != "Conv" {
        return Ok(spelled);
    }
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
        put_bytes(&mut spelled, 5, &attribute);
    }
    Ok(spelled)
}

/// Returns the only axis that a softmax of before opset 13 runs over: it takes all axes from a given one on together, the engine one.
fn old_axis(shapes: &Shapes<'_>, node: &Node<'_>) -> Result<i64, Obstacle> {
    let axis = node.int("axis", 1)?;
    let dims = node.input(0).and_then(|input| shapes.dims(input));
    let range = dims.and_then(|dims| {
        Some((super::graph::axis(axis, dims.len())?..dims.len()).filter(|&at| dims[at] != Dim::Known(1)))
    });
    let only = range.and_then(|mut range| range.next().filter(|_| range.next().is_none()));
    match only {
        Some(axis) => Ok(axis as i64),
        None if axis == -1 => Ok(-1),
        // All of length one: any will do.
        None if dims.is_some_and(|dims| dims.iter().skip(axis.max(0) as usize).all(|dim| *dim == Dim::Known(1))) => {
            Ok(-1)
        }
        None => Err(Obstacle::Engine(format!(
            "{} is a softmax over several axes together, as before opset 13",
            node.label()
        ))),
    }
}

struct Needed<'a> {
    nodes: HashSet<usize>,
    values: HashSet<&'a str>,
}

/// Returns the nodes that some values come from, and all values that these nodes take or make.
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

/// Returns an output: what the file says about the value, or else that it is of floats.
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
        put_int(&mut tensor, 1, output.kind);
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
