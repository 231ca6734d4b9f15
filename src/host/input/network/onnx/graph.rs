//! The few fields of an ONNX file that say what a network is made of.
//!
//! Names and tensors are borrowed from the file. Numbers of fields are those of onnx.proto.

use std::collections::HashMap;

use super::tensor::Tensor;
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::protobuf::{Broken, Message, Value};

/// More nodes or tensors than any network has: bounds the memory that a hostile file can claim.
const MOST: usize = 1 << 20;

/// The network.
#[derive(Debug, Default)]
pub(in crate::host::input::network) struct Graph<'a> {
    pub nodes: Vec<Node<'a>>,
    pub inputs: Vec<Input<'a>>,
    pub outputs: Vec<Input<'a>>,
    /// What the file says about values: of its outputs, and of those in between.
    pub declared: HashMap<&'a str, Input<'a>>,
    /// The version of the standard operators.
    pub opset: i64,
    initializers: HashMap<&'a str, Tensor<'a>>,
    /// The node that makes each value.
    makers: HashMap<&'a str, usize>,
    /// Where the message of the graph stands in the file.
    pub message: Message<'a>,
}

/// An operator.
#[derive(Debug, Default)]
pub(in crate::host::input::network) struct Node<'a> {
    pub name: &'a str,
    /// The operator; empty for one that is not of the standard, nor one that is read all the same.
    pub op: &'a str,
    /// The name of such an operator.
    foreign: &'a str,
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
    pub message: Message<'a>,
}

/// What has to be given to the network, or what it gives.
#[derive(Clone, Debug)]
pub(in crate::host::input::network) struct Input<'a> {
    pub name: &'a str,
    /// The number of its type, as in onnx.proto.
    pub kind: i64,
    /// Lengths of its axes; `None` for one that varies, and no list at all where the file does not say.
    pub shape: Option<Vec<Option<usize>>>,
    /// Names of the lengths that vary.
    pub symbols: Vec<&'a str>,
}

impl<'a> Graph<'a> {
    /// Reads the network.
    pub fn parse(file: &'a [u8]) -> Result<Self, Obstacle> {
        let (mut graph, mut opset) = (None, 1);
        Message(file).each::<Broken>(|field| {
            match field.number {
                7 => graph = Some(field.value.message()?),
                8 => {
                    let (mut domain, mut version) = ("", 1);
                    field.value.message()?.each::<Broken>(|field| {
                        match field.number {
                            1 => domain = field.value.text()?,
                            2 => version = field.value.int()?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    if is_standard(domain) {
                        opset = version;
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        let message = graph.ok_or(Broken)?;
        let mut graph = Self { message, opset, ..Self::default() };
        message.each::<Obstacle>(|field| {
            match field.number {
                1 => graph.nodes.push(Node::parse(field.value.message()?)?),
                5 => {
                    let tensor = Tensor::parse(field.value.message()?)?;
                    graph.initializers.insert(tensor.name, tensor);
                }
                11 => graph.inputs.push(Input::parse(field.value.message()?)?),
                12 => {
                    let output = Input::parse(field.value.message()?)?;
                    graph.declared.insert(output.name, output.clone());
                    graph.outputs.push(output);
                }
                13 => {
                    let value = Input::parse(field.value.message()?)?;
                    graph.declared.entry(value.name).or_insert(value);
                }
                _ => {}
            }
            let [nodes, tensors] = [graph.nodes.len(), graph.initializers.len()];
            match nodes.max(tensors).max(graph.inputs.len()).max(graph.outputs.len()).max(graph.declared.len()) {
                0..=MOST => Ok(()),
                _ => Err(Obstacle::Malformed(format!("has more than {MOST} nodes or tensors"))),
            }
        })?;
        // Files of old versions list the weights among the inputs.
        graph.inputs.retain(|input| !graph.initializers.contains_key(input.name));
        for (index, node) in graph.nodes.iter().enumerate() {
            for &output in node.outputs.iter().filter(|output| !output.is_empty()) {
                graph.makers.insert(output, index);
            }
        }
        if graph.nodes.is_empty() || graph.outputs.is_empty() {
            return Err(Obstacle::Malformed("has no nodes or no outputs".into()));
        }
        Ok(graph)
    }

    /// Returns the node that makes a value.
    pub fn maker(&self, value: &str) -> Option<&Node<'a>> {
        self.nodes.get(self.maker_index(value)?)
    }

    /// Returns the index of that node.
    pub fn maker_index(&self, value: &str) -> Option<usize> {
        self.makers.get(value).copied()
    }

    /// Returns a tensor of the file: an initializer, or what a node `Constant` holds.
    pub fn tensor(&self, value: &str) -> Option<Result<Tensor<'a>, Obstacle>> {
        if let Some(tensor) = self.initializers.get(value) {
            return Some(Ok(tensor.clone()));
        }
        let node = self.maker(value).filter(|node| node.op == "Constant")?;
        match node.attribute("value", 5) {
            Ok(Some(value)) => Some(value.message().map_err(Obstacle::from).and_then(Tensor::parse)),
            _ => None,
        }
    }

    /// Returns whether nothing but weights goes into a value.
    pub fn is_tensor(&self, value: &str) -> bool {
        self.initializers.contains_key(value) || self.maker(value).is_some_and(|node| node.op == "Constant")
    }

    /// Returns the nodes that take a value.
    pub fn users(&self, value: &str) -> impl Iterator<Item = usize> {
        let takes = move |node: &Node<'_>| node.inputs.contains(&value);
        self.nodes.iter().enumerate().filter(move |(_, node)| takes(node)).map(|(index, _)| index)
    }
}

/// Returns an axis, counted from the end if it is negative.
pub(super) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// Returns whether operators of this domain are those of the ONNX standard.
fn is_standard(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

/// Operators of ONNX Runtime that are read; their names are none of the standard's, or mean the same there.
const CONTRIBUTED: [&str; 12] = [
    "QGemm",
    "QLinearAdd",
    "QLinearMul",
    "QLinearSoftmax",
    "QLinearSigmoid",
    "QLinearLeakyRelu",
    "FusedMatMul",
    "DynamicQuantizeMatMul",
    "MatMulIntegerToFloat",
    "QuantizeLinear",
    "DequantizeLinear",
    "FastGelu",
];

impl<'a> Node<'a> {
    fn parse(message: Message<'a>) -> Result<Self, Obstacle> {
        let (mut node, mut domain) = (Self { message, ..Self::default() }, "");
        message.each::<Broken>(|field| {
            match field.number {
                1 => node.inputs.push(field.value.text()?),
                2 => node.outputs.push(field.value.text()?),
                3 => node.name = field.value.text()?,
                4 => node.op = field.value.text()?,
                7 => domain = field.value.text()?,
                _ => {}
            }
            Ok(())
        })?;
        // An operator of another domain is another operator, whatever its name.
        let is_known = is_standard(domain) || (domain == "com.microsoft" && CONTRIBUTED.contains(&node.op));
        if !is_known {
            node.foreign = node.op;
            node.op = "";
        }
        Ok(node)
    }

    /// Returns an input that is there; operators leave out those that they do not need.
    pub fn input(&self, index: usize) -> Option<&'a str> {
        self.inputs.get(index).copied().filter(|name| !name.is_empty())
    }

    /// Returns the first output.
    pub fn output(&self) -> &'a str {
        self.outputs.first().copied().unwrap_or("")
    }

    /// Returns an attribute: the field that holds what it is.
    pub fn attribute(&self, name: &str, number: u64) -> Result<Option<Value<'a>>, Broken> {
        let mut found = None;
        for attribute in children(self.message, 5)? {
            if name_of(attribute)? == name {
                attribute.each::<Broken>(|field| {
                    if field.number == number {
                        found = Some(field.value);
                    }
                    Ok(())
                })?;
            }
        }
        Ok(found)
    }

    /// Returns whether there is an attribute of this name.
    pub fn has(&self, name: &str) -> Result<bool, Broken> {
        let mut found = false;
        for attribute in children(self.message, 5)? {
            found |= name_of(attribute)? == name;
        }
        Ok(found)
    }

    /// Returns an attribute that is a text.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, Broken> {
        self.attribute(name, 4)?.map(|value| value.text()).transpose()
    }

    /// Returns an attribute that is a tensor.
    pub fn tensor(&self, name: &str) -> Option<Tensor<'a>> {
        Tensor::parse(self.attribute(name, 5).ok()??.message().ok()?).ok()
    }

    /// Returns an attribute that is a list of floats.
    pub fn floats(&self, name: &str) -> Result<Option<Vec<f32>>, Broken> {
        let mut list = None;
        for attribute in children(self.message, 5)? {
            if name_of(attribute)? == name {
                let list = list.get_or_insert_with(Vec::new);
                attribute.each::<Broken>(|field| {
                    match (field.number, field.value) {
                        (7, Value::Bytes(packed)) => {
                            list.extend(packed.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
                        }
                        (7, value) => list.push(value.float()?),
                        _ => {}
                    }
                    Ok(())
                })?;
            }
        }
        Ok(list)
    }

    /// Returns an attribute that is an integer.
    pub fn int(&self, name: &str, default: i64) -> Result<i64, Broken> {
        self.attribute(name, 3)?.map_or(Ok(default), |value| value.int())
    }

    /// Returns an attribute that is a float.
    pub fn float(&self, name: &str, default: f32) -> Result<f32, Broken> {
        self.attribute(name, 2)?.map_or(Ok(default), |value| value.float())
    }

    /// Returns an attribute that is a list of integers.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>, Broken> {
        let mut list = None;
        for attribute in children(self.message, 5)? {
            if name_of(attribute)? == name {
                let list = list.get_or_insert_with(Vec::new);
                attribute.each::<Broken>(|field| match field.number {
                    8 => field.value.each_int(|value| list.push(value)),
                    _ => Ok(()),
                })?;
            }
        }
        Ok(list)
    }

    /// Returns values that graphs inside of the node (those of `If` and `Loop`) name as inputs of their nodes.
    pub fn captured(&self) -> Result<Vec<&'a str>, Broken> {
        /// More levels than a network has.
        const DEEPEST: usize = 8;
        let mut names = Vec::new();
        let mut level = vec![self.message];
        for _ in 0..DEEPEST {
            let mut next = Vec::new();
            for node in &level {
                for attribute in children(*node, 5)? {
                    // One graph, or a list of them.
                    for graph in children(attribute, 6)?.into_iter().chain(children(attribute, 11)?) {
                        for node in children(graph, 1)? {
                            node.each::<Broken>(|field| {
                                if field.number == 1 {
                                    names.push(field.value.text()?);
                                }
                                Ok(())
                            })?;
                            next.push(node);
                        }
                        // A value may be handed out as it is.
                        for output in children(graph, 12)? {
                            names.push(name_of(output)?);
                        }
                    }
                }
            }
            level = next;
        }
        Ok(names)
    }

    /// Returns the node's name, or that of its output where it has none, and its operator.
    pub fn label(&self) -> String {
        format!("{} ({})", self.id(), if self.op.is_empty() { self.foreign } else { self.op })
    }

    /// Returns the name that `--layer` takes.
    pub fn id(&self) -> &'a str {
        if self.name.is_empty() { self.output() } else { self.name }
    }
}

impl<'a> Input<'a> {
    fn parse(message: Message<'a>) -> Result<Self, Obstacle> {
        let mut input = Self { name: name_of(message)?, kind: 0, shape: None, symbols: Vec::new() };
        // ValueInfo: type → tensor type → element type and shape.
        for kind in children(message, 2)? {
            for tensor in children(kind, 1)? {
                tensor.each::<Broken>(|field| {
                    match field.number {
                        1 => input.kind = field.value.int()?,
                        2 => {
                            let (lengths, symbols) = lengths(field.value.message()?)?;
                            (input.shape, input.symbols) = (Some(lengths), symbols);
                        }
                        _ => {}
                    }
                    Ok(())
                })?;
            }
        }
        Ok(input)
    }
}

fn lengths(shape: Message<'_>) -> Result<(Vec<Option<usize>>, Vec<&str>), Broken> {
    let (mut lengths, mut symbols) = (Vec::new(), Vec::new());
    for axis in children(shape, 1)? {
        let (mut length, mut symbol) = (None, "");
        axis.each::<Broken>(|field| {
            match field.number {
                1 => length = usize::try_from(field.value.int()?).ok().filter(|&length| length > 0),
                2 => symbol = field.value.text()?,
                _ => {}
            }
            Ok(())
        })?;
        lengths.push(length);
        symbols.push(symbol);
    }
    Ok((lengths, symbols))
}

/// Returns the messages in a field.
pub(super) fn children(message: Message<'_>, number: u64) -> Result<Vec<Message<'_>>, Broken> {
    let mut found = Vec::new();
    message.each::<Broken>(|field| {
        if field.number == number {
            found.push(field.value.message()?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the name of a value, attribute or entry, which all have it in the first field.
pub(super) fn name_of(message: Message<'_>) -> Result<&str, Broken> {
    let mut name = "";
    message.each::<Broken>(|field| {
        if field.number == 1 {
            name = field.value.text()?;
        }
        Ok(())
    })?;
    Ok(name)
}
