//! The layer's numbers: constants after the layer are taken into rows and biases.

use std::path::Path;

use super::graph::Graph;
use super::head::Head;
use super::linear::{Bias, Linear, Scale};
use crate::host::input::network::array::{Array, Values};
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::layer::{OutputLayer, scaled};
use crate::host::input::network::meaning::Answer;
use crate::model::InputScale;

impl<'a> Graph<'a> {
    /// Reads the weights of an output layer.
    pub fn output_layer(&self, head: &Head<'a>, folder: &Path) -> Result<OutputLayer, Obstacle> {
        let layer = &head.layer;
        let label = self.nodes[layer.node].label();
        let fail = |what: &str| Obstacle::Malformed(format!("{label}: {what}"));
        let array = self.constant(layer.weights.value, folder)?;
        let array = match layer.weights.scale {
            None => array,
            // One scale for all, or one for each class: that is the last axis, or the first one.
            Some(scale) => {
                let (scales, zeros) = self.scales(scale, folder)?;
                let axis = (scales.len() > 1).then_some(usize::from(!layer.by_class));
                array.dequantised(&scales, &zeros, axis).map_err(fail)?
            }
        };
        let array = array.without_leading_ones();
        let array = match layer.by_class {
            true => array,
            false => array.transposed().ok_or_else(|| fail("the weights are not a matrix"))?,
        };
        let weights = array.into_rows().ok_or_else(|| fail("the weights are not a matrix"))?;
        let bias = self.own_bias(layer, weights.rows(), folder)?;
        let (weights, biases) =
            scaled(weights, bias, f64::from(layer.factor), &head.affine).map_err(|what| fail(&what))?;
        Ok(OutputLayer {
            weights,
            biases,
            input: self.input_scale(head, folder),
            taken: self.taken(head),
            left_out: self.left_out_text(head),
        })
    }

    /// Returns the bias of the layer's own node; empty if it has none.
    fn own_bias(&self, layer: &Linear<'a>, classes: usize, folder: &Path) -> Result<Vec<f64>, Obstacle> {
        let label = self.nodes[layer.node].label();
        let fail = |what: &str| Obstacle::Malformed(format!("{label}: {what}"));
        let each = |value: &str| -> Result<Vec<f64>, Obstacle> {
            let array = self.constant(value, folder)?;
            // A convolution has a plain list, wherever its classes are.
            let axis = if self.nodes[layer.node].op.ends_with("Conv") { 0 } else { layer.class_axis };
            each_class(&array, classes, axis).ok_or_else(|| fail("the bias has not one value for each class"))
        };
        match layer.bias {
            None => Ok(Vec::new()),
            Some(Bias::Constant(value, beta)) => Ok(each(value)?.iter().map(|bias| bias * f64::from(beta)).collect()),
            Some(Bias::Integers(value)) => {
                let query = self.nodes[layer.node].input(1).map(|scale| Scale { scale, zero: None });
                let weights = layer.weights.scale;
                let (Some(query), Some(weights)) = (query, weights) else {
                    return Err(fail("has a bias without a scale"));
                };
                let (query, weights) = (self.scales(query, folder)?.0, self.scales(weights, folder)?.0);
                let [query] = query[..] else { return Err(fail("has several scales for its query")) };
                let scale = |class: usize| weights.get(class).or(weights.first()).copied().unwrap_or(0.0);
                if weights.len() != 1 && weights.len() != classes {
                    return Err(fail("has not one scale for each class"));
                }
                let values = each(value)?.into_iter().enumerate();
                Ok(values.map(|(class, bias)| bias * f64::from(query) * f64::from(scale(class))).collect())
            }
        }
    }

    fn scales(&self, scale: Scale<'a>, folder: &Path) -> Result<(Vec<f32>, Vec<i32>), Obstacle> {
        let scales = self.constant(scale.scale, folder)?.floats();
        let zeros = match scale.zero.map(|zero| self.constant(zero, folder)).transpose()?.map(|zero| zero.values) {
            Some(Values::Int(zeros)) => zeros,
            _ => Vec::new(),
        };
        Ok((scales, zeros))
    }

    /// Returns the scale of int8 queries, if the network has them.
    fn input_scale(&self, head: &Head<'a>, folder: &Path) -> Option<InputScale> {
        let scale = match head.layer.query_scale {
            Some(scale) => scale,
            None => {
                let node = self.maker(head.layer.query).filter(|node| node.op == "DequantizeLinear")?;
                Scale { scale: node.input(1)?, zero: node.input(2) }
            }
        };
        let [step] = self.constant(scale.scale, folder).ok()?.floats()[..] else { return None };
        // The type of the zero point is that of the values.
        let zero = self.tensor(scale.zero?)?.ok().filter(|zero| zero.is_i8())?.read(folder).ok()?;
        let [zero_point] = zero.floats()[..] else { return None };
        (step.is_finite() && step > 0.0).then_some(InputScale { scale: step, zero_point: zero_point as i8 })
    }

    /// Scale and zero point of a query of integers.
    #[cfg(feature = "import")]
    pub fn query_scale(&self, head: &Head<'a>, folder: &Path) -> Result<Option<(f32, f32)>, Obstacle> {
        let Some(scale) = head.layer.query_scale else { return Ok(None) };
        match self.scales(scale, folder)? {
            (scales, zeros) if scales.len() == 1 && zeros.len() <= 1 => {
                Ok(Some((scales[0], zeros.first().copied().unwrap_or(0) as f32)))
            }
            _ => Err(Obstacle::Malformed(format!("the scale \"{}\" is not one number", scale.scale))),
        }
    }

    /// Describes in one line what was taken.
    pub fn taken(&self, head: &Head<'a>) -> String {
        let node = &self.nodes[head.layer.node];
        let size = self.size(&head.layer).unwrap_or_default();
        let mut text = format!("{}, {size}", node.label());
        if let Some(rows) = &head.affine.rows {
            text += &format!(", of which {} classes", rows.len());
        }
        let biased = head.layer.bias.is_some() || !head.affine.bias.is(0.0);
        text += match (biased, !head.affine.factor.is(1.0)) {
            (true, false) => ", with its bias",
            (false, false) => ", without a bias",
            (true, true) => ", with its bias and a factor behind it",
            (false, true) => ", with a factor behind it, without a bias",
        };
        if !head.behind.is_empty() {
            text += &format!("; behind it: {}", self.labels(&head.behind));
        }
        if head.step > 0.0 {
            text += &format!(
                "; the network rounds scores to steps of {:.3} and cuts off what its integers can't hold, which zhat does not",
                head.step
            );
        }
        if self.outputs.len() > 1 {
            text += &format!("; for the output \"{}\"", head.output);
        }
        if head.truth != head.output && head.left_out.is_empty() {
            text += &format!("; the output \"{}\" says which classes are best, without p of every class", head.output);
        } else if head.answer == Answer::Scores && head.left_out.is_empty() {
            text += "; the network ends in scores: p is their softmax";
        }
        text
    }

    /// Names the nodes that are left out behind a layer that was asked for by name.
    pub fn left_out_text(&self, head: &Head<'a>) -> Option<String> {
        (!head.left_out.is_empty()).then(|| self.labels(&head.left_out))
    }

    fn labels(&self, nodes: &[usize]) -> String {
        const SHOWN: usize = 6;
        let shown: Vec<String> = nodes.iter().take(SHOWN).map(|&index| self.nodes[index].label()).collect();
        let more = nodes.len().saturating_sub(SHOWN);
        if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
    }
}

/// Returns one value for each class, of a constant with one for each class on their axis or one for all.
fn each_class(array: &Array, classes: usize, axis: usize) -> Option<Vec<f64>> {
    let values = array.floats();
    let lies = |(from_end, &length): (usize, &usize)| length == 1 || from_end == axis && length == classes;
    match values.len() {
        1 => Some(vec![f64::from(values[0]); classes]),
        n if n == classes && array.shape.iter().rev().enumerate().all(lies) => {
            Some(values.iter().map(|&value| f64::from(value)).collect())
        }
        _ => None,
    }
}
