//! From the layer's scores to the network's outputs: every node between them is understood, or named.

use std::collections::HashMap;
use std::path::Path;

use super::graph::{Graph, Node};
use super::linear::{Linear, Scale};
use super::shapes::{Shapes, reshape_entries};
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::layout::{Along, Dim, Entry, Layout, joined};
use crate::host::input::network::meaning::{Form, Meaning, PerClass, Reduction};

/// More operators than stand behind any layer: bounds what a hostile file makes of it.
const MOST: usize = 256;
/// Why integers whose zero point is at one end of their range are no scores.
const ONE_SIDED: &str = "rounds scores to integers whose zero point is the least or the largest of them, which cuts off all \
     scores on one side of zero";

/// What is known of a value behind the layer.
#[derive(Clone, Debug)]
pub(in crate::host::input::network) struct Value<'a> {
    pub meaning: Meaning,
    pub layout: Layout,
    /// For integers: scale and zero point.
    integers: Option<(f64, f64)>,
    /// The coarsest step that scores were rounded to on the way.
    pub step: f64,
    /// For the best classes: the value that they were chosen from.
    pub source: Option<&'a str>,
}

impl Value<'_> {
    pub fn is_integers(&self) -> bool {
        self.integers.is_some()
    }

    /// Returns the value that integers stand for.
    pub fn as_floats(&self) -> Self {
        Self { integers: None, ..self.clone() }
    }
}

/// What a value behind the layer is.
#[derive(Clone, Debug)]
pub(super) enum State<'a> {
    Known(Value<'a>),
    /// No longer understood: since this node, for this reason.
    Lost {
        node: usize,
        why: String,
    },
}

/// Everything that comes from a layer.
pub(super) struct Tail<'g, 'a> {
    graph: &'g Graph<'a>,
    shapes: &'g Shapes<'a>,
    folder: &'g Path,
    classes: usize,
    states: HashMap<&'a str, State<'a>>,
    ids: usize,
    /// The node that is read.
    node: usize,
}

/// What is wrong with a node, or why a constant can't be read.
enum Fault {
    Lost(String),
    Obstacle(Obstacle),
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Self::Lost(why)
    }
}

impl From<&str> for Fault {
    fn from(why: &str) -> Self {
        Self::Lost(why.into())
    }
}

impl From<Obstacle> for Fault {
    fn from(obstacle: Obstacle) -> Self {
        Self::Obstacle(obstacle)
    }
}

impl From<crate::host::input::network::protobuf::Broken> for Fault {
    fn from(_: crate::host::input::network::protobuf::Broken) -> Self {
        Self::Lost("has broken attributes".into())
    }
}

impl<'g, 'a> Tail<'g, 'a> {
    /// Follows the scores of a layer to the end of the network.
    pub fn of(
        graph: &'g Graph<'a>,
        shapes: &'g Shapes<'a>,
        folder: &'g Path,
        layer: &Linear<'a>,
    ) -> Result<Self, Obstacle> {
        let classes = graph.lengths(layer).map_or(0, |(classes, _)| classes);
        let mut tail = Self { graph, shapes, folder, classes, states: HashMap::new(), ids: 1, node: 0 };
        let first = match tail.scores(layer)? {
            _ if layer.scores_scale.is_some_and(|scale| tail.is_one_sided(scale)) => {
                State::Lost { node: layer.node, why: ONE_SIDED.into() }
            }
            first => State::Known(first),
        };
        tail.states.insert(layer.scores, first);
        let mut count = 0;
        for (index, node) in graph.nodes.iter().enumerate() {
            if node.outputs.contains(&layer.scores) {
                continue;
            }
            // Values that graphs inside of a node take count as its inputs.
            let captured = if node.op == "If" || node.op.is_empty() || node.op == "Loop" || node.op == "Scan" {
                node.captured()?
            } else {
                Vec::new()
            };
            let late = |value: &&str| graph.maker_index(value).is_some_and(|maker| maker >= index);
            if node.inputs.iter().any(late) {
                return Err(Obstacle::Malformed(format!(
                    "{} stands before a node that it takes a value of",
                    node.label()
                )));
            }
            let mut taken = node.inputs.iter().chain(&captured).filter_map(|input| tail.states.get(input)).peekable();
            if taken.peek().is_none() || matches!(node.op, "Shape" | "Size") {
                continue;
            }
            let lost = taken.find_map(|state| match state {
                State::Lost { node, why } => Some((*node, why.clone())),
                State::Known(_) => None,
            });
            count += 1;
            tail.node = index;
            let made = match lost {
                Some((node, why)) => State::Lost { node, why },
                None if count > MOST => State::Lost { node: index, why: format!("is behind {MOST} other operators") },
                None => match tail.read(node, !captured.is_empty()) {
                    Ok(value) => State::Known(value),
                    Err(Fault::Lost(why)) => State::Lost { node: index, why },
                    Err(Fault::Obstacle(obstacle)) => return Err(obstacle),
                },
            };
            for (at, &output) in node.outputs.iter().enumerate().filter(|(_, output)| !output.is_empty()) {
                let state = match (&made, node.op, at) {
                    // The values that were chosen come first, their numbers second.
                    (State::Known(value), "TopK", 1) => {
                        let meaning = Meaning { form: Form::Choice, ..value.meaning.clone() };
                        State::Known(Value { meaning, ..value.clone() })
                    }
                    // The mask of a dropout is of no use to anybody.
                    (State::Known(_), _, 1..) => State::Lost { node: index, why: "has several outputs".into() },
                    (state, _, _) => state.clone(),
                };
                tail.states.insert(output, state);
            }
        }
        Ok(tail)
    }

    pub fn get(&self, value: &str) -> Option<&State<'a>> {
        self.states.get(value)
    }

    fn scores(&self, layer: &Linear<'a>) -> Result<Value<'a>, Obstacle> {
        let rank = match self.graph.nodes[layer.node].op {
            op if op.ends_with("Gemm") => Some(2),
            op if op.ends_with("Conv") => self.graph.constant_shape(layer.weights.value).map(|shape| shape.len()),
            _ => None,
        };
        let unknown = rank.map(|rank| vec![Dim::Symbol(u32::MAX); rank]);
        let dims = self.shapes.dims(layer.scores).map(<[Dim]>::to_vec).or(unknown);
        let layout = match dims {
            Some(mut dims) if layer.class_axis < dims.len() => {
                let class = dims.len() - 1 - layer.class_axis;
                dims[class] = Dim::Known(self.classes);
                Layout::new(&dims, class)
            }
            _ => Layout::last(),
        };
        let integers = layer.scores_scale.map(|scale| self.scale(scale)).transpose()?;
        let step = integers.map_or(0.0, |(scale, _)| scale);
        Ok(Value { meaning: Meaning::of_layer(0), layout, integers, step, source: None })
    }

    /// Scale and zero point of integers, if there is one of each.
    fn scale(&self, scale: Scale<'a>) -> Result<(f64, f64), Obstacle> {
        let fail = |what: &str| Obstacle::Malformed(format!("the {what} \"{}\" is not one number", scale.scale));
        let zero = scale.zero.map(|zero| self.graph.number(zero, self.folder).ok_or_else(|| fail("zero point beside")));
        let found = self.graph.number(scale.scale, self.folder).filter(|&scale| scale.is_finite() && scale > 0.0);
        Ok((found.ok_or_else(|| fail("scale"))?, zero.transpose()?.unwrap_or(0.0)))
    }

    /// Returns whether integers can't stand for numbers of both signs.
    fn is_one_sided(&self, scale: Scale<'a>) -> bool {
        // Integers without a zero point are unsigned bytes, and zero is zero.
        let Some(zero) = scale.zero else { return true };
        let kind = self.graph.tensor(zero).and_then(Result::ok).map_or(0, |tensor| tensor.kind());
        let (least, most) = match kind {
            2 => (0.0, 255.0),
            3 => (-128.0, 127.0),
            4 => (0.0, 65535.0),
            5 => (-32768.0, 32767.0),
            _ => return false,
        };
        self.graph.number(zero, self.folder).is_some_and(|zero| zero <= least || zero >= most)
    }

    fn known(&self, value: &str) -> Option<&Value<'a>> {
        match self.states.get(value)? {
            State::Known(value) => Some(value),
            State::Lost { .. } => None,
        }
    }

    fn id(&mut self) -> usize {
        self.ids += 1;
        self.ids
    }

    /// Reads a constant beside a value: the layout of both together, and one number or one for each class.
    fn constant(&self, value: &Value<'a>, name: &str) -> Result<(Layout, PerClass), Fault> {
        let Some(shape) = self.graph.constant_shape(name) else {
            return Err(format!("takes \"{name}\", which neither is constant nor comes from the layer").into());
        };
        let classes = self.classes(value);
        let (layout, along) = value.layout.beside(&shape, classes)?;
        let values: Vec<f64> = self.graph.constant(name, self.folder)?.floats().into_iter().map(f64::from).collect();
        match along {
            Along::Classes if values.len() == classes => Ok((layout, PerClass::new(values))),
            Along::All if values.len() == 1 => Ok((layout, PerClass::All(values[0]))),
            _ => Err("takes a constant of another length than the classes".into()),
        }
    }

    fn classes(&self, value: &Value<'a>) -> usize {
        value.meaning.affine.rows.as_ref().map_or(self.classes, Vec::len)
    }

    /// Reads what a node makes of the values that it takes.
    fn read(&mut self, node: &Node<'a>, captured: bool) -> Result<Value<'a>, Fault> {
        if captured || matches!(node.op, "" | "If" | "Loop" | "Scan") {
            return Err("is an operator that is not looked into".into());
        }
        let known: Vec<&'a str> = node.inputs.iter().copied().filter(|input| self.known(input).is_some()).collect();
        let first = known.first().and_then(|name| self.known(name)).cloned().ok_or("takes nothing of the layer")?;
        if known.iter().all(|name| self.known(name).is_some_and(|value| value.meaning.form == Form::Choice)) {
            return Ok(first);
        }
        let is_move = self.is_move(node);
        if first.meaning.form == Form::Best && is_move {
            return Ok(first);
        }
        if first.integers.is_some()
            && !is_move
            && !matches!(node.op, "DequantizeLinear" | "ArgMax" | "TopK")
            && !node.op.starts_with("QLinear")
        {
            return Err("computes with integers that stand for scores".into());
        }
        let id = self.id();
        let only_first = node.input(0) == known.first().copied() && known.len() == 1;
        match node.op {
            "Add" | "Sub" | "Mul" | "Div" | "Sum" | "Pow" | "Max" | "Min" => self.binary(node, &known, id),
            "Where" => self.chosen(node, &first, id),
            _ if !only_first => Err("takes a value of the layer for something else than its data".into()),
            "Softmax" | "LogSoftmax" | "QLinearSoftmax" | "Hardmax" => {
                let opset = if node.op == "QLinearSoftmax" { node.int("opset", 13)? } else { self.graph.opset };
                let range = match opset < 13 {
                    true => first.layout.axes_from(node.int("axis", 1)?)?,
                    false => vec![node.int("axis", -1)?],
                };
                first.layout.expect_classes(
                    &range,
                    if opset < 13 { "is a softmax, as before opset 13, over" } else { "is a softmax over" },
                )?;
                let meaning = match node.op {
                    "LogSoftmax" => first.meaning.log_softmax(id)?,
                    "Hardmax" => {
                        return Err("gives one to the best class and zero to the others: no probabilities".into());
                    }
                    _ => first.meaning.softmax(id)?,
                };
                match node.op {
                    "QLinearSoftmax" => {
                        let scale = Scale { scale: node.input(3).ok_or("has no scale")?, zero: node.input(4) };
                        Ok(Value { meaning, integers: Some(self.scale(scale)?), ..first })
                    }
                    _ => Ok(Value { meaning, ..first }),
                }
            }
            "Exp" => Ok(Value { meaning: first.meaning.exp(id)?, ..first }),
            "Log" => Ok(Value { meaning: first.meaning.ln(id)?, ..first }),
            "Neg" => Ok(Value { meaning: first.meaning.times(&PerClass::All(-1.0), id)?, ..first }),
            "Sqrt" => Ok(Value { meaning: first.meaning.power(0.5, id)?, ..first }),
            "Reciprocal" => Ok(Value { meaning: first.meaning.power(-1.0, id)?, ..first }),
            "Clip" => {
                let limit = |at: usize, name: &str, default: f32| match node.input(at) {
                    Some(input) => self.graph.number(input, self.folder).ok_or("limits values to others"),
                    None => Ok(f64::from(node.float(name, default).map_err(|_| "has broken attributes")?)),
                };
                // The limits of old versions default to the largest floats.
                let (low, high) = (limit(1, "min", f32::NEG_INFINITY)?, limit(2, "max", f32::INFINITY)?);
                let open = |limit: f64| {
                    if limit.abs() >= f64::from(f32::MAX) { limit.signum() * f64::INFINITY } else { limit }
                };
                let meaning = first.meaning.clipped(open(low), open(high), self.classes(&first))?;
                Ok(Value { meaning, ..first })
            }
            "ReduceSum" | "ReduceMax" | "ReduceMean" | "ReduceMin" | "ReduceL1" | "ReduceL2" | "ReduceLogSumExp"
            | "ReduceLogSum" | "ReduceSumSquare" | "ReduceProd" => self.reduce(node, first, id),
            "LpNormalization" => {
                first.layout.expect_classes(&[node.int("axis", -1)?], "normalises")?;
                match node.int("p", 2)? {
                    1 => Ok(Value { meaning: first.meaning.normalised(id)?, ..first }),
                    _ => Err("divides by the root of a sum of squares".into()),
                }
            }
            "ArgMax" | "TopK" => {
                let axis = node.int("axis", if node.op == "ArgMax" { 0 } else { -1 })?;
                first.layout.expect_classes(&[axis], "takes the best along")?;
                let form = if node.op == "ArgMax" { Form::Choice } else { Form::Best };
                if node.op == "TopK" && node.int("largest", 1)? == 0 {
                    return Err("takes the smallest values".into());
                }
                let meaning = first.meaning.best(form, id)?;
                Ok(Value { meaning, source: node.input(0), ..first })
            }
            "QuantizeLinear" => {
                if first.meaning.form == Form::LogP || !first.meaning.is_by_class() {
                    return Err("rounds values to integers".into());
                }
                let scale = Scale { scale: node.input(1).ok_or("has no scale")?, zero: node.input(2) };
                // Types of integers may also be said by an attribute, which leaves zero in their middle.
                let is_signed = scale.zero.is_none() && matches!(node.int("output_dtype", 0)?, 3 | 5);
                if matches!(first.meaning.form, Form::Scores(_)) && !is_signed && self.is_one_sided(scale) {
                    return Err(ONE_SIDED.into());
                }
                let scale = self.scale(scale)?;
                let step = if first.meaning.form == Form::P { first.step } else { first.step.max(scale.0) };
                Ok(Value { integers: Some(scale), step, ..first })
            }
            "DequantizeLinear" => self.dequantised(node, first, id),
            "BatchNormalization" => self.normalised(node, first, id),
            "QLinearAdd" | "QLinearMul" => self.joined_integers(node, first, id),
            "Gather" | "Slice" => self.picked(node, first, id),
            _ if is_move => self.moved(node, first),
            "Sigmoid" | "HardSigmoid" | "QLinearSigmoid" => {
                Err("is a sigmoid: it gives each class a probability by itself, and they do not sum to one".into())
            }
            _ => Err("makes something of the scores that no bias, factor or temperature makes up for".into()),
        }
    }

    /// Returns whether a node only moves or rounds values.
    fn is_move(&self, node: &Node<'a>) -> bool {
        match node.op {
            "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Transpose" | "Expand" | "CastLike" => true,
            // Of floats.
            "Cast" => matches!(node.int("to", 0), Ok(1 | 10 | 11 | 16)),
            "Dropout" => node.input(2).is_none_or(|training| self.is_false(training)),
            "Concat" => node.inputs.len() == 1,
            _ => false,
        }
    }

    fn is_false(&self, value: &str) -> bool {
        self.graph.tensor(value).and_then(Result::ok).is_some_and(|tensor| tensor.is_false())
    }

    fn moved(&self, node: &Node<'a>, value: Value<'a>) -> Result<Value<'a>, Fault> {
        let layout = match node.op {
            "Transpose" => value.layout.transposed(node.ints("perm")?.as_deref())?,
            "Squeeze" => value.layout.squeezed(Shapes::axes(self.graph, node, 1)?.as_deref())?,
            "Unsqueeze" => value.layout.unsqueezed(&Shapes::axes(self.graph, node, 1)?.ok_or("has no axes")?)?,
            "Reshape" | "Flatten" => {
                let dims = value.layout.dims();
                let asked = match node.op {
                    "Flatten" => {
                        let dims = dims.as_deref().ok_or("is a shape of unknown axes")?;
                        let axis = node.int("axis", 1)?;
                        let axis = usize::try_from(if axis < 0 { axis + dims.len() as i64 } else { axis });
                        let (front, behind) = axis
                            .ok()
                            .and_then(|axis| dims.split_at_checked(axis))
                            .ok_or("names an axis that is not there")?;
                        vec![joined(front), joined(behind)]
                    }
                    _ => {
                        let asked = node.input(1).and_then(|name| match self.shapes.list(name) {
                            Some(list) => Some(list.to_vec()),
                            None => self.graph.integers(name).map(|list| list.iter().map(entry).collect()),
                        });
                        if asked.is_none() && node.input(1).is_some() {
                            // What the file says of the result may be enough.
                            let said = self.shapes.dims(node.output()).ok_or("takes its shape from a value")?;
                            said.iter().map(|&dim| Entry::Length(dim)).collect()
                        } else {
                            reshape_entries(asked, node, dims.as_deref()).ok_or("takes its shape from a value")?
                        }
                    }
                };
                // A length that is left may be known of the values themselves.
                let said = self.shapes.dims(node.output()).filter(|said| said.len() == asked.len());
                let filled = asked.iter().enumerate().map(|(at, &entry)| match (entry, said.map(|said| said[at])) {
                    (Entry::Rest | Entry::Unknown, Some(Dim::Known(length))) => Entry::Length(Dim::Known(length)),
                    _ => entry,
                });
                value.layout.reshaped(&filled.collect::<Vec<_>>(), self.classes(&value))?
            }
            "Expand" => {
                let shape = node.input(1).and_then(|name| self.graph.integers(name)).ok_or("repeats values")?;
                if !shape.iter().all(|&length| length == 1) || value.layout.rank().is_none_or(|rank| shape.len() > rank)
                {
                    return Err("repeats values".into());
                }
                value.layout.clone()
            }
            _ => value.layout.clone(),
        };
        Ok(Value { layout, ..value })
    }

    /// Joins two operands: values of the layer, or one and a constant.
    fn binary(&self, node: &Node<'a>, known: &[&'a str], id: usize) -> Result<Value<'a>, Fault> {
        let [a, b] = node.inputs[..] else { return Err("joins more than two values".into()) };
        if let (Some(first), Some(second)) = (self.known(a), self.known(b)) {
            return Self::joined(node, first, second, id);
        }
        let first = self.known(known[0]).ok_or("takes nothing of the layer")?;
        let is_left = self.known(a).is_some();
        let (layout, constant) = self.constant(first, if is_left { b } else { a })?;
        let m = &first.meaning;
        let meaning = match (node.op, is_left) {
            ("Add" | "Sum", _) => m.plus(&constant, id)?,
            ("Sub", true) => m.plus(&constant.map(|value| -value), id)?,
            ("Sub", false) => m.times(&PerClass::All(-1.0), id)?.plus(&constant, id)?,
            ("Mul", _) => m.times(&constant, id)?,
            ("Div", true) => m.times(&constant.map(f64::recip), id)?,
            ("Div", false) if constant.is(1.0) => m.power(-1.0, id)?,
            ("Pow", true) => match constant {
                PerClass::All(exponent) => m.power(exponent, id)?,
                PerClass::Each(_) => return Err("raises each class to a power of its own".into()),
            },
            ("Max", _) => match constant {
                PerClass::All(low) => m.clipped(low, f64::INFINITY, self.classes(first))?,
                PerClass::Each(_) => return Err("takes the larger one of values and constants".into()),
            },
            ("Min", _) => match constant {
                PerClass::All(high) => m.clipped(f64::NEG_INFINITY, high, self.classes(first))?,
                PerClass::Each(_) => return Err("takes the smaller one of values and constants".into()),
            },
            _ => return Err("divides a constant by values".into()),
        };
        Ok(Value { meaning, layout, ..first.clone() })
    }

    /// Joins two values of the layer.
    fn joined(node: &Node<'a>, a: &Value<'a>, b: &Value<'a>, id: usize) -> Result<Value<'a>, Fault> {
        let different = "joins two values of the layer that lie differently";
        let (a_layout, b_layout) = (a.layout.like(&b.layout), b.layout.like(&a.layout));
        if !a_layout.fits(&b_layout) {
            return Err(different.into());
        }
        let (m, n) = (&a.meaning, &b.meaning);
        let (meaning, layout) = match node.op {
            "Add" | "Sum" if m.is_by_class() => (m.plus_value(n, 1.0, id)?, a_layout),
            "Add" | "Sum" => (n.plus_value(m, 1.0, id)?, b_layout),
            "Sub" => (m.plus_value(n, -1.0, id)?, a_layout),
            "Div" => (m.by_value(n, id)?, a_layout),
            "Mul" if m.is_by_class() => (m.times_value(n, id)?, a_layout),
            "Mul" => (n.times_value(m, id)?, b_layout),
            _ => return Err("joins two values of the layer".into()),
        };
        Ok(Value { meaning, layout, step: a.step.max(b.step), ..a.clone() })
    }

    /// Applies a mask: values where it is true, a constant elsewhere, or the other way round.
    fn chosen(&self, node: &Node<'a>, first: &Value<'a>, id: usize) -> Result<Value<'a>, Fault> {
        let [mask, a, b] = node.inputs[..] else { return Err("has not three inputs".into()) };
        let (is_left, other) = match (self.known(a).is_some(), self.known(b).is_some()) {
            (true, false) => (true, b),
            (false, true) => (false, a),
            _ => return Err("chooses between values of the layer".into()),
        };
        if self.states.contains_key(mask) {
            return Err("chooses by values of the layer".into());
        }
        let (layout, constant) = self.constant(first, other)?;
        let (grown, mask) = self.constant(&Value { layout, ..first.clone() }, mask)?;
        let replaced: Vec<bool> = (0..self.classes(first)).map(|class| (mask.at(class) != 0.0) != is_left).collect();
        let meaning = first.meaning.replaced(&replaced, &constant, id)?;
        Ok(Value { meaning, layout: grown, ..first.clone() })
    }

    fn reduce(&self, node: &Node<'a>, value: Value<'a>, id: usize) -> Result<Value<'a>, Fault> {
        let keep = node.int("keepdims", 1)? != 0;
        let axes = match Shapes::axes(self.graph, node, 1)?.filter(|axes| !axes.is_empty()) {
            Some(axes) => axes,
            None if node.int("noop_with_empty_axes", 0)? != 0 => return Ok(value),
            None => {
                let rank = value.layout.rank().ok_or("reduces axes that the file does not say")?;
                (0..rank as i64).collect()
            }
        };
        let reduction = match node.op {
            "ReduceSum" | "ReduceL1" => Reduction::Sum,
            "ReduceMax" => Reduction::Max,
            "ReduceLogSumExp" => Reduction::LogSumExp,
            _ => Reduction::Other,
        };
        if !value.meaning.is_by_class() {
            return Err("reduces what was reduced before".into());
        }
        value.layout.expect_classes(&axes, "reduces")?;
        // The absolute values of probabilities are themselves.
        if node.op == "ReduceL1" && !matches!(value.meaning.form, Form::P | Form::Weights { .. }) {
            return Err("adds up absolute values".into());
        }
        let meaning = value.meaning.reduced(reduction, id)?;
        let source = if meaning.form == Form::Best { node.input(0) } else { value.source };
        Ok(Value { meaning, layout: value.layout.reduced(&axes, keep)?, source, ..value })
    }

    /// (integers − zero) · scale, which need not be those that made the integers.
    fn dequantised(&self, node: &Node<'a>, value: Value<'a>, id: usize) -> Result<Value<'a>, Fault> {
        let Some((made_scale, made_zero)) = value.integers else { return Err("takes values for integers".into()) };
        let (scale, zero) = self.scale(Scale { scale: node.input(1).ok_or("has no scale")?, zero: node.input(2) })?;
        let factor = PerClass::All(scale / made_scale);
        let shift = PerClass::All((made_zero - zero) * scale);
        let meaning = value.meaning.times(&factor, id)?.plus(&shift, id)?;
        Ok(Value { meaning, integers: None, ..value })
    }

    /// Adds or multiplies integers with others.
    fn joined_integers(&self, node: &Node<'a>, value: Value<'a>, id: usize) -> Result<Value<'a>, Fault> {
        let other = node.input(3).ok_or("has no second operand")?;
        let at = |index: usize| -> Result<(f64, f64), Fault> {
            Ok(self.scale(Scale { scale: node.input(index).ok_or("has no scale")?, zero: node.input(index + 1) })?)
        };
        if value.integers != Some(at(1)?) {
            return Err("reads integers with another scale than they were made with".into());
        }
        let (layout, constant) = self.constant(&value, other)?;
        let (scale, zero) = at(4)?;
        let constant = constant.map(|value| (value - zero) * scale);
        let meaning = match node.op {
            "QLinearAdd" => value.meaning.plus(&constant, id)?,
            _ => value.meaning.times(&constant, id)?,
        };
        let made = at(6)?;
        Ok(Value { meaning, layout, integers: Some(made), step: value.step.max(made.0), ..value })
    }

    /// Applies a normalisation with constants: one factor and one bias for each class.
    fn normalised(&self, node: &Node<'a>, value: Value<'a>, id: usize) -> Result<Value<'a>, Fault> {
        if node.int("training_mode", 0)? != 0
            || value.layout.rank().zip(value.layout.class_from_end()).is_none_or(|(rank, class)| rank != class + 2)
        {
            return Err("normalises something other than the classes".into());
        }
        let constant = |at: usize| -> Result<PerClass, Fault> {
            let name = node.input(at).filter(|name| self.graph.is_constant(name)).ok_or("is without constants")?;
            let values = self.graph.constant(name, self.folder)?.floats();
            if values.len() != self.classes(&value) {
                return Err("has not one constant for each class".into());
            }
            Ok(PerClass::new(values.into_iter().map(f64::from).collect()))
        };
        let (scale, bias, mean, variance) = (constant(1)?, constant(2)?, constant(3)?, constant(4)?);
        let epsilon = f64::from(node.float("epsilon", 1e-5)?);
        let factor = scale.zip(&variance, |scale, variance| scale / (variance + epsilon).sqrt());
        let less = mean.map(|mean| -mean);
        let meaning = value.meaning.plus(&less, id)?.times(&factor, id)?.plus(&bias, id)?;
        Ok(Value { meaning, ..value })
    }

    /// Takes some of the classes.
    fn picked(&self, node: &Node<'a>, value: Value<'a>, id: usize) -> Result<Value<'a>, Fault> {
        let classes = self.classes(&value);
        let list = |at: usize, name: &str| -> Result<Option<Vec<i64>>, Fault> {
            match node.input(at) {
                Some(input) => Ok(Some(self.graph.integers(input).ok_or("takes a part that values choose")?)),
                None => Ok(node.ints(name)?),
            }
        };
        let chosen: Vec<i64> = if node.op == "Gather" {
            value.layout.expect_classes(&[node.int("axis", 0)?], "takes a part of")?;
            let name = node.input(1).ok_or("has no indices")?;
            match self.graph.constant_shape(name) {
                Some(shape) if shape.len() == 1 => {
                    self.graph.integers(name).ok_or("takes a part that values choose")?
                }
                _ => return Err("takes one class only".into()),
            }
        } else {
            let (starts, ends) = (list(1, "starts")?.ok_or("has no start")?, list(2, "ends")?.ok_or("has no end")?);
            let axes = list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
            let steps = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
            let ([start], [end], [axis], [1]) = (&starts[..], &ends[..], &axes[..], &steps[..]) else {
                return Err("cuts several axes, or takes every few classes".into());
            };
            value.layout.expect_classes(&[*axis], "takes a part of")?;
            let length = classes as i64;
            let place = |at: i64| (if at < 0 { at.saturating_add(length) } else { at }).clamp(0, length);
            (place(*start)..place(*end)).collect()
        };
        let found = chosen.iter().map(|&at| super::graph::axis(at, classes));
        let chosen: Vec<usize> = found.collect::<Option<_>>().ok_or("takes a class that is not there")?;
        if chosen.is_empty() {
            return Err("takes no class".into());
        }
        if chosen.iter().copied().eq(0..classes) {
            return Ok(value);
        }
        let layout = value.layout.with_classes(chosen.len());
        Ok(Value { meaning: value.meaning.picked(&chosen, id)?, layout, ..value })
    }
}

fn entry(&length: &i64) -> Entry {
    match usize::try_from(length) {
        Ok(length) => Entry::Length(Dim::Known(length)),
        Err(_) => Entry::Rest,
    }
}
