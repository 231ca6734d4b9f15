//! Operators that are a linear layer with constant weights, and what of them is weight, bias and query.

use super::graph::{Graph, Node};

/// A linear layer: scores = query · weights, times `factor`, plus the bias.
#[derive(Clone, Debug)]
pub(in crate::host::import) struct Linear<'a> {
    /// Its node in the graph.
    pub node: usize,
    /// The value that goes in.
    pub query: &'a str,
    /// The axis of the query's columns, and of the classes.
    pub axis: Axis,
    /// The constant that holds the weights.
    pub weights: Weights<'a>,
    /// Whether they are stored with a row for each class.
    pub by_class: bool,
    pub factor: f32,
    /// The constant that holds the bias, and what it is multiplied with.
    pub bias: Option<(&'a str, f32)>,
}

/// Where the weights are.
#[derive(Clone, Copy, Debug)]
pub(in crate::host::import) enum Weights<'a> {
    /// In a constant.
    Constant(&'a str),
    /// Integers with a scale and a zero point in constants of their own.
    Quantised { values: &'a str, scale: &'a str, zero: Option<&'a str> },
}

/// The axis of the queries' columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host::import) enum Axis {
    Last,
    /// The second one, as images have it.
    Channel,
}

impl<'a> Weights<'a> {
    pub fn value(self) -> &'a str {
        match self {
            Self::Constant(value) | Self::Quantised { values: value, .. } => value,
        }
    }
}

impl<'a> Graph<'a> {
    /// The layer that a node is, or why it is none.
    pub fn linear(&self, node: usize) -> Result<Linear<'a>, String> {
        let index = node;
        let node = &self.nodes[index];
        let broken = |_| "has broken attributes".to_owned();
        let constant = |at: usize| node.input(at).filter(|value| self.is_constant(value));
        let missing = || "has no constant weights".to_owned();
        let base = |weights, axis| -> Result<Linear<'a>, String> {
            let query = node.input(0).ok_or_else(missing)?;
            if self.is_constant(query) {
                return Err("has constants only, or its weights first".into());
            }
            Ok(Linear { node: index, query, axis, weights, by_class: false, factor: 1.0, bias: None })
        };
        match node.op {
            "MatMul" => base(Weights::Constant(constant(1).ok_or_else(missing)?), Axis::Last),
            "Gemm" => {
                let weights = constant(1).ok_or_else(missing)?;
                if node.int("transA", 0).map_err(broken)? != 0 {
                    return Err("takes its queries transposed".into());
                }
                let bias = match node.input(2) {
                    None => None,
                    Some(_) => Some((
                        constant(2).ok_or("has a bias that is not constant")?,
                        node.float("beta", 1.0).map_err(broken)?,
                    )),
                };
                Ok(Linear {
                    by_class: node.int("transB", 0).map_err(broken)? != 0,
                    factor: node.float("alpha", 1.0).map_err(broken)?,
                    bias,
                    ..base(Weights::Constant(weights), Axis::Last)?
                })
            }
            "Conv" => {
                let weights = constant(1).ok_or_else(missing)?;
                let shape = self.constant_shape(weights).unwrap_or_default();
                let all = |name: &str, value: i64| -> Result<bool, String> {
                    Ok(node.ints(name).map_err(broken)?.is_none_or(|list| list.iter().all(|&item| item == value)))
                };
                let point = shape.len() > 2 && shape[2..].iter().all(|&length| length == 1);
                if !point || node.int("group", 1).map_err(broken)? != 1 {
                    return Err("is a convolution over more than one point".into());
                }
                if !all("strides", 1)? || !all("pads", 0)? {
                    return Err("is a convolution with strides or padding".into());
                }
                let bias = match node.input(2) {
                    None => None,
                    Some(_) => Some((constant(2).ok_or("has a bias that is not constant")?, 1.0)),
                };
                Ok(Linear { by_class: true, bias, ..base(Weights::Constant(weights), Axis::Channel)? })
            }
            "MatMulInteger" => self.dynamic(index),
            _ => Err("is not a linear layer".into()),
        }
    }

    /// A product of integers whose query is quantised as it comes: the scales are multiplied in after it, as
    /// `Cast`, then `Mul` by the product of the query's and the weights' scale.
    fn dynamic(&self, index: usize) -> Result<Linear<'a>, String> {
        let node = &self.nodes[index];
        let lost = || "is a product of integers without a known scale".to_owned();
        let values = node.input(1).filter(|value| self.is_tensor(value)).ok_or("has no constant weights")?;
        let quantise = node.input(0).and_then(|input| self.maker(input)).ok_or_else(lost)?;
        if quantise.op != "DynamicQuantizeLinear" {
            return Err(lost());
        }
        let query = quantise.input(0).ok_or_else(lost)?;
        let query_scale = quantise.outputs.get(1).ok_or_else(lost)?;
        // Mul(query's scale, weights' scale), in either order.
        let scale = self.nodes.iter().filter(|node| node.op == "Mul").find_map(|node| {
            let [a, b] = node.inputs[..] else { return None };
            let scale = if a == *query_scale { b } else { a };
            ((a == *query_scale || b == *query_scale)
                && self.is_tensor(scale)
                && self.is_scale_of(index, node.output()))
            .then_some(scale)
        });
        let weights = Weights::Quantised {
            values,
            scale: scale.ok_or_else(lost)?,
            zero: node.input(3).filter(|zero| self.is_tensor(zero)),
        };
        Ok(Linear { node: index, query, axis: Axis::Last, weights, by_class: false, factor: 1.0, bias: None })
    }

    /// Whether a value is what the result of an integer product is multiplied with.
    fn is_scale_of(&self, product: usize, scale: &str) -> bool {
        self.nodes.iter().any(|node| node.op == "Mul" && self.scaled_product(node) == Some((product, scale)))
    }

    /// For Mul(Cast(MatMulInteger), scale): the product's node and the scale.
    pub fn scaled_product<'s>(&'s self, node: &'s Node<'a>) -> Option<(usize, &'a str)> {
        let [a, b] = node.inputs[..] else { return None };
        [(a, b), (b, a)].into_iter().find_map(|(product, scale)| {
            let cast = self.maker(product).filter(|node| node.op == "Cast")?;
            let product = self.maker_index(cast.input(0)?)?;
            (self.nodes[product].op == "MatMulInteger").then_some((product, scale))
        })
    }

    /// Every layer that could be meant, as `--layer` takes it, with its size.
    pub fn candidates(&self) -> Vec<String> {
        let layers = (0..self.nodes.len()).filter_map(|index| self.linear(index).ok());
        layers.filter_map(|layer| Some(format!("{}, {}", self.nodes[layer.node].label(), self.size(&layer)?))).collect()
    }

    /// Classes × columns, as people write it.
    pub fn size(&self, layer: &Linear<'a>) -> Option<String> {
        let shape = self.constant_shape(layer.weights.value())?;
        let (first, second) = (shape.first()?, shape.get(1)?);
        Some(if layer.by_class { format!("{first}×{second}") } else { format!("{second}×{first}") })
    }
}
