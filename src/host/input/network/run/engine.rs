//! The engine, which is rten: a network and its inputs go in, values come out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rten::{Model, ModelOptions, NodeId, Value, ValueOrView};
use rten_tensor::prelude::*;

use crate::host::input::network::error::Obstacle;
use crate::host::input::{Tensor, TensorValues};

/// A network that was loaded.
pub(super) struct Engine {
    model: Model,
    outputs: Vec<NodeId>,
}

/// Floats that the network gave.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub shape: Vec<usize>,
    pub data: Vec<f32>,
}

impl Output {
    /// Takes an input of the network as it is.
    pub fn given(tensor: &Tensor) -> Self {
        let data = match &tensor.values {
            TensorValues::Float(values) => values.clone(),
            TensorValues::Int(values) => values.iter().map(|&value| value as f32).collect(),
        };
        Self { shape: tensor.shape.clone(), data }
    }
}

impl Engine {
    pub fn load(file: Vec<u8>) -> Result<Self, Obstacle> {
        let model = guarded(|| ModelOptions::with_all_ops().load(file).map_err(|error| error.to_string()))?;
        Ok(Self { outputs: model.output_ids().to_vec(), model })
    }

    /// Runs the network on arrays by the names of its inputs.
    pub fn run(&self, inputs: &[(&str, &Tensor)]) -> Result<Vec<Output>, Obstacle> {
        let values = inputs.iter().map(|&(name, tensor)| {
            let id = self.model.node_id(name).map_err(|error| Obstacle::Engine(error.to_string()))?;
            Ok((id, ValueOrView::from(value(tensor)?)))
        });
        let values: Vec<_> = values.collect::<Result<_, Obstacle>>()?;
        let found = guarded(|| self.model.run(values, &self.outputs, None).map_err(|error| error.to_string()))?;
        found.into_iter().map(output).collect()
    }
}

fn value(tensor: &Tensor) -> Result<Value, Obstacle> {
    let shape = &tensor.shape[..];
    let value = match &tensor.values {
        TensorValues::Float(data) => Value::from_shape(shape, data.clone()).map_err(|error| error.to_string()),
        TensorValues::Int(data) => Value::from_shape(shape, data.clone()).map_err(|error| error.to_string()),
    };
    value.map_err(Obstacle::Inputs)
}

fn output(value: Value) -> Result<Output, Obstacle> {
    let (shape, data) = match value {
        Value::FloatTensor(tensor) => (tensor.shape().to_vec(), tensor.to_vec()),
        Value::Int32Tensor(tensor) => (tensor.shape().to_vec(), tensor.iter().map(|&value| value as f32).collect()),
        Value::Int8Tensor(tensor) => (tensor.shape().to_vec(), tensor.iter().map(|&value| value.into()).collect()),
        Value::UInt8Tensor(tensor) => (tensor.shape().to_vec(), tensor.iter().map(|&value| value.into()).collect()),
        _ => return Err(Obstacle::Engine("the layer's inputs are not numbers".into())),
    };
    Ok(Output { shape, data })
}

/// Runs the engine, which expects well-formed networks: its panics are errors here.
fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, Obstacle> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(Obstacle::Engine),
        Err(_) => Err(Obstacle::Engine("the engine gave up".into())),
    }
}
