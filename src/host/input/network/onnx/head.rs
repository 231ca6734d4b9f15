//! Which layer is the output layer, and what the network answers with it.

use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;

use super::graph::Graph;
use super::linear::Linear;
use super::shapes::Shapes;
use super::tail::{State, Tail, Value};
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::layout::Layout;
use crate::host::input::network::meaning::{Affine, Answer, Form, best};

/// The output layer, and what stands behind it.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "import"), expect(dead_code, reason = "only a run compares with what the network answers"))]
pub(in crate::host::input::network) struct Head<'a> {
    pub layer: Linear<'a>,
    /// What leads from the layer's own scores to those that p is the softmax of.
    pub affine: Rc<Affine>,
    /// The value that says what the network answers.
    pub truth: &'a str,
    /// What it holds.
    pub answer: Answer,
    pub layout: Layout,
    /// The nodes between the layer and that value, without those that only move values.
    pub behind: Vec<usize>,
    /// The coarsest step that scores are rounded to on the way.
    pub step: f64,
    /// The network's output.
    pub output: &'a str,
    /// Nodes that are left out because the layer was asked for by name: the model is not of the network's answers.
    pub left_out: Vec<usize>,
    /// Then: the outputs of the network that come from the layer.
    pub others: Vec<&'a str>,
}

impl<'a> Graph<'a> {
    /// Returns the output layer: the one that is named, or the one that the outputs come from.
    pub fn head(&self, shapes: &Shapes<'a>, folder: &Path, name: Option<&str>) -> Result<Head<'a>, Obstacle> {
        if let Some(name) = name {
            return self.named(shapes, folder, name);
        }
        let mut layers: Vec<Linear<'a>> = Vec::new();
        for output in &self.outputs {
            for layer in self.layers_before(shapes, output.name)? {
                if layers.iter().all(|other| other.node != layer.node) {
                    layers.push(layer);
                }
            }
        }
        if layers.is_empty() {
            return Err(self.no_layer(shapes, self.outputs[0].name));
        }
        let (mut heads, mut refused) = (Vec::new(), None);
        for layer in &layers {
            match self.judged(shapes, folder, layer)? {
                Ok(head) => heads.push(head),
                Err(obstacle) => {
                    let unread = self.unread(shapes, folder, layer)?;
                    refused = refused.or(Some(unread.unwrap_or(obstacle)));
                }
            }
        }
        // A layer that others come from is not the last one.
        let mut inner = HashSet::new();
        for head in &heads {
            inner.extend(self.ancestors(head.layer.query)?);
        }
        heads.retain(|head| !inner.contains(&head.layer.node));
        match (heads.len(), refused) {
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

    /// Returns the operator with weights that stands between a refused layer and an output, and can't be read: it is the output
    /// layer, and the one that was found belongs to the body.
    fn unread(&self, shapes: &Shapes<'a>, folder: &Path, layer: &Linear<'a>) -> Result<Option<Obstacle>, Obstacle> {
        const WITH_WEIGHTS: [&str; 9] = ["MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "If", "Loop", "Scan", ""];
        let tail = Tail::of(self, shapes, folder, layer)?;
        for output in &self.outputs {
            let Some(State::Lost { node: lost, .. }) = tail.get(output.name) else { continue };
            let (mut open, mut seen) = (vec![output.name], HashSet::new());
            let mut found = None;
            while let Some(value) = open.pop() {
                let Some(index) = self.maker_index(value).filter(|index| seen.insert(*index)) else { continue };
                if index > *lost && WITH_WEIGHTS.contains(&self.nodes[index].op) {
                    found = found.max(Some(index));
                    continue;
                }
                open.extend(self.nodes[index].inputs.iter().copied());
            }
            let comes_from = |index: usize| -> Result<bool, Obstacle> {
                let inputs = self.nodes[index].inputs.iter().copied().chain(self.nodes[index].captured()?);
                for input in inputs {
                    if self.ancestors(input)?.contains(lost) {
                        return Ok(true);
                    }
                }
                Ok(false)
            };
            if let Some(index) = found
                && comes_from(index)?
                && let Err(why) = self.linear(shapes, index)
            {
                let node = &self.nodes[index];
                let why = match node.op {
                    "" => "is an operator that is not known here".to_owned(),
                    "If" | "Loop" | "Scan" => "may hold the output layer in a graph of its own".to_owned(),
                    _ => why,
                };
                let node = format!("{}, which the output \"{}\" comes from,", node.label(), output.name);
                return Ok(Some(Obstacle::Unread { node, why }));
            }
        }
        Ok(None)
    }

    /// Returns the layer of this name, or the one that the value of this name comes from.
    fn named(&self, shapes: &Shapes<'a>, folder: &Path, name: &str) -> Result<Head<'a>, Obstacle> {
        let by_name = self.nodes.iter().position(|node| node.name == name && !name.is_empty());
        let Some(start) = by_name.or_else(|| self.maker_index(name)) else {
            return Err(Obstacle::NoSuchLayer { name: name.into(), candidates: self.candidates(shapes) });
        };
        if let Ok(layer) = self.linear(shapes, start) {
            return match self.judged(shapes, folder, &layer)? {
                Ok(head) => Ok(head),
                Err(_) => self.partial(shapes, folder, layer),
            };
        }
        let outputs = &self.nodes[start].outputs;
        let value = outputs.iter().copied().find(|&output| output == name).unwrap_or(self.nodes[start].output());
        let layers = self.layers_before(shapes, value)?;
        let mut refused = None;
        for layer in layers {
            let tail = Tail::of(self, shapes, folder, &layer)?;
            let found = match tail.get(value) {
                Some(State::Known(known)) => self.ending(&layer, value, known, value),
                Some(State::Lost { node, why }) => Err(self.behind(*node, why, &layer, value)),
                None => continue,
            };
            let head = match found {
                Ok(head) => head,
                Err(obstacle) => {
                    refused = refused.or(Some(obstacle));
                    continue;
                }
            };
            let is_output = self.outputs.iter().any(|output| output.name == value);
            let whole = self.judged(shapes, folder, &layer)?.is_ok_and(|whole| whole.affine == head.affine);
            return Ok(if is_output || whole { head } else { self.left_out(head, value)? });
        }
        Err(refused.unwrap_or_else(|| self.no_layer(shapes, value)))
    }

    /// Returns the head that all outputs of a layer agree on, or why there is none.
    fn judged(
        &self,
        shapes: &Shapes<'a>,
        folder: &Path,
        layer: &Linear<'a>,
    ) -> Result<Result<Head<'a>, Obstacle>, Obstacle> {
        let tail = Tail::of(self, shapes, folder, layer)?;
        if self.lengths(layer).is_some_and(|(classes, _)| classes < 2) {
            let why = "has one output only: there are no classes to choose from".to_owned();
            return Ok(Err(self.behind(layer.node, &why, layer, layer.scores)));
        }
        let mut found: Vec<Head<'a>> = Vec::new();
        let mut side = None;
        for output in &self.outputs {
            let known = match tail.get(output.name) {
                None => continue,
                Some(State::Lost { node, why }) => return Ok(Err(self.behind(*node, why, layer, output.name))),
                Some(State::Known(known)) => known,
            };
            // What source the best ones were chosen from says what p is.
            let (value, known) = match known.source.and_then(|source| Some((source, tail.get(source)?))) {
                Some((source, State::Known(source_value)))
                    if matches!(known.meaning.form, Form::Choice | Form::Best) =>
                {
                    (source, source_value)
                }
                _ => (output.name, known),
            };
            let head = self.ending(layer, value, known, output.name);
            match head {
                Ok(head) => found.push(head),
                // One number a query says nothing that the others do not.
                Err(obstacle) if !known.meaning.is_by_class() => side = side.or(Some(obstacle)),
                Err(obstacle) => return Ok(Err(obstacle)),
            }
        }
        let answers: Vec<_> = found.iter().map(|head| (head.answer, &*head.affine)).collect();
        let head = match best(&answers) {
            Ok(Some(at)) => found.swap_remove(at),
            Ok(None) => {
                let no_output = || self.behind(layer.node, "does not lead to an output", layer, layer.scores);
                return Ok(Err(side.unwrap_or_else(no_output)));
            }
            Err((one, other)) => {
                let (one, other) = (found[one].output, found[other].output);
                let why = format!(
                    "gives other probabilities than the output \"{one}\", so it is not clear which are meant (--layer {one} takes \
                     the one, --layer {other} the other)"
                );
                return Ok(Err(self.behind(self.maker_index(other).unwrap_or(layer.node), &why, layer, other)));
            }
        };
        if head.answer == Answer::Scores
            && let Some(softmax) = self.made_by_softmax(layer.query)
        {
            let why = format!(
                "takes the probabilities of {softmax}, so what it makes of them may be probabilities, not scores"
            );
            return Ok(Err(self.behind(layer.node, &why, layer, head.output)));
        }
        Ok(Ok(head))
    }

    /// Returns the head whose answer is this value.
    fn ending(
        &self,
        layer: &Linear<'a>,
        value: &'a str,
        known: &Value<'a>,
        output: &'a str,
    ) -> Result<Head<'a>, Obstacle> {
        let node = self.maker_index(value).unwrap_or(layer.node);
        let fail = |why: &str| self.behind(node, why, layer, output);
        if known.is_integers() {
            return Err(fail(
                "hands out integers, which stand for scores only with a scale that the network does not apply",
            ));
        }
        let answer = known.meaning.answer().map_err(|why| fail(&why))?;
        if known.layout.class_from_end().is_none() {
            return Err(fail("hands out one number for all classes"));
        }
        Ok(Head {
            layer: layer.clone(),
            affine: known.meaning.affine.clone(),
            truth: value,
            answer,
            layout: known.layout.clone(),
            behind: self.between(layer, value)?,
            step: known.step,
            output,
            left_out: Vec::new(),
            others: Vec::new(),
        })
    }

    /// Returns the layer as it is, with the constants that follow it at once, whatever stands behind them.
    fn partial(&self, shapes: &Shapes<'a>, folder: &Path, layer: Linear<'a>) -> Result<Head<'a>, Obstacle> {
        let tail = Tail::of(self, shapes, folder, &layer)?;
        let mut value = layer.scores;
        for _ in 0..self.nodes.len() {
            let is_output = self.outputs.iter().any(|output| output.name == value);
            let mut users = self.users(value);
            let (Some(user), None, false) = (users.next(), users.next(), is_output) else { break };
            let next = self.nodes[user].output();
            match tail.get(next) {
                Some(State::Known(known)) if matches!(known.meaning.form, Form::Scores(_)) => value = next,
                _ => break,
            }
        }
        // Integers of a quantised layer are not left as they are.
        let Some(State::Known(known)) = tail.get(value) else { return Err(self.no_layer(shapes, value)) };
        let head = self.ending(&layer, value, &known.as_floats(), value)?;
        self.left_out(head, value)
    }

    /// Marks what comes after a value as left out.
    fn left_out(&self, head: Head<'a>, value: &'a str) -> Result<Head<'a>, Obstacle> {
        let (mut after, mut left_out) = (HashSet::from([value]), Vec::new());
        for (index, node) in self.nodes.iter().enumerate() {
            let captured = node.captured()?;
            if node.inputs.iter().chain(&captured).any(|input| after.contains(input)) {
                after.extend(node.outputs.iter().copied().filter(|output| !output.is_empty()));
                left_out.push(index);
            }
        }
        let others = self.outputs.iter().map(|output| output.name).filter(|name| after.contains(name)).collect();
        Ok(Head { left_out, others, ..head })
    }

    /// Returns the nodes between a layer and a value, without those that only move values.
    fn between(&self, layer: &Linear<'a>, value: &'a str) -> Result<Vec<usize>, Obstacle> {
        const MOVES: [&str; 11] = [
            "Identity",
            "Cast",
            "CastLike",
            "Reshape",
            "Flatten",
            "Squeeze",
            "Unsqueeze",
            "Transpose",
            "Expand",
            "Dropout",
            "DequantizeLinear",
        ];
        let before = self.ancestors(value)?;
        let (mut after, mut found) = (HashSet::from([layer.scores]), Vec::new());
        for (index, node) in self.nodes.iter().enumerate() {
            if node.inputs.iter().any(|input| after.contains(input)) && !matches!(node.op, "Shape" | "Size") {
                after.extend(node.outputs.iter().copied().filter(|output| !output.is_empty()));
                let constant = node.inputs.iter().any(|input| self.is_constant(input));
                // A vector that is added is the bias.
                let is_bias = matches!(node.op, "Add" | "Sub" | "Mul" | "Div") && constant;
                if before.contains(&index) && !MOVES.contains(&node.op) && !is_bias {
                    found.push(index);
                }
            }
        }
        Ok(found)
    }

    /// Returns the last linear layers on all ways to a value.
    fn layers_before(&self, shapes: &Shapes<'a>, value: &'a str) -> Result<Vec<Linear<'a>>, Obstacle> {
        let (mut found, mut open, mut seen) = (Vec::new(), vec![value], HashSet::new());
        while let Some(value) = open.pop() {
            let Some(index) = self.maker_index(value).filter(|index| seen.insert(*index)) else { continue };
            // The scales of a product of integers are multiplied in after it.
            if let Ok(layer) = self.linear(shapes, index) {
                found.push(layer);
                continue;
            }
            let node = &self.nodes[index];
            // Shapes are taken of values, not made of them.
            if !matches!(node.op, "Shape" | "Size") {
                open.extend(node.inputs.iter().copied().chain(node.captured()?));
            }
        }
        found.sort_by_key(|layer| layer.node);
        found.reverse();
        Ok(found)
    }

    /// Returns all nodes that a value comes from.
    fn ancestors(&self, value: &'a str) -> Result<HashSet<usize>, Obstacle> {
        let (mut found, mut open) = (HashSet::new(), vec![value]);
        while let Some(value) = open.pop() {
            if let Some(index) = self.maker_index(value).filter(|index| found.insert(*index)) {
                open.extend(self.nodes[index].inputs.iter().copied().chain(self.nodes[index].captured()?));
            }
        }
        Ok(found)
    }

    /// Returns the softmax that a value comes from without anything between them.
    fn made_by_softmax(&self, value: &'a str) -> Option<String> {
        let mut value = value;
        for _ in 0..16 {
            let node = self.maker(value)?;
            match node.op {
                "Softmax" | "LogSoftmax" | "QLinearSoftmax" | "Hardmax" => return Some(node.label()),
                "Identity" | "Cast" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Transpose" | "Dropout"
                | "Gather" | "Slice" | "QuantizeLinear" | "DequantizeLinear" | "Clip" => value = node.input(0)?,
                "Div" if self.maker(node.input(0)?).is_some_and(|node| node.op == "Exp") => return Some(node.label()),
                _ => return None,
            }
        }
        None
    }

    fn behind(&self, node: usize, why: &str, layer: &Linear<'a>, output: &str) -> Obstacle {
        let layer_node = &self.nodes[layer.node];
        let between = match node == layer.node {
            true => format!("{}, which the output \"{output}\" comes from,", layer_node.label()),
            false => format!(
                "{}, which stands between the layer {} and the output \"{output}\",",
                self.nodes[node].label(),
                layer_node.label()
            ),
        };
        Obstacle::Behind { node: between, why: why.into(), layer: layer_node.id().into() }
    }

    fn no_layer(&self, shapes: &Shapes<'a>, output: &str) -> Obstacle {
        let why = "comes from no linear layer with constant weights".to_owned();
        Obstacle::NotLinear { node: format!("the output \"{output}\""), why, candidates: self.candidates(shapes) }
    }
}
