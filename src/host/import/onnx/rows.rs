//! The layer's numbers: constants after the layer are taken into rows and biases.

use std::path::Path;

use super::graph::Graph;
use super::head::{Affine, Head};
use super::linear::Weights;
use crate::host::Matrix;
use crate::host::import::array::{Array, Values};
use crate::host::import::error::Obstacle;
use crate::host::import::layer::OutputLayer;
use crate::model::InputScale;

impl<'a> Graph<'a> {
    /// Reads the weights of an output layer.
    pub fn output_layer(&self, head: &Head<'a>, folder: &Path) -> Result<OutputLayer, Obstacle> {
        let layer = &head.layer;
        let label = self.nodes[layer.node].label();
        let fail = |what: &str| Obstacle::Malformed(format!("{label}: {what}"));
        let array = match layer.weights {
            Weights::Constant(value) => self.constant(value, folder)?,
            Weights::Quantised { values, scale, zero } => {
                let scales = self.constant(scale, folder)?.floats();
                let zeros = match zero.map(|zero| self.constant(zero, folder)).transpose()?.map(|zero| zero.values) {
                    Some(Values::Int(zeros)) => zeros,
                    _ => Vec::new(),
                };
                let axis = (scales.len() > 1).then_some(1);
                self.constant(values, folder)?.dequantised(&scales, &zeros, axis).map_err(fail)?
            }
        };
        let array = match layer.by_class {
            true => array,
            false => array.transposed().ok_or_else(|| fail("the weights are not a matrix"))?,
        };
        let mut weights = array.into_rows().ok_or_else(|| fail("the weights are not a matrix"))?;
        let classes = weights.rows();
        let per_class = |array: Array| each_class(&array, classes).ok_or_else(|| fail("not one value for each class"));
        // Scores are factor · (weights · query) + bias, class by class.
        let mut factor = vec![f64::from(layer.factor); classes];
        let mut bias = vec![0.0; classes];
        if let Some((value, beta)) = layer.bias {
            bias = per_class(self.constant(value, folder)?)?;
            bias.iter_mut().for_each(|bias| *bias *= f64::from(beta));
        }
        for &step in &head.affine {
            match step {
                Affine::Add(value, sign) => {
                    let more = per_class(self.constant(value, folder)?)?;
                    bias.iter_mut().zip(more).for_each(|(bias, more)| *bias += f64::from(sign) * more);
                }
                Affine::Mul(value, power) => {
                    let by = per_class(self.constant(value, folder)?)?;
                    for ((factor, bias), by) in factor.iter_mut().zip(&mut bias).zip(by) {
                        *factor *= by.powi(power);
                        *bias *= by.powi(power);
                    }
                }
            }
        }
        if factor.iter().any(|&factor| factor != 1.0) {
            let cols = weights.cols();
            let data = weights.data().iter().enumerate().map(|(i, &w)| (f64::from(w) * factor[i / cols]) as f32);
            weights = Matrix::new(data.collect(), cols).ok_or_else(|| fail("no rows"))?;
        }
        if let Some(at) = weights.data().iter().position(|weight| !weight.is_finite()) {
            let (row, column) = (at / weights.cols(), at % weights.cols());
            return Err(fail(&format!("the weight of class {row}, column {column} is not a number")));
        }
        let biases: Vec<f32> = bias.iter().map(|&bias| bias as f32).collect();
        if let Some(class) = biases.iter().position(|bias| bias.is_nan() || *bias == f32::INFINITY) {
            return Err(fail(&format!("the bias of class {class} is not a number")));
        }
        Ok(OutputLayer { weights, biases, input: self.input_scale(head, folder), taken: self.taken(head) })
    }

    /// How to read int8 queries, if the network has them.
    fn input_scale(&self, head: &Head<'a>, folder: &Path) -> Option<InputScale> {
        let node = self.maker(head.layer.query).filter(|node| node.op == "DequantizeLinear")?;
        let read = |index: usize| node.input(index).and_then(|value| self.constant(value, folder).ok());
        let [scale] = read(1)?.floats()[..] else { return None };
        // The type of the zero point is that of the values.
        let zero = self.tensor(node.input(2)?)?.ok().filter(|zero| zero.is_i8())?.read(folder).ok()?;
        let [zero_point] = zero.floats()[..] else { return None };
        (scale.is_finite() && scale > 0.0).then_some(InputScale { scale, zero_point: zero_point as i8 })
    }

    /// What was taken, in one line.
    pub fn taken(&self, head: &Head<'a>) -> String {
        let node = &self.nodes[head.layer.node];
        let size = self.size(&head.layer).unwrap_or_default();
        let mut text = format!("{}, {size}", node.label());
        let added = head.affine.iter().filter(|step| matches!(step, Affine::Add(..))).count();
        text += match (head.layer.bias.is_some() || added > 0, head.affine.len() > added) {
            (true, false) => ", with its bias",
            (false, false) => ", without a bias",
            (true, true) => ", with its bias and a factor behind it",
            (false, true) => ", with a factor behind it, without a bias",
        };
        let ignored: Vec<String> = head.behind.iter().map(|&index| self.nodes[index].label()).collect();
        match ignored.len() {
            0 => text,
            _ => text + &format!("; ignored behind it: {}", ignored.join(", ")),
        }
    }
}

/// One value for each class, of one for each class or one for all.
fn each_class(array: &Array, classes: usize) -> Option<Vec<f64>> {
    let values = array.floats();
    match values.len() {
        1 => Some(vec![f64::from(values[0]); classes]),
        n if n == classes => Some(values.iter().map(|&value| f64::from(value)).collect()),
        _ => None,
    }
}
