//! Operators that are a linear layer with constant weights, and what of them is weight, bias and query.

use super::graph::{Graph, Node};
use super::shapes::Shapes;

/// A linear layer: scores = query · weights, times `factor`, plus the bias.
#[derive(Clone, Debug)]
pub(in crate::host::input::network) struct Linear<'a> {
    /// Its node in the graph.
    pub node: usize,
    /// The value that goes in.
    pub query: &'a str,
    /// For a query of integers: scale and zero point.
    pub query_scale: Option<Scale<'a>>,
    /// The axis of the query's columns, counted from the end: 0 is the last one.
    pub query_axis: usize,
    /// The value that holds the scores.
    pub scores: &'a str,
    /// For scores of integers: scale and zero point.
    pub scores_scale: Option<Scale<'a>>,
    /// The axis of the classes, counted from the end.
    pub class_axis: usize,
    pub weights: Weights<'a>,
    /// Whether they are stored with a row for each class.
    pub by_class: bool,
    pub factor: f32,
    pub bias: Option<Bias<'a>>,
}

/// Constants that say what integers stand for.
#[derive(Clone, Copy, Debug)]
pub(in crate::host::input::network) struct Scale<'a> {
    pub scale: &'a str,
    pub zero: Option<&'a str>,
}

/// Where the weights are: a constant, and what it stands for if it holds integers.
#[derive(Clone, Copy, Debug)]
pub(in crate::host::input::network) struct Weights<'a> {
    pub value: &'a str,
    pub scale: Option<Scale<'a>>,
}

/// Where the bias is.
#[derive(Clone, Copy, Debug)]
pub(in crate::host::input::network) enum Bias<'a> {
    /// A constant, and what it is multiplied with.
    Constant(&'a str, f32),
    /// Integers whose scale is that of the query times that of the weights.
    Integers(&'a str),
}

/// Why a node is no layer, as a sentence without its subject.
type Found<T> = Result<T, String>;

impl<'a> Graph<'a> {
    /// Returns the layer that a node is, or why it is none.
    pub fn linear(&self, shapes: &Shapes<'a>, index: usize) -> Found<Linear<'a>> {
        let node = &self.nodes[index];
        let layer = match node.op {
            "MatMul" | "FusedMatMul" => self.product(shapes, index)?,
            "Gemm" => self.gemm(index)?,
            "Einsum" => self.einsum(index)?,
            "Conv" => {
                let weights = Weights { value: self.weights(node, 1)?, scale: None };
                let bias = self.bias(node, 2)?.map(|bias| Bias::Constant(bias, 1.0));
                Linear { by_class: true, bias, ..self.convolution(index, weights)? }
            }
            "MatMulInteger" => self.dynamic(index)?,
            "DynamicQuantizeMatMul" => {
                let scale = Scale { scale: self.weights(node, 2)?, zero: node.input(3) };
                let weights = Weights { value: self.weights(node, 1)?, scale: Some(scale) };
                let bias = self.bias(node, 4)?.map(|bias| Bias::Constant(bias, 1.0));
                Linear { bias, ..self.layer(index, 0, weights)? }
            }
            "MatMulIntegerToFloat" => {
                let scale = Scale { scale: self.weights(node, 3)?, zero: node.input(5) };
                let weights = Weights { value: self.weights(node, 1)?, scale: Some(scale) };
                let bias = self.bias(node, 6)?.map(|bias| Bias::Constant(bias, 1.0));
                let (query, _) = self.quantised_as_it_comes(node, 2, 4)?;
                Linear { query, bias, ..self.layer(index, 0, weights)? }
            }
            "QLinearMatMul" => {
                let layer = self.layer(index, 0, self.quantised_weights(node)?)?;
                self.with_integers(Linear { scores_scale: self.scale(node, 6), ..layer })?
            }
            "QGemm" => {
                if node.int("transA", 0).map_err(broken)? != 0 {
                    return Err("takes its queries transposed".into());
                }
                let layer = self.layer(index, 0, self.quantised_weights(node)?)?;
                let by_class = node.int("transB", 0).map_err(broken)? != 0;
                let factor = node.float("alpha", 1.0).map_err(broken)?;
                let bias = self.bias(node, 6)?.map(Bias::Integers);
                self.with_integers(Linear { by_class, factor, bias, scores_scale: self.scale(node, 7), ..layer })?
            }
            "QLinearConv" => {
                let layer = self.convolution(index, self.quantised_weights(node)?)?;
                let bias = self.bias(node, 8)?.map(Bias::Integers);
                self.with_integers(Linear { by_class: true, bias, scores_scale: self.scale(node, 6), ..layer })?
            }
            _ => return Err("is not a linear layer".into()),
        };
        let shape = self.constant_shape(layer.weights.value).ok_or("has no constant weights")?;
        match shape.len() {
            2 => Ok(layer),
            n if n > 2 && node.op.ends_with("Conv") => Ok(layer),
            // One matrix for the whole batch.
            n if n > 2 && node.op == "MatMul" && shape[..n - 2].iter().all(|&length| length == 1) => Ok(layer),
            _ => Err("has weights that are not a matrix".into()),
        }
    }

    /// Returns a layer whose query is an input of its node, with classes and columns on the last axis.
    fn layer(&self, index: usize, query: usize, weights: Weights<'a>) -> Found<Linear<'a>> {
        let node = &self.nodes[index];
        let query = node.input(query).ok_or("has no input")?;
        if self.is_constant(query) {
            return Err("has constants only".into());
        }
        Ok(Linear {
            node: index,
            query,
            query_scale: None,
            query_axis: 0,
            scores: node.output(),
            scores_scale: None,
            class_axis: 0,
            weights,
            by_class: false,
            factor: 1.0,
            bias: None,
        })
    }

    fn weights(&self, node: &Node<'a>, at: usize) -> Found<&'a str> {
        node.input(at).filter(|value| self.is_constant(value)).ok_or_else(|| "has no constant weights".into())
    }

    fn bias(&self, node: &Node<'a>, at: usize) -> Found<Option<&'a str>> {
        match node.input(at) {
            Some(value) if !self.is_constant(value) => Err("has a bias that is not constant".into()),
            value => Ok(value),
        }
    }

    fn scale(&self, node: &Node<'a>, at: usize) -> Option<Scale<'a>> {
        Some(Scale { scale: node.input(at)?, zero: node.input(at + 1) })
    }

    /// Operators of integers name query, weights and result each with scale and zero point.
    fn quantised_weights(&self, node: &Node<'a>) -> Found<Weights<'a>> {
        let scale = Scale { scale: self.weights(node, 4)?, zero: node.input(5) };
        Ok(Weights { value: self.weights(node, 3)?, scale: Some(scale) })
    }

    /// Returns the layer of an operator of integers. Integers that are signed bytes are the query; of others it is what they were
    /// made of, where that is known.
    fn with_integers(&self, layer: Linear<'a>) -> Found<Linear<'a>> {
        let node = &self.nodes[layer.node];
        let scale = self.scale(node, 1).ok_or("has a query without a scale")?;
        if !self.is_constant(scale.scale) {
            return Err("has a query whose scale is not constant".into());
        }
        let is_i8 = scale.zero.and_then(|zero| self.tensor(zero)).and_then(Result::ok).is_some_and(|zero| zero.is_i8());
        let made = self.maker(layer.query).filter(|maker| {
            maker.op == "QuantizeLinear" && maker.input(1) == Some(scale.scale) && maker.input(2) == scale.zero
        });
        match made.and_then(|maker| maker.input(0)) {
            Some(floats) if !is_i8 && !self.is_constant(floats) => Ok(Linear { query: floats, ..layer }),
            _ => Ok(Linear { query_scale: Some(scale), ..layer }),
        }
    }

    fn product(&self, shapes: &Shapes<'a>, index: usize) -> Found<Linear<'a>> {
        let node = &self.nodes[index];
        let turned = |name: &str| Ok::<_, String>(node.op != "MatMul" && node.int(name, 0).map_err(broken)? != 0);
        let factor = if node.op == "MatMul" { 1.0 } else { node.float("alpha", 1.0).map_err(broken)? };
        if turned("transBatchA")? || turned("transBatchB")? || turned("transA")? {
            return Err("takes its queries transposed".into());
        }
        let first = node.input(0).is_some_and(|value| self.is_constant(value));
        if !first {
            let weights = Weights { value: self.weights(node, 1)?, scale: None };
            return Ok(Linear { factor, by_class: turned("transB")?, ..self.layer(index, 0, weights)? });
        }
        // The weights are on the left: the query is a column.
        let weights = Weights { value: self.weights(node, 0)?, scale: None };
        let query = node.input(1).ok_or("has no input")?;
        let rank = shapes.dims(query).map(<[_]>::len);
        let axis =
            rank.map(|rank| usize::from(rank > 1)).ok_or("has its weights first, and a query of unknown axes")?;
        if turned("transB")? {
            return Err("takes its queries transposed".into());
        }
        let layer = self.layer(index, 1, weights)?;
        Ok(Linear { factor, by_class: true, query_axis: axis, class_axis: axis, ..layer })
    }

    /// Reads a sum of products over one axis, with weights of two axes: all other axes of the query keep their order.
    fn einsum(&self, index: usize) -> Found<Linear<'a>> {
        let node = &self.nodes[index];
        let odd = || "is a sum of products that is no product of queries and one matrix".to_owned();
        let equation: String = node.text("equation").map_err(broken)?.unwrap_or("").split_whitespace().collect();
        let (inputs, output) = equation.split_once("->").ok_or_else(odd)?;
        let [a, b] = inputs.split(',').collect::<Vec<_>>()[..] else { return Err(odd()) };
        let first = node.input(0).is_some_and(|value| self.is_constant(value));
        let (query, weights, at) = if first { (b, a, 0) } else { (a, b, 1) };
        let is_plain = |term: &str| term.bytes().enumerate().all(|(at, label)| !term.as_bytes()[..at].contains(&label));
        let [one, other] = weights.as_bytes()[..] else { return Err(odd()) };
        let by_class = query.as_bytes().contains(&other);
        let (class, column) =
            if by_class { (char::from(one), char::from(other)) } else { (char::from(other), char::from(one)) };
        let beside = |term: &str, own: char| term.chars().filter(|&label| label != own).collect::<String>();
        let has_dots = query.contains("...");
        let (plain_query, plain_output) = (query.replace("...", ""), output.replace("...", ""));
        let fits = query.contains(column)
            && !query.contains(class)
            && output.contains(class)
            && beside(query, column) == beside(output, class)
            && is_plain(&plain_query)
            && is_plain(&plain_output)
            && [class, column].iter().all(|label| label.is_ascii_alphabetic());
        // What the dots stand for has to be in front of both axes.
        if !fits || has_dots && !(query.starts_with("...") && output.starts_with("...")) {
            return Err(odd());
        }
        let from_end = |term: &str, own: char| term.chars().rev().position(|label| label == own).unwrap_or(0);
        let weights = Weights { value: self.weights(node, at)?, scale: None };
        let layer = self.layer(index, 1 - at, weights)?;
        let (query_axis, class_axis) = (from_end(&plain_query, column), from_end(&plain_output, class));
        Ok(Linear { by_class, query_axis, class_axis, ..layer })
    }

    fn gemm(&self, index: usize) -> Found<Linear<'a>> {
        let node = &self.nodes[index];
        let turned = |name: &str| node.int(name, 0).map(|value| value != 0).map_err(broken);
        let (a, b) = (turned("transA")?, turned("transB")?);
        let factor = node.float("alpha", 1.0).map_err(broken)?;
        let beta = node.float("beta", 1.0).map_err(broken)?;
        let bias = self.bias(node, 2)?.map(|bias| Bias::Constant(bias, beta));
        let first = node.input(0).is_some_and(|value| self.is_constant(value));
        if first {
            let weights = Weights { value: self.weights(node, 0)?, scale: None };
            let layer = self.layer(index, 1, weights)?;
            let query_axis = usize::from(!b);
            return Ok(Linear { factor, bias, by_class: !a, query_axis, class_axis: 1, ..layer });
        }
        let weights = Weights { value: self.weights(node, 1)?, scale: None };
        Ok(Linear { factor, bias, by_class: b, query_axis: usize::from(a), ..self.layer(index, 0, weights)? })
    }

    /// Returns a convolution of one point, with its classes on the second axis.
    fn convolution(&self, index: usize, weights: Weights<'a>) -> Found<Linear<'a>> {
        let node = &self.nodes[index];
        let shape = self.constant_shape(weights.value).unwrap_or_default();
        let all = |name: &str, value: i64| -> Found<bool> {
            Ok(node.ints(name).map_err(broken)?.is_none_or(|list| list.iter().all(|&item| item == value)))
        };
        let point = shape.len() > 2 && shape[2..].iter().all(|&length| length == 1);
        if !point || node.int("group", 1).map_err(broken)? != 1 {
            return Err("is a convolution over more than one point".into());
        }
        if !all("strides", 1)? || !all("pads", 0)? {
            return Err("is a convolution with strides or padding".into());
        }
        let axis = shape.len() - 2;
        Ok(Linear { query_axis: axis, class_axis: axis, ..self.layer(index, 0, weights)? })
    }

    /// Returns a product of integers whose query is quantised as it comes. The scales are multiplied in after it: `Cast`, then
    /// `Mul` by the product of the query's and the weights' scale.
    fn dynamic(&self, index: usize) -> Found<Linear<'a>> {
        let node = &self.nodes[index];
        let lost = || "is a product of integers without a known scale".to_owned();
        let (query, query_scale) = self.quantised_as_it_comes(node, usize::MAX, 2)?;
        let only = |value: &'a str| {
            let mut users = self.users(value);
            users.next().filter(|_| users.next().is_none()).map(|user| &self.nodes[user])
        };
        let cast = only(node.output()).filter(|user| user.op == "Cast").ok_or_else(lost)?;
        let scaled = only(cast.output()).filter(|user| user.op == "Mul").ok_or_else(lost)?;
        let scale = scaled.inputs.iter().copied().find(|&input| input != cast.output()).ok_or_else(lost)?;
        let factors = self.maker(scale).filter(|maker| maker.op == "Mul").ok_or_else(lost)?;
        let scale = match factors.inputs[..] {
            [a, b] if a == query_scale => b,
            [a, b] if b == query_scale => a,
            _ => return Err(lost()),
        };
        if !self.is_constant(scale) {
            return Err(lost());
        }
        let weights = Weights { value: self.weights(node, 1)?, scale: Some(Scale { scale, zero: node.input(3) }) };
        Ok(Linear { query, scores: scaled.output(), ..self.layer(index, 0, weights)? })
    }

    /// Returns the floats that a query of integers is made of, with the value of its scale.
    fn quantised_as_it_comes(&self, node: &Node<'a>, scale: usize, zero: usize) -> Found<(&'a str, &'a str)> {
        let lost = || "is a product of integers without a known scale".to_owned();
        let maker = node.input(0).and_then(|input| self.maker(input)).filter(|node| node.op == "DynamicQuantizeLinear");
        let maker = maker.ok_or_else(lost)?;
        let (floats, found) = (maker.input(0).ok_or_else(lost)?, *maker.outputs.get(1).ok_or_else(lost)?);
        let is_own_scale = scale == usize::MAX || node.input(scale) == Some(found);
        let is_own_zero = node.input(zero) == maker.outputs.get(2).copied();
        if is_own_scale && is_own_zero { Ok((floats, found)) } else { Err(lost()) }
    }

    /// Returns every layer that could be meant, as `--layer` takes it, with its size.
    pub fn candidates(&self, shapes: &Shapes<'a>) -> Vec<String> {
        let layers = (0..self.nodes.len()).filter_map(|index| self.linear(shapes, index).ok());
        layers.filter_map(|layer| Some(format!("{}, {}", self.nodes[layer.node].label(), self.size(&layer)?))).collect()
    }

    /// Returns classes and columns.
    pub fn lengths(&self, layer: &Linear<'a>) -> Option<(usize, usize)> {
        let shape = self.constant_shape(layer.weights.value)?;
        // Of a convolution the first two axes; of a product the last two, which may have others of length one in front.
        let front = if self.nodes[layer.node].op.ends_with("Conv") { 0 } else { shape.len().checked_sub(2)? };
        let (first, second) = (*shape.get(front)?, *shape.get(front + 1)?);
        Some(if layer.by_class { (first, second) } else { (second, first) })
    }

    /// Returns classes × columns, as people write it.
    pub fn size(&self, layer: &Linear<'a>) -> Option<String> {
        self.lengths(layer).map(|(classes, columns)| format!("{classes}×{columns}"))
    }
}

fn broken(_: crate::host::input::network::protobuf::Broken) -> String {
    "has broken attributes".into()
}
