//! Types and lengths of a network's values, as far as the file lets them be known without running it.
//!
//! Values are taken in the order of the nodes. What an unknown operator makes is unknown, unless the file says it. Shapes
//! that nodes compute of other shapes (`Shape`, `Gather`, `Concat`, …) are followed as short lists of lengths.

use std::collections::HashMap;

use super::graph::{Graph, Node};
use crate::host::input::network::layout::{Dim, Entry, joined};

/// Numbers of types in onnx.proto.
pub(super) const FLOAT: i64 = 1;
const UINT8: i64 = 2;
const INT32: i64 = 6;
const INT64: i64 = 7;
const BOOL: i64 = 9;

/// Lists of lengths are short: longer ones are data.
const LONGEST: usize = 64;

/// What is known of a value.
#[derive(Clone, Debug, Default)]
pub(in crate::host::input::network) struct Info {
    /// The number of its type; zero if it is not known.
    pub kind: i64,
    pub dims: Option<Vec<Dim>>,
}

/// What is known of all values.
#[derive(Debug, Default)]
pub(in crate::host::input::network) struct Shapes<'a> {
    infos: HashMap<&'a str, Info>,
    /// Short lists of integers.
    lists: HashMap<&'a str, Vec<Entry>>,
    symbols: HashMap<String, u32>,
    next: u32,
}

impl<'a> Shapes<'a> {
    pub fn of(graph: &Graph<'a>) -> Self {
        let mut shapes = Self::default();
        for input in &graph.inputs {
            shapes.declare(input);
        }
        for node in &graph.nodes {
            shapes.node(graph, node);
            for value in node.outputs.iter().filter_map(|output| graph.declared.get(output)) {
                shapes.declare(value);
            }
        }
        shapes
    }

    pub fn get(&self, value: &str) -> Option<&Info> {
        self.infos.get(value)
    }

    pub fn dims(&self, value: &str) -> Option<&[Dim]> {
        self.infos.get(value)?.dims.as_deref()
    }

    /// Returns the number of the type of a value or constant, if it is known.
    pub fn kind(&self, graph: &Graph<'a>, value: &str) -> Option<i64> {
        let of_value = self.infos.get(value).map(|info| info.kind);
        let of_tensor = || graph.tensor(value).and_then(Result::ok).map(|tensor| tensor.kind());
        of_value.or_else(of_tensor).filter(|&kind| kind != 0)
    }

    /// Returns the entries of a shape that a node takes as an input.
    pub fn list(&self, value: &str) -> Option<&[Entry]> {
        self.lists.get(value).map(Vec::as_slice)
    }

    fn fresh(&mut self) -> Dim {
        self.next += 1;
        Dim::Symbol(self.next)
    }

    /// Adds what the file says of a value to what is known of it.
    fn declare(&mut self, value: &super::graph::Input<'a>) {
        let shape = value.shape.as_ref().map(|shape| {
            let length = |(axis, length): (usize, &Option<usize>)| match length {
                Some(length) => Dim::Known(*length),
                None => match value.symbols.get(axis).filter(|name| !name.is_empty()) {
                    Some(name) => {
                        let next = &mut self.next;
                        Dim::Symbol(*self.symbols.entry((*name).to_owned()).or_insert_with(|| {
                            *next += 1;
                            *next
                        }))
                    }
                    None => self.fresh(),
                },
            };
            shape.iter().enumerate().map(length).collect::<Vec<_>>()
        });
        let info = self.infos.entry(value.name).or_default();
        if info.kind == 0 {
            info.kind = value.kind;
        }
        match (&mut info.dims, shape) {
            (Some(known), Some(said)) if known.len() == said.len() => {
                for (known, said) in known.iter_mut().zip(said) {
                    if matches!((&known, said), (Dim::Symbol(_), Dim::Known(_))) {
                        *known = said;
                    }
                }
            }
            (known @ None, Some(said)) => *known = Some(said),
            _ => {}
        }
    }

    /// Type and lengths of a node's input: of a value, or of a constant.
    fn input(&self, graph: &Graph<'a>, node: &Node<'a>, at: usize) -> Info {
        let Some(name) = node.input(at) else { return Info::default() };
        if let Some(info) = self.infos.get(name) {
            return info.clone();
        }
        let kind = graph.tensor(name).and_then(Result::ok).map_or(0, |tensor| tensor.kind());
        let dims = graph.constant_shape(name).map(|shape| shape.into_iter().map(Dim::Known).collect());
        Info { kind, dims }
    }

    /// Returns a short list of integers that a node takes.
    fn entries(&self, graph: &Graph<'a>, node: &Node<'a>, at: usize) -> Option<Vec<Entry>> {
        let name = node.input(at)?;
        if let Some(list) = self.lists.get(name) {
            return Some(list.clone());
        }
        let length = |&length: &i64| match usize::try_from(length) {
            Ok(length) => Entry::Length(Dim::Known(length)),
            Err(_) if length == -1 => Entry::Rest,
            Err(_) => Entry::Unknown,
        };
        graph.integers(name).map(|list| list.iter().map(length).collect())
    }

    /// Returns the axes of an operator: an attribute in old versions, an input in new ones; `None` if there is neither.
    pub fn axes(graph: &Graph<'a>, node: &Node<'a>, at: usize) -> Result<Option<Vec<i64>>, String> {
        if let Ok(Some(axes)) = node.ints("axes") {
            return Ok(Some(axes));
        }
        match node.input(at) {
            None => Ok(None),
            Some(name) => graph.integers(name).map(Some).ok_or_else(|| "takes its axes from a value".into()),
        }
    }

    fn node(&mut self, graph: &Graph<'a>, node: &Node<'a>) {
        let first = self.input(graph, node, 0);
        let dims = self.shape(graph, node, &first);
        let kind = kind(self, graph, node, &first);
        let list = self.listed(graph, node, &first);
        for (at, &output) in node.outputs.iter().enumerate().filter(|(_, output)| !output.is_empty()) {
            let info = match (node.op, at) {
                ("DynamicQuantizeLinear", 1) => Info { kind: FLOAT, dims: Some(Vec::new()) },
                ("DynamicQuantizeLinear", 2) => Info { kind: UINT8, dims: Some(Vec::new()) },
                ("TopK", 1) => Info { kind: INT64, dims: dims.clone() },
                ("Dropout" | "LayerNormalization" | "BatchNormalization", 1..) => Info::default(),
                ("Split", _) => {
                    let axis = node.int("axis", 0).unwrap_or(0);
                    let mut dims = dims.clone();
                    if let Some(dims) = &mut dims
                        && let Some(length) = axis_of(axis, dims.len()).and_then(|axis| dims.get_mut(axis))
                    {
                        *length = self.fresh();
                    }
                    Info { kind, dims }
                }
                ("If" | "Loop" | "Scan", _) => Info::default(),
                ("LSTM" | "GRU" | "RNN", 1..) => {
                    Info { kind, dims: dims.as_ref().map(|dims| vec![dims[1], self.fresh(), self.fresh()]) }
                }
                _ => Info { kind, dims: dims.clone() },
            };
            self.infos.insert(output, info);
        }
        if let (Some(list), Some(&output)) = (list, node.outputs.first())
            && list.len() <= LONGEST
        {
            self.lists.insert(output, list);
        }
    }

    /// Returns lists of lengths that are made of others.
    fn listed(&self, graph: &Graph<'a>, node: &Node<'a>, first: &Info) -> Option<Vec<Entry>> {
        let entries = |at: usize| self.entries(graph, node, at);
        match node.op {
            "Shape" => {
                let all: Vec<Entry> = first.dims.as_ref()?.iter().map(|&dim| Entry::Length(dim)).collect();
                let place = |value: i64| {
                    (if value < 0 { value + all.len() as i64 } else { value }).clamp(0, all.len() as i64) as usize
                };
                let start = place(node.int("start", 0).ok()?);
                let end = place(node.int("end", i64::MAX).ok()?);
                Some(all.get(start..end)?.to_vec())
            }
            "Gather" if node.int("axis", 0).ok()? == 0 => {
                let (list, at) = (entries(0)?, graph.integers(node.input(1)?)?);
                at.iter().map(|&at| list.get(axis_of(at, list.len())?).copied()).collect()
            }
            "Slice" => {
                let list = entries(0)?;
                let at = |index: usize, name: &str, default: i64| match node.input(index) {
                    Some(name) => graph.integers(name)?.first().copied(),
                    None => Some(node.ints(name).ok()?.and_then(|list| list.first().copied()).unwrap_or(default)),
                };
                let length = list.len() as i64;
                let place = |value: i64| {
                    (if value < 0 { value.saturating_add(length) } else { value }).clamp(0, length) as usize
                };
                let (start, end) = (place(at(1, "starts", 0)?), place(at(2, "ends", i64::MAX)?));
                (at(4, "steps", 1)? == 1).then_some(())?;
                Some(list.get(start..end)?.to_vec())
            }
            "Concat" => {
                let mut all = Vec::new();
                for at in 0..node.inputs.len().min(LONGEST) {
                    all.extend(entries(at)?);
                }
                Some(all)
            }
            "Identity" | "Cast" | "Unsqueeze" | "Squeeze" | "Reshape" => entries(0),
            _ => None,
        }
    }

    fn shape(&mut self, graph: &Graph<'a>, node: &Node<'a>, first: &Info) -> Option<Vec<Dim>> {
        let dims = || first.dims.clone();
        match node.op {
            // Element by element.
            "Relu"
            | "LeakyRelu"
            | "Elu"
            | "Selu"
            | "Celu"
            | "Sigmoid"
            | "HardSigmoid"
            | "HardSwish"
            | "Tanh"
            | "Erf"
            | "Gelu"
            | "FastGelu"
            | "Softplus"
            | "Softsign"
            | "Mish"
            | "Exp"
            | "Log"
            | "Sqrt"
            | "Neg"
            | "Abs"
            | "Sin"
            | "Cos"
            | "Reciprocal"
            | "Floor"
            | "Ceil"
            | "Round"
            | "Sign"
            | "Clip"
            | "Cast"
            | "CastLike"
            | "Identity"
            | "Dropout"
            | "BatchNormalization"
            | "InstanceNormalization"
            | "LayerNormalization"
            | "GroupNormalization"
            | "SimplifiedLayerNormalization"
            | "RMSNormalization"
            | "LpNormalization"
            | "Softmax"
            | "LogSoftmax"
            | "Hardmax"
            | "QuantizeLinear"
            | "DequantizeLinear"
            | "DynamicQuantizeLinear"
            | "Not"
            | "ThresholdedRelu"
            | "LRN"
            | "CumSum"
            | "IsNaN"
            | "QLinearSoftmax"
            | "QLinearSigmoid"
            | "QLinearLeakyRelu"
            | "PRelu"
            | "Trilu" => dims(),
            "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Max" | "Min" | "Mean" | "Sum" | "Where" | "Equal" | "Less"
            | "Greater" | "And" | "Or" | "Mod" => {
                let all = (0..node.inputs.len().min(LONGEST)).map(|at| self.input(graph, node, at).dims);
                self.broadcast(&all.collect::<Option<Vec<_>>>()?)
            }
            "QLinearAdd" | "QLinearMul" => {
                let second = self.input(graph, node, 3).dims?;
                self.broadcast(&[dims()?, second])
            }
            "MatMul"
            | "MatMulInteger"
            | "FusedMatMul"
            | "QLinearMatMul"
            | "DynamicQuantizeMatMul"
            | "MatMulIntegerToFloat" => {
                let second = self.input(graph, node, if node.op == "QLinearMatMul" { 3 } else { 1 }).dims?;
                let turned = |name: &str| node.op == "FusedMatMul" && node.int(name, 0).is_ok_and(|value| value != 0);
                self.product(swapped(dims()?, turned("transA")), swapped(second, turned("transB")))
            }
            "Einsum" => {
                let equation: String = node.text("equation").ok()??.split_whitespace().collect();
                let (inputs, output) = equation.split_once("->")?;
                let mut lengths = HashMap::new();
                for (at, term) in inputs.split(',').enumerate().take(LONGEST) {
                    let dims = self.input(graph, node, at).dims?;
                    // Dots stand for any number of axes: not followed.
                    if term.len() != dims.len() || !term.bytes().all(|label| label.is_ascii_alphabetic()) {
                        return None;
                    }
                    lengths.extend(term.bytes().zip(dims));
                }
                output.bytes().map(|label| lengths.get(&label).copied()).collect()
            }
            "Gemm" | "QGemm" => {
                let second = self.input(graph, node, if node.op == "QGemm" { 3 } else { 1 }).dims?;
                let turned = |name: &str| node.int(name, 0).is_ok_and(|value| value != 0);
                let (a, b) = (swapped(dims()?, turned("transA")), swapped(second, turned("transB")));
                Some(vec![*a.first()?, *b.get(1)?])
            }
            "Conv" | "ConvInteger" | "QLinearConv" | "FusedConv" => self.convolution(graph, node, dims()?),
            "MaxPool" | "AveragePool" => {
                let (dims, kernel) = (dims()?, node.ints("kernel_shape").ok()??);
                let channels = *dims.get(1)?;
                self.window(
                    node,
                    &dims,
                    channels,
                    &kernel.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<Vec<_>>>()?,
                )
            }
            "GlobalAveragePool" | "GlobalMaxPool" => {
                let mut dims = dims()?;
                dims.iter_mut().skip(2).for_each(|dim| *dim = Dim::Known(1));
                Some(dims)
            }
            "Flatten" => {
                let dims = dims()?;
                let axis = usize::try_from(
                    node.int("axis", 1).ok().map(|axis| if axis < 0 { axis + dims.len() as i64 } else { axis })?,
                )
                .ok()?;
                let (front, behind) = dims.split_at_checked(axis)?;
                Some(vec![self.joined(front), self.joined(behind)])
            }
            "Reshape" => {
                let entries = reshape_entries(self.entries(graph, node, 1), node, first.dims.as_deref())?;
                Some(self.filled(&entries, first.dims.as_deref()))
            }
            "Squeeze" => {
                let dims = dims()?;
                let gone: Vec<usize> = match Self::axes(graph, node, 1).ok()? {
                    Some(axes) => axes.iter().map(|&axis| axis_of(axis, dims.len())).collect::<Option<_>>()?,
                    None if dims.iter().all(|dim| matches!(dim, Dim::Known(_))) => {
                        (0..dims.len()).filter(|&at| dims[at] == Dim::Known(1)).collect()
                    }
                    None => return None,
                };
                Some(dims.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, &dim)| dim).collect())
            }
            "Unsqueeze" => {
                let (dims, axes) = (dims()?, Self::axes(graph, node, 1).ok()??);
                let rank = dims.len() + axes.len();
                let new: Vec<usize> = axes.iter().map(|&axis| axis_of(axis, rank)).collect::<Option<_>>()?;
                let mut old = dims.into_iter();
                (0..rank).map(|at| if new.contains(&at) { Some(Dim::Known(1)) } else { old.next() }).collect()
            }
            "Transpose" => {
                let dims = dims()?;
                match node.ints("perm").ok()? {
                    None => Some(dims.into_iter().rev().collect()),
                    Some(perm) => perm.iter().map(|&from| dims.get(axis_of(from, dims.len())?).copied()).collect(),
                }
            }
            "ReduceSum" | "ReduceMax" | "ReduceMean" | "ReduceMin" | "ReduceL1" | "ReduceL2" | "ReduceProd"
            | "ReduceLogSumExp" | "ReduceLogSum" | "ReduceSumSquare" => {
                let dims = dims()?;
                let axes = Self::axes(graph, node, 1).ok()?.unwrap_or_else(|| (0..dims.len() as i64).collect());
                self.without(&dims, &axes, node.int("keepdims", 1).ok()? != 0)
            }
            "ArgMax" | "ArgMin" => {
                self.without(&dims()?, &[node.int("axis", 0).ok()?], node.int("keepdims", 1).ok()? != 0)
            }
            "TopK" | "Resize" | "Upsample" | "Pad" | "Tile" | "Slice" => {
                let mut dims = dims()?;
                if node.op == "Slice" {
                    let axes = match node.input(3).map(|name| graph.integers(name)) {
                        Some(list) => list,
                        None => node.ints("axes").ok()?,
                    };
                    let axes = axes.unwrap_or_else(|| (0..dims.len() as i64).collect());
                    for axis in axes {
                        *dims.get_mut(axis_of(axis, first.dims.as_ref()?.len())?)? = self.fresh();
                    }
                } else {
                    for dim in &mut dims {
                        *dim = self.fresh();
                    }
                }
                Some(dims)
            }
            "Split" => dims(),
            "Gather" => {
                let (dims, at) = (dims()?, self.input(graph, node, 1).dims?);
                let axis = axis_of(node.int("axis", 0).ok()?, dims.len())?;
                Some([&dims[..axis], &at[..], &dims[axis + 1..]].concat())
            }
            "Concat" => {
                let mut dims = dims()?;
                let axis = axis_of(node.int("axis", 1).ok()?, dims.len())?;
                let mut total = Some(0usize);
                for at in 0..node.inputs.len().min(LONGEST) {
                    let length = self.input(graph, node, at).dims?.get(axis).copied()?;
                    total = total
                        .zip(if let Dim::Known(n) = length { Some(n) } else { None })
                        .and_then(|(a, b)| a.checked_add(b));
                }
                dims[axis] = total.filter(|_| node.inputs.len() <= LONGEST).map_or_else(|| self.fresh(), Dim::Known);
                Some(dims)
            }
            "Expand" => {
                let entries = self.entries(graph, node, 1)?;
                let asked = entries.iter().map(|entry| match entry {
                    Entry::Length(dim) => *dim,
                    _ => self.fresh(),
                });
                let asked: Vec<Dim> = asked.collect();
                self.broadcast(&[dims()?, asked])
            }
            "Shape" => Some(vec![first.dims.as_ref().map_or_else(|| self.fresh(), |dims| Dim::Known(dims.len()))]),
            "Size" => Some(Vec::new()),
            "Constant" => {
                let shape = graph.constant_shape(node.output())?;
                Some(shape.into_iter().map(Dim::Known).collect())
            }
            "ConstantOfShape" => {
                let entries = self.entries(graph, node, 0)?;
                Some(self.filled(&entries, None))
            }
            "LSTM" | "GRU" | "RNN" => {
                let dims = dims()?;
                let directions = if node.text("direction").ok()? == Some("bidirectional") { 2 } else { 1 };
                let hidden = node.int("hidden_size", 0).ok().and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
                let hidden = hidden.map_or_else(|| self.fresh(), Dim::Known);
                Some(vec![*dims.first()?, Dim::Known(directions), *dims.get(1)?, hidden])
            }
            _ => None,
        }
    }

    fn broadcast(&mut self, all: &[Vec<Dim>]) -> Option<Vec<Dim>> {
        let rank = all.iter().map(Vec::len).max()?;
        let mut dims = vec![Dim::Known(1); rank];
        for shape in all {
            for (dim, &other) in dims.iter_mut().rev().zip(shape.iter().rev()) {
                *dim = match (*dim, other) {
                    (a, Dim::Known(1)) => a,
                    (Dim::Known(1), b) => b,
                    (Dim::Known(n), _) | (_, Dim::Known(n)) => Dim::Known(n),
                    (a, b) if a == b => a,
                    _ => self.fresh(),
                };
            }
        }
        Some(dims)
    }

    fn product(&mut self, a: Vec<Dim>, b: Vec<Dim>) -> Option<Vec<Dim>> {
        match (a.len(), b.len()) {
            (0, _) | (_, 0) => None,
            (1, 1) => Some(Vec::new()),
            (1, n) => Some([&b[..n - 2], &b[n - 1..]].concat()),
            (n, 1) => Some(a[..n - 1].to_vec()),
            (n, m) => {
                let mut dims = self.broadcast(&[a[..n - 2].to_vec(), b[..m - 2].to_vec()])?;
                dims.extend([a[n - 2], b[m - 1]]);
                Some(dims)
            }
        }
    }

    fn convolution(&mut self, graph: &Graph<'a>, node: &Node<'a>, dims: Vec<Dim>) -> Option<Vec<Dim>> {
        let weights = self.input(graph, node, if node.op == "QLinearConv" { 3 } else { 1 }).dims?;
        let kernel = weights.iter().skip(2).map(|dim| match dim {
            Dim::Known(length) => Some(*length),
            Dim::Symbol(_) => None,
        });
        let kernel = kernel.collect::<Option<Vec<_>>>()?;
        self.window(node, &dims, *weights.first()?, &kernel)
    }

    /// Places of a window that moves over an image.
    fn window(&mut self, node: &Node<'a>, dims: &[Dim], channels: Dim, kernel: &[usize]) -> Option<Vec<Dim>> {
        let list = |name: &str, default: i64, count: usize| -> Option<Vec<i64>> {
            let list = node.ints(name).ok()?.unwrap_or_else(|| vec![default; count]);
            (list.len() == count).then_some(list)
        };
        let axes = kernel.len();
        let (strides, dilations, pads) =
            (list("strides", 1, axes)?, list("dilations", 1, axes)?, list("pads", 0, 2 * axes)?);
        let auto = node.text("auto_pad").ok()?.unwrap_or("NOTSET");
        let ceil = node.int("ceil_mode", 0).ok()? != 0;
        let mut shape = vec![*dims.first()?, channels];
        for axis in 0..axes {
            let length = match (*dims.get(axis + 2)?, auto) {
                (Dim::Known(length), "SAME_UPPER" | "SAME_LOWER") if strides[axis] > 0 => {
                    (length as i64 + strides[axis] - 1) / strides[axis]
                }
                (Dim::Known(length), "NOTSET" | "VALID") if strides[axis] > 0 && !ceil => {
                    let padding = if auto == "VALID" { 0 } else { pads[axis].checked_add(pads[axis + axes])? };
                    let reach = dilations[axis].checked_mul(kernel[axis] as i64 - 1)?;
                    i64::try_from(length).ok()?.checked_add(padding)?.checked_sub(reach)?.checked_sub(1)?
                        / strides[axis]
                        + 1
                }
                _ => 0,
            };
            shape.push(usize::try_from(length).ok().filter(|&n| n > 0).map_or_else(|| self.fresh(), Dim::Known));
        }
        Some(shape)
    }

    /// Returns one axis of several.
    fn joined(&mut self, dims: &[Dim]) -> Dim {
        match joined(dims) {
            Entry::Length(dim) => dim,
            _ => self.fresh(),
        }
    }

    /// Returns the lengths of a reshape, with the one that is left if it can be computed.
    fn filled(&mut self, entries: &[Entry], from: Option<&[Dim]>) -> Vec<Dim> {
        let product = |product: usize, dim: Dim| match dim {
            Dim::Known(length) => product.checked_mul(length),
            Dim::Symbol(_) => None,
        };
        let total = from.and_then(|dims| dims.iter().copied().try_fold(1, product));
        let others = entries.iter().filter(|entry| **entry != Entry::Rest).try_fold(1, |others, entry| match entry {
            Entry::Length(dim) => product(others, *dim),
            _ => None,
        });
        let rest =
            total.zip(others).filter(|&(total, others)| others > 0 && total.is_multiple_of(others)).map(|(a, b)| a / b);
        let dim = |entry: &Entry| match (*entry, rest) {
            (Entry::Length(dim), _) => dim,
            (Entry::Rest, Some(rest)) => Dim::Known(rest),
            _ => self.fresh(),
        };
        entries.iter().map(dim).collect()
    }

    fn without(&mut self, dims: &[Dim], axes: &[i64], keep: bool) -> Option<Vec<Dim>> {
        let gone: Vec<usize> = axes.iter().map(|&axis| axis_of(axis, dims.len())).collect::<Option<_>>()?;
        let left = dims.iter().enumerate().filter_map(|(at, &dim)| match gone.contains(&at) {
            false => Some(dim),
            true => keep.then_some(Dim::Known(1)),
        });
        Some(left.collect())
    }
}

/// Returns the entries of a reshape's shape: zeros are the lengths of the input, unless they are allowed to stand for themselves.
pub(super) fn reshape_entries(asked: Option<Vec<Entry>>, node: &Node<'_>, dims: Option<&[Dim]>) -> Option<Vec<Entry>> {
    let allow_zero = node.int("allowzero", 0).ok()? != 0;
    let asked = match asked {
        Some(asked) => asked,
        // The first version had an attribute.
        None => node
            .ints("shape")
            .ok()??
            .iter()
            .map(|&n| match usize::try_from(n) {
                Ok(n) => Entry::Length(Dim::Known(n)),
                Err(_) => Entry::Rest,
            })
            .collect(),
    };
    let entry = |(at, entry): (usize, &Entry)| match entry {
        Entry::Length(Dim::Known(0)) if !allow_zero => {
            dims.and_then(|dims| dims.get(at)).map_or(Entry::Unknown, |&dim| Entry::Length(dim))
        }
        entry => *entry,
    };
    Some(asked.iter().enumerate().map(entry).collect())
}

fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    super::graph::axis(axis, rank)
}

fn swapped(mut dims: Vec<Dim>, turned: bool) -> Vec<Dim> {
    let rank = dims.len();
    if turned && rank >= 2 {
        dims.swap(rank - 1, rank - 2);
    }
    dims
}

/// Returns the type of a node's first output.
fn kind<'a>(shapes: &Shapes<'a>, graph: &Graph<'a>, node: &Node<'a>, first: &Info) -> i64 {
    let of = |at: usize| shapes.input(graph, node, at).kind;
    match node.op {
        "Cast" => node.int("to", 0).unwrap_or(0),
        "CastLike" | "Where" => of(1),
        "Shape" | "Size" | "ArgMax" | "ArgMin" | "NonZero" => INT64,
        "Equal" | "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "And" | "Or" | "Not" | "IsNaN" | "IsInf" => {
            BOOL
        }
        "QuantizeLinear" => match of(2) {
            0 => UINT8,
            kind => kind,
        },
        "DequantizeLinear" | "DynamicQuantizeMatMul" | "MatMulIntegerToFloat" => match of(1) {
            _ if node.op != "DequantizeLinear" => FLOAT,
            0 => FLOAT,
            kind => kind,
        },
        "DynamicQuantizeLinear" => UINT8,
        "MatMulInteger" | "ConvInteger" => INT32,
        "OneHot" => of(2),
        "ConstantOfShape" => match node.tensor("value") {
            Some(tensor) => tensor.kind(),
            None => FLOAT,
        },
        "Constant" => graph.tensor(node.output()).and_then(Result::ok).map_or(0, |tensor| tensor.kind()),
        _ => first.kind,
    }
}
