//! Values that do not depend on the network's inputs: tensors of the file, and the operators that exporters put between
//! them and the layer.

use std::path::Path;

use super::graph::{Graph, Node, axis};
use super::shapes::Shapes;
use crate::host::input::network::array::{Array, Values};
use crate::host::input::network::error::Obstacle;

/// More operators than an exporter puts after one tensor: stops hostile files.
const DEEPEST: usize = 16;

impl<'a> Graph<'a> {
    /// Returns whether a value is made of tensors alone, by operators that [`Graph::constant`] knows.
    pub fn is_constant(&self, value: &str) -> bool {
        self.constant_shape(value).is_some()
    }

    /// Returns the shape of a constant, without reading it.
    pub fn constant_shape(&self, value: &str) -> Option<Vec<usize>> {
        self.shape_at(value, DEEPEST)
    }

    fn shape_at(&self, value: &str, depth: usize) -> Option<Vec<usize>> {
        if let Some(tensor) = self.tensor(value) {
            return Some(tensor.ok()?.shape);
        }
        let node = self.maker(value)?;
        if node.op == "Constant" {
            return Some(listed(node)?.shape);
        }
        let depth = depth.checked_sub(1)?;
        let shape = |at: usize| self.shape_at(node.input(at)?, depth);
        match node.op {
            "Identity" | "Neg" | "Exp" | "Log" | "Sqrt" | "Reciprocal" => shape(0),
            "Cast" if matches!(node.int("to", 0), Ok(1 | 10 | 11 | 16)) => shape(0),
            // Scale and zero point are constants as well.
            "DequantizeLinear" if node.inputs.iter().skip(1).all(|input| self.is_tensor(input)) => shape(0),
            "Transpose" if swaps(node) => {
                shape(0).filter(|shape| shape.len() == 2).map(|shape| vec![shape[1], shape[0]])
            }
            "Add" | "Sub" | "Mul" | "Div" | "Pow" => {
                let shape = |at: usize| self.shape_at(node.input(at)?, depth / 2);
                broadcast(&shape(0)?, &shape(1)?)
            }
            "Unsqueeze" | "Squeeze" | "Reshape" => self.reshaped(node, shape(0)?),
            _ => None,
        }
    }

    /// Returns the shape that a node gives to a constant of this shape.
    fn reshaped(&self, node: &Node<'a>, from: Vec<usize>) -> Option<Vec<usize>> {
        match node.op {
            "Unsqueeze" => {
                let axes = Shapes::axes(self, node, 1).ok()??;
                let rank = from.len() + axes.len();
                let new: Vec<usize> = axes.iter().map(|&at| axis(at, rank)).collect::<Option<_>>()?;
                let mut old = from.into_iter();
                (0..rank).map(|at| if new.contains(&at) { Some(1) } else { old.next() }).collect()
            }
            "Squeeze" => {
                let gone = match Shapes::axes(self, node, 1).ok()? {
                    Some(axes) => axes.iter().map(|&at| axis(at, from.len())).collect::<Option<Vec<_>>>()?,
                    None => (0..from.len()).filter(|&at| from[at] == 1).collect(),
                };
                Some(from.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, &length)| length).collect())
            }
            _ => {
                let asked = self.integers(node.input(1)?)?;
                let length = |(at, &length): (usize, &i64)| match length {
                    0 => from.get(at).copied(),
                    -1 => Some(1),
                    length => usize::try_from(length).ok(),
                };
                let mut shape: Vec<usize> = asked.iter().enumerate().map(length).collect::<Option<_>>()?;
                let product = |shape: &[usize]| shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
                let (count, others) = (product(&from)?, product(&shape)?);
                if let Some(rest) = asked.iter().position(|&length| length == -1) {
                    shape[rest] = count.checked_div(others)?;
                }
                (product(&shape)? == count).then_some(shape)
            }
        }
    }

    /// Returns the values of a constant; `folder` is that of the network.
    pub fn constant(&self, value: &str, folder: &Path) -> Result<Array, Obstacle> {
        self.constant_at(value, folder, DEEPEST)
    }

    fn constant_at(&self, value: &str, folder: &Path, depth: usize) -> Result<Array, Obstacle> {
        if let Some(tensor) = self.tensor(value) {
            return tensor?.read(folder);
        }
        let fail = |why: &str| Obstacle::Malformed(format!("the value \"{value}\" can't be read: {why}"));
        let node = self.maker(value).filter(|_| depth > 0).ok_or_else(|| fail("it is not a constant"))?;
        if node.op == "Constant" {
            return listed(node).ok_or_else(|| fail("it is a constant of a kind that is not read"));
        }
        let source = node.input(0).ok_or_else(|| fail("its node has no input"))?;
        let is_joined = matches!(node.op, "Add" | "Sub" | "Mul" | "Div" | "Pow");
        // Two ways each: the deeper, the fewer.
        let deeper = if is_joined { depth / 2 } else { depth - 1 };
        let array = self.constant_at(source, folder, deeper)?;
        let each = |array: Array, f: fn(f32) -> f32| {
            let values = Values::Float(array.floats().into_iter().map(f).collect());
            Array { values, ..array }
        };
        match node.op {
            "Identity" => Ok(array),
            "Cast" => Ok(each(array, |value| value)),
            "Neg" => Ok(each(array, |value| -value)),
            "Exp" => Ok(each(array, f32::exp)),
            "Log" => Ok(each(array, f32::ln)),
            "Sqrt" => Ok(each(array, f32::sqrt)),
            "Reciprocal" => Ok(each(array, f32::recip)),
            "Transpose" if swaps(node) => array.transposed().ok_or_else(|| fail("it is not two-dimensional")),
            "Unsqueeze" | "Squeeze" | "Reshape" => {
                let shape = self.reshaped(node, array.shape).ok_or_else(|| fail("its shape is not known"))?;
                Ok(Array::new(shape, array.values))
            }
            _ if is_joined => {
                let second = node.input(1).ok_or_else(|| fail("its node has no second input"))?;
                let second = self.constant_at(second, folder, deeper)?;
                let f = match node.op {
                    "Add" => |a: f32, b: f32| a + b,
                    "Sub" => |a: f32, b: f32| a - b,
                    "Mul" => |a: f32, b: f32| a * b,
                    "Div" => |a: f32, b: f32| a / b,
                    _ => f32::powf,
                };
                array.zip(&second, f).ok_or_else(|| fail("its two parts have different shapes"))
            }
            "DequantizeLinear" => {
                let read = |index: usize| node.input(index).map(|input| self.constant_at(input, folder, depth - 1));
                let scales = read(1).ok_or_else(|| fail("it has no scale"))??.floats();
                let zeros = match read(2).transpose()?.map(|zeros| zeros.values) {
                    Some(Values::Int(zeros)) => zeros,
                    None => Vec::new(),
                    Some(Values::Float(_)) => return Err(fail("its zero point is not an integer")),
                };
                if node.int("block_size", 0)? != 0 {
                    return Err(fail("it is quantised in blocks"));
                }
                let along = match scales.len() {
                    1 => None,
                    _ => Some(axis(node.int("axis", 1)?, array.shape.len()).ok_or_else(|| fail("no such axis"))?),
                };
                array.dequantised(&scales, &zeros, along).map_err(fail)
            }
            _ => Err(fail(&format!("{} is not a constant", node.label()))),
        }
    }

    /// Returns a constant list of integers, as axes, lengths and indices are: of the file, after operators that leave its values.
    pub fn integers(&self, value: &str) -> Option<Vec<i64>> {
        let mut value = value;
        for _ in 0..DEEPEST {
            if let Some(tensor) = self.tensor(value) {
                return tensor.ok()?.integers();
            }
            let node = self.maker(value)?;
            match node.op {
                "Constant" => {
                    return match node.ints("value_ints").ok()? {
                        Some(list) => Some(list),
                        None => Some(vec![node.attribute("value_int", 3).ok()??.int().ok()?]),
                    };
                }
                "Identity" | "Cast" | "Unsqueeze" | "Squeeze" | "Reshape" => value = node.input(0)?,
                _ => return None,
            }
        }
        None
    }

    /// Returns the only value of a constant, whatever its shape.
    pub fn number(&self, value: &str, folder: &Path) -> Option<f64> {
        let values = self.constant_shape(value).filter(|shape| shape.iter().all(|&length| length == 1));
        let values = values.and_then(|_| self.constant(value, folder).ok())?.floats();
        values.first().copied().map(f64::from)
    }
}

/// Reads a node `Constant` whose values are attributes of their own.
fn listed(node: &Node<'_>) -> Option<Array> {
    let narrow = |list: Vec<i64>| list.into_iter().map(|int| i32::try_from(int).ok()).collect::<Option<Vec<_>>>();
    if let Some(values) = node.floats("value_floats").ok()? {
        return Some(Array::new(vec![values.len()], Values::Float(values)));
    }
    if let Some(list) = node.ints("value_ints").ok()? {
        return Some(Array::new(vec![list.len()], Values::Int(narrow(list)?)));
    }
    if let Some(value) = node.attribute("value_float", 2).ok()? {
        return Some(Array::new(Vec::new(), Values::Float(vec![value.float().ok()?])));
    }
    let value = node.attribute("value_int", 3).ok()??.int().ok()?;
    Some(Array::new(Vec::new(), Values::Int(narrow(vec![value])?)))
}

/// Returns the shape of two arrays joined element by element, where one of them has it already.
fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let is_one = |shape: &[usize]| shape.iter().all(|&length| length == 1);
    match (is_one(a), is_one(b)) {
        _ if a == b => Some(a.to_vec()),
        (_, true) if a.len() >= b.len() => Some(a.to_vec()),
        (true, _) if b.len() >= a.len() => Some(b.to_vec()),
        _ => None,
    }
}

/// Returns whether a transposition is that of a matrix.
fn swaps(node: &Node<'_>) -> bool {
    match node.ints("perm") {
        Ok(Some(perm)) => perm == [1, 0],
        Ok(None) => true,
        Err(_) => false,
    }
}
