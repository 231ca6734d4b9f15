//! Values that do not depend on the network's inputs: tensors of the file, and the operators that exporters put between
//! them and the layer.

use std::path::Path;

use super::graph::{Graph, Node};
use crate::host::import::array::{Array, Values};
use crate::host::import::error::Obstacle;

/// More operators than an exporter puts after one tensor: stops hostile files.
const DEEPEST: usize = 16;

impl Graph<'_> {
    /// Whether a value is made of tensors alone, by operators that [`Graph::constant`] knows.
    pub fn is_constant(&self, value: &str) -> bool {
        self.constant_shape(value).is_some()
    }

    /// The shape of a constant, without reading it.
    pub fn constant_shape(&self, value: &str) -> Option<Vec<usize>> {
        let (mut value, mut swapped) = (value, false);
        for _ in 0..DEEPEST {
            if self.is_tensor(value) {
                let mut shape = self.tensor(value)?.ok()?.shape;
                if swapped {
                    shape.reverse();
                }
                return Some(shape);
            }
            let node = self.maker(value)?;
            match node.op {
                "Identity" | "Cast" => {}
                // Scale and zero point are constants as well.
                "DequantizeLinear" if node.inputs.iter().skip(1).all(|input| self.is_tensor(input)) => {}
                "Transpose" if swaps(node) => swapped = !swapped,
                _ => return None,
            }
            value = node.input(0)?;
        }
        None
    }

    /// The values of a constant; `folder` is that of the network.
    pub fn constant(&self, value: &str, folder: &Path) -> Result<Array, Obstacle> {
        self.constant_at(value, folder, DEEPEST)
    }

    fn constant_at(&self, value: &str, folder: &Path, depth: usize) -> Result<Array, Obstacle> {
        if let Some(tensor) = self.tensor(value) {
            return tensor?.read(folder);
        }
        let fail = |why: &str| Obstacle::Malformed(format!("the value \"{value}\" can't be read: {why}"));
        let node = self.maker(value).filter(|_| depth > 0).ok_or_else(|| fail("it is not a constant"))?;
        let source = node.input(0).ok_or_else(|| fail("its node has no input"))?;
        let array = self.constant_at(source, folder, depth - 1)?;
        match node.op {
            "Identity" => Ok(array),
            "Cast" => Ok(Array { values: Values::Float(array.floats()), ..array }),
            "Transpose" if swaps(node) => array.transposed().ok_or_else(|| fail("it is not two-dimensional")),
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
                let axis = match scales.len() {
                    1 => None,
                    _ => Some(axis(node.int("axis", 1)?, array.shape.len()).ok_or_else(|| fail("no such axis"))?),
                };
                array.dequantised(&scales, &zeros, axis).map_err(fail)
            }
            _ => Err(fail(&format!("{} is not a constant", node.label()))),
        }
    }
}

/// An axis, counted from the end if it is negative.
pub(super) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// Whether a transposition is that of a matrix.
fn swaps(node: &Node<'_>) -> bool {
    match node.ints("perm") {
        Ok(Some(perm)) => perm == [1, 0],
        Ok(None) => true,
        Err(_) => false,
    }
}
