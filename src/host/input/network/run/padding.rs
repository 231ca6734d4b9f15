//! Which steps of a sequence are padding.
//!
//! An input with "mask" in its name and a value for each step says so itself: zero is padding. Otherwise padding is what
//! is constant at the end: an input whose axis is a whole multiple of the steps long ends, for that example, in one value
//! over and over.

use super::feed::Batch;
use crate::host::input::network::onnx::Input;
use crate::host::input::{Tensor, TensorValues};

/// For each step of each example, whether to keep it; all of them where nothing is known.
pub(super) fn kept(inputs: &[Input<'_>], tensors: &Batch, examples: usize, steps: usize) -> Vec<bool> {
    let mask = inputs
        .iter()
        .zip(tensors)
        .find(|(input, tensor)| input.name.to_lowercase().contains("mask") && tensor.shape == [examples, steps]);
    if let Some((_, tensor)) = mask {
        return match &tensor.values {
            TensorValues::Float(values) => values.iter().map(|&value| value != 0.0).collect(),
            TensorValues::Int(values) => values.iter().map(|&value| value != 0).collect(),
        };
    }
    let mut kept = vec![true; examples * steps];
    let sequence = tensors.iter().find_map(|tensor| {
        let axis = (1..tensor.shape.len()).rev().find(|&axis| is_time(tensor.shape[axis], steps))?;
        (tensor.shape.first() == Some(&examples)).then_some((tensor, axis))
    });
    let Some((tensor, axis)) = sequence else { return kept };
    for (example, kept) in kept.chunks_exact_mut(steps.max(1)).enumerate() {
        let used = match &tensor.values {
            TensorValues::Float(values) => used(values, tensor, axis, example),
            TensorValues::Int(values) => used(values, tensor, axis, example),
        };
        // A step that saw any of it is kept.
        let last = (used * steps).div_ceil(tensor.shape[axis]);
        kept.iter_mut().skip(last.max(1)).for_each(|kept| *kept = false);
    }
    kept
}

/// Returns whether an axis of this length can be what `steps` steps are made of.
fn is_time(length: usize, steps: usize) -> bool {
    steps > 1 && length >= steps && length.is_multiple_of(steps)
}

/// Returns how much of an axis one example uses before it ends in one value over and over.
fn used<T: PartialEq>(values: &[T], tensor: &Tensor, axis: usize, example: usize) -> usize {
    let length = tensor.shape[axis];
    let inner: usize = tensor.shape[axis + 1..].iter().product();
    let size = values.len() / tensor.shape[0].max(1);
    let values = &values[example * size..][..size];
    let Some(padding) = values.last() else { return length };
    let is_padding = |at: usize| {
        values.chunks_exact(length * inner).all(|part| part[at * inner..][..inner].iter().all(|value| value == padding))
    };
    (0..length).rev().find(|&at| !is_padding(at)).map_or(0, |at| at + 1)
}
