//! From an output back to the layer that makes its scores.
//!
//! What is passed on the way falls into three kinds: what a softmax or a choice is made of (ignored: zhat does that
//! itself), what only rearranges values (ignored), and constants that are added to or multiplied with the scores (taken
//! into rows and biases). Anything else ends the search: the output does not come from a linear layer.

use super::graph::{Graph, Node};
use super::linear::Linear;
use crate::host::import::error::Obstacle;

/// Operators that make probabilities, or choose by them.
const CHOICES: [&str; 5] = ["Softmax", "LogSoftmax", "ArgMax", "TopK", "Hardmax"];
/// Operators that only rearrange or round values.
const MOVES: [&str; 11] = [
    "Identity",
    "Cast",
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Transpose",
    "Expand",
    "Dropout",
    "QuantizeLinear",
    "DequantizeLinear",
];

/// The output layer.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "import"),
    expect(dead_code, reason = "only a run compares with what stands behind the layer")
)]
pub(in crate::host::import) struct Head<'a> {
    pub layer: Linear<'a>,
    /// The value that holds the scores in the query's layout, if one does.
    pub scores: Option<&'a str>,
    /// Constants that the layer's scores go through, in that order.
    pub affine: Vec<Affine<'a>>,
    /// The nodes after the scores that do more than move values, from the layer to the output.
    pub behind: Vec<usize>,
    /// What the output holds.
    pub kind: Kind,
    /// Whether the output has the layout of the scores.
    pub same_layout: bool,
    /// The network's output.
    pub output: &'a str,
}

/// Scores + constant · factor, or scores · constant ^ power.
#[derive(Clone, Copy, Debug)]
pub(in crate::host::import) enum Affine<'a> {
    Add(&'a str, f32),
    Mul(&'a str, i32),
}

/// What an output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host::import) enum Kind {
    Scores,
    Probabilities,
    LogProbabilities,
    Other,
}

impl<'a> Graph<'a> {
    /// The output layer: the one that is named, or the one that every output with a layer comes from.
    pub fn head(&self, name: Option<&str>) -> Result<Head<'a>, Obstacle> {
        if let Some(name) = name {
            return self.named(name);
        }
        let (mut heads, mut first) = (Vec::<Head<'a>>::new(), None);
        for output in &self.outputs {
            match self.trace(output.name) {
                Ok(head) if heads.iter().any(|other| other.layer.node == head.layer.node) => {}
                Ok(head) => heads.push(head),
                Err(obstacle) => first = first.or(Some(obstacle)),
            }
        }
        match (heads.len(), first) {
            (1, _) => Ok(heads.swap_remove(0)),
            (0, Some(obstacle)) => Err(obstacle),
            _ => {
                let text = |head: &Head<'a>| {
                    let size = self.size(&head.layer).unwrap_or_default();
                    format!("{}, {size}, for the output \"{}\"", self.nodes[head.layer.node].label(), head.output)
                };
                Err(Obstacle::Unclear { candidates: heads.iter().map(text).collect() })
            }
        }
    }

    /// The layer of this name, with the part of its bias that is added after it.
    fn named(&self, name: &str) -> Result<Head<'a>, Obstacle> {
        let by_name = self.nodes.iter().position(|node| node.name == name);
        let Some(start) = by_name.or_else(|| self.maker_index(name)) else {
            return Err(Obstacle::NoSuchLayer { name: name.into(), candidates: self.candidates() });
        };
        let mut found = self.trace(self.nodes[start].output())?;
        // Further on, as long as the only user of the scores adds or multiplies a constant.
        let mut value = self.nodes[start].output();
        for _ in 0..self.nodes.len() {
            let mut users = self.nodes.iter().filter(|node| node.inputs.contains(&value));
            let (Some(user), None) = (users.next(), users.next()) else { break };
            if !matches!(user.op, "Add" | "Sub" | "Mul" | "Div" | "Identity" | "Cast") {
                break;
            }
            match self.trace(user.output()) {
                Ok(head) if head.layer.node == found.layer.node && head.behind.is_empty() => found = head,
                _ => break,
            }
            value = user.output();
        }
        Ok(found)
    }

    fn trace(&self, output: &'a str) -> Result<Head<'a>, Obstacle> {
        let mut value = output;
        let (mut affine, mut behind, mut kind, mut same_layout) = (Vec::new(), Vec::new(), Kind::Scores, true);
        let mut scores = Some(output);
        for _ in 0..=self.nodes.len() {
            let Some(index) = self.maker_index(value) else {
                let node = format!("the output \"{output}\"");
                return Err(self.not_linear(node, format!("comes from \"{value}\", which no layer makes")));
            };
            let node = &self.nodes[index];
            let input = node.input(0);
            if let Ok(layer) = self.linear(index) {
                affine.reverse();
                behind.reverse();
                return Ok(Head { layer, scores, affine, behind, kind, same_layout, output });
            }
            let next = if let Some((scores, step)) = self.affine(node) {
                affine.extend(step);
                Some(scores)
            } else if let Some(source) = self.written_out(node) {
                // Subtracting the maximum first is a part of a softmax that was seen already.
                if node.op == "Div" {
                    kind = Kind::Probabilities;
                }
                behind.push(index);
                affine.clear();
                scores = Some(source);
                Some(source)
            } else if CHOICES.contains(&node.op) {
                kind = match node.op {
                    "Softmax" if kind == Kind::Scores && affine.is_empty() => Kind::Probabilities,
                    "LogSoftmax" if kind == Kind::Scores && affine.is_empty() => Kind::LogProbabilities,
                    _ => Kind::Other,
                };
                behind.push(index);
                // What was multiplied with or added to probabilities is no part of the scores.
                affine.clear();
                scores = input;
                input
            } else if MOVES.contains(&node.op) && input.is_some_and(|input| !self.is_constant(input)) {
                if !matches!(node.op, "Identity" | "Cast" | "Dropout") {
                    same_layout &= matches!(node.op, "QuantizeLinear" | "DequantizeLinear");
                    // Constants after a change of the layout are added to the same classes, but no value has the
                    // query's layout then.
                    scores = input.filter(|_| affine.is_empty());
                }
                input
            } else {
                let why = self.linear(index).err().unwrap_or_default();
                let node = format!("{}, which the output \"{output}\" comes from,", node.label());
                return Err(self.not_linear(node, why));
            };
            value = next.unwrap_or("");
        }
        Err(Obstacle::Malformed(format!("the nodes before \"{output}\" go in a circle")))
    }

    fn not_linear(&self, node: String, why: String) -> Obstacle {
        Obstacle::NotLinear { node, why, candidates: self.candidates() }
    }

    /// For a node that adds or multiplies a constant: the other operand, and what it does. The scales of an integer
    /// product are a part of its weights.
    fn affine(&self, node: &Node<'a>) -> Option<(&'a str, Option<Affine<'a>>)> {
        let [a, b] = node.inputs[..] else { return None };
        if let ("Mul", Some((product, _))) = (node.op, self.scaled_product(node)) {
            return Some((self.nodes[product].output(), None));
        }
        let (first, second) = (self.is_constant(a), self.is_constant(b));
        let (scores, constant) = match (first, second) {
            (false, true) => (a, b),
            (true, false) if matches!(node.op, "Add" | "Mul") => (b, a),
            _ => return None,
        };
        let step = match node.op {
            "Add" => Affine::Add(constant, 1.0),
            "Sub" => Affine::Add(constant, -1.0),
            "Mul" => Affine::Mul(constant, 1),
            "Div" => Affine::Mul(constant, -1),
            _ => return None,
        };
        Some((scores, Some(step)))
    }

    /// A softmax that is written out: exp(x) / Σ exp(x) gives x, and x − max x gives x.
    fn written_out(&self, node: &Node<'a>) -> Option<&'a str> {
        let [a, b] = node.inputs[..] else { return None };
        match node.op {
            "Div" => {
                let exp = self.maker(a).filter(|node| node.op == "Exp")?;
                let sum = self.behind_moves(b)?;
                (sum.op == "ReduceSum" && sum.input(0) == Some(a)).then(|| exp.input(0))?
            }
            "Sub" => {
                let most = self.behind_moves(b)?;
                (most.op == "ReduceMax" && most.input(0) == Some(a)).then_some(a)
            }
            _ => None,
        }
    }

    /// The node that makes a value, after those that only rearrange it. A maximum with a constant counts as such.
    fn behind_moves(&self, value: &str) -> Option<&Node<'a>> {
        let mut node = self.maker(value)?;
        for _ in 0..8 {
            let input = match node.op {
                "Max" => node.inputs.iter().copied().find(|input| !self.is_constant(input)),
                op if MOVES.contains(&op) => node.input(0),
                _ => return Some(node),
            };
            node = self.maker(input?)?;
        }
        None
    }
}
