//! From the layer's scores to the outputs of a .tflite network. Integers are taken for the numbers that they stand for.

use std::collections::HashMap;

use super::graph::{
    ADD, ARG_MAX, CAST, DEQUANTIZE, DIV, EXP, EXPAND_DIMS, LOG, LOG_SOFTMAX, LOGISTIC, MAXIMUM, MUL, NEG, Operator,
    QUANTIZE, REDUCE_MAX, RESHAPE, SHAPE, SOFTMAX, SQUEEZE, SUB, SUM, TOPK_V2, TRANSPOSE,
};
use super::{Network, activation, broken};
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::layout::{Along, Dim, Entry, Layout};
use crate::host::input::network::meaning::{Form, Meaning, PerClass, Reduction};

/// Operators that only move or round values.
pub(super) const MOVES: [u32; 7] = [DEQUANTIZE, RESHAPE, TRANSPOSE, SQUEEZE, CAST, EXPAND_DIMS, QUANTIZE];
/// More operators than stand behind any layer: bounds what a hostile file makes of it.
const MOST: usize = 256;

/// What is known of a tensor behind the layer.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub meaning: Meaning,
    pub layout: Layout,
    /// The coarsest step that scores were rounded to on the way.
    pub step: f32,
    /// For the best classes: the tensor that they were chosen from.
    pub source: Option<i32>,
}

/// What a tensor behind the layer is.
#[derive(Clone, Debug)]
pub(super) enum State {
    Known(Value),
    /// No longer understood: since this operator, for this reason.
    Lost {
        operator: usize,
        why: String,
    },
}

/// Everything that comes from a layer.
pub(super) struct Tail<'n, 'g, 'a> {
    network: &'n Network<'g, 'a>,
    pub classes: usize,
    pub states: HashMap<i32, State>,
}

impl<'n, 'g, 'a> Tail<'n, 'g, 'a> {
    pub fn of(network: &'n Network<'g, 'a>, layer: usize) -> Result<Self, Obstacle> {
        let operator = &network.all[layer];
        let shape = network.weights(operator).map(|weights| weights.shape()).unwrap_or_default();
        let classes = shape.first().copied().unwrap_or(0);
        let mut tail = Self { network, classes, states: HashMap::new() };
        let scores = network.graph.tensor(operator.output).ok_or_else(broken)?;
        // The classes are on the last axis, whatever the file says of the others.
        let mut dims = scores.dims();
        match dims.last_mut() {
            Some(last) => *last = Dim::Known(classes),
            None => dims = vec![Dim::Symbol(u32::MAX), Dim::Known(classes)],
        }
        let layout = Layout::new(&dims, dims.len() - 1);
        let first = Value { meaning: Meaning::of_layer(0), layout, step: tail.step(operator.output), source: None };
        tail.states.insert(operator.output, State::Known(first));
        let mut count = 0;
        for (index, operator) in network.all.iter().enumerate() {
            let mut taken = operator.inputs.iter().filter_map(|input| tail.states.get(input)).peekable();
            if index == layer || taken.peek().is_none() || operator.code == SHAPE {
                continue;
            }
            let lost = taken.find_map(|state| match state {
                State::Lost { operator, why } => Some((*operator, why.clone())),
                State::Known(_) => None,
            });
            count += 1;
            let late = |input: &i32| network.makers.get(input).is_some_and(|&maker| maker >= index);
            let made = match lost {
                Some((operator, why)) => Err((operator, why)),
                None if count > MOST => Err((index, format!("is behind {MOST} other operators"))),
                None if operator.inputs.iter().any(late) => {
                    Err((index, "stands before an operator that it needs".into()))
                }
                None => tail.read(operator, count).map_err(|why| (index, why)),
            };
            for (at, &output) in operator.outputs.iter().enumerate() {
                let state = match (&made, operator.code, at) {
                    (Ok(value), TOPK_V2, 1) => {
                        let meaning = Meaning { form: Form::Choice, ..value.meaning.clone() };
                        State::Known(Value { meaning, ..value.clone() })
                    }
                    (Ok(_), _, 1..) => State::Lost { operator: index, why: "has several outputs".into() },
                    (Ok(value), _, _) => State::Known(value.clone()),
                    (Err((operator, why)), _, _) => State::Lost { operator: *operator, why: why.clone() },
                };
                tail.states.insert(output, state);
            }
        }
        Ok(tail)
    }

    fn known(&self, tensor: i32) -> Option<&Value> {
        match self.states.get(&tensor)? {
            State::Known(value) => Some(value),
            State::Lost { .. } => None,
        }
    }

    /// Returns the step of integers; zero for floats.
    fn step(&self, tensor: i32) -> f32 {
        let scales = self.network.graph.tensor(tensor).and_then(|tensor| tensor.quantisation());
        scales.and_then(|(scales, _, _)| scales.first().copied()).unwrap_or(0.0)
    }

    fn integers(&self, operator: &Operator<'a>, at: usize) -> Result<Vec<i64>, String> {
        let tensor = operator.inputs.get(at).and_then(|&tensor| self.network.graph.tensor(tensor));
        tensor.and_then(|tensor| tensor.integers()).ok_or_else(|| "takes its axes from a value".into())
    }

    /// Reads a constant beside a value: the layout of both together, and one number or one for each class.
    fn constant(&self, value: &Value, tensor: i32) -> Result<(Layout, PerClass), String> {
        let missing = "takes a tensor that neither is constant nor comes from the layer";
        let found = self.network.constant(tensor).ok_or(missing)?;
        let (layout, along) = value.layout.beside(&found.shape(), self.classes)?;
        let values =
            found.read().map_err(|obstacle| format!("takes a constant that can't be read: {obstacle}"))?.floats();
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        match along {
            Along::Classes if values.len() == self.classes => Ok((layout, PerClass::new(values))),
            Along::All if values.len() == 1 => Ok((layout, PerClass::All(values[0]))),
            _ => Err("takes a constant of another length than the classes".into()),
        }
    }

    /// Reads what an operator makes of the values that it takes.
    fn read(&self, operator: &Operator<'a>, id: usize) -> Result<Value, String> {
        let known: Vec<i32> = operator.inputs.iter().copied().filter(|&input| self.known(input).is_some()).collect();
        let first =
            known.first().and_then(|&tensor| self.known(tensor)).cloned().ok_or("takes nothing of the layer")?;
        if known.iter().all(|&tensor| self.known(tensor).is_some_and(|value| value.meaning.form == Form::Choice)) {
            return Ok(first);
        }
        let is_move = MOVES.contains(&operator.code);
        if first.meaning.form == Form::Best && is_move {
            return Ok(first);
        }
        if activation(operator) != 0 && matches!(operator.code, ADD | SUB | MUL | DIV) {
            return Err("has an activation behind it".into());
        }
        if matches!(operator.code, ADD | SUB | MUL | DIV | MAXIMUM) {
            return self.binary(operator, &known, id);
        }
        if operator.inputs.first() != known.first() || known.len() != 1 {
            return Err("takes a value of the layer for something else than its data".into());
        }
        let m = &first.meaning;
        let meaning = match operator.code {
            SOFTMAX => {
                first.layout.expect_classes(&[-1], "is a softmax over")?;
                let beta = operator.options.and_then(|options| options.f32(0)).unwrap_or(0.0);
                if !(beta > 0.0 && beta.is_finite()) {
                    return Err("is a softmax with a factor that is not positive".into());
                }
                // Beside an operator that does not have it, a factor is one more value.
                m.times(&PerClass::All(beta.into()), id)?.softmax(id)?
            }
            LOG_SOFTMAX => {
                first.layout.expect_classes(&[-1], "is a softmax over")?;
                m.log_softmax(id)?
            }
            EXP => m.exp(id)?,
            LOG => m.ln(id)?,
            NEG => m.times(&PerClass::All(-1.0), id)?,
            SUM | REDUCE_MAX => {
                let axes = self.integers(operator, 1)?;
                first.layout.expect_classes(&axes, "reduces")?;
                let keep = operator.options.and_then(|options| options.u8(0)).unwrap_or(0) != 0;
                let reduction = if operator.code == SUM { Reduction::Sum } else { Reduction::Max };
                let meaning = m.reduced(reduction, id)?;
                let source = if meaning.form == Form::Best { known.first().copied() } else { None };
                return Ok(Value { meaning, layout: first.layout.reduced(&axes, keep)?, source, ..first });
            }
            ARG_MAX | TOPK_V2 => {
                let axes = if operator.code == ARG_MAX { self.integers(operator, 1)? } else { vec![-1] };
                first.layout.expect_classes(&axes, "takes the best along")?;
                let form = if operator.code == ARG_MAX { Form::Choice } else { Form::Best };
                return Ok(Value { meaning: m.best(form, id)?, source: known.first().copied(), ..first });
            }
            LOGISTIC => {
                return Err(
                    "is a sigmoid: it gives each class a probability by itself, and they do not sum to one".into()
                );
            }
            _ if is_move => return self.moved(operator, first),
            _ => return Err("makes something of the scores that no bias, factor or temperature makes up for".into()),
        };
        Ok(self.rounded(Value { meaning, ..first }, operator))
    }

    /// Takes the step of integers of scores into account.
    fn rounded(&self, value: Value, operator: &Operator<'a>) -> Value {
        let is_scores = matches!(value.meaning.form, Form::Scores(_) | Form::LogP);
        let step = if is_scores { value.step.max(self.step(operator.output)) } else { value.step };
        Value { step, ..value }
    }

    fn moved(&self, operator: &Operator<'a>, value: Value) -> Result<Value, String> {
        let output = self.network.graph.tensor(operator.output).ok_or("has no output")?;
        let layout = match operator.code {
            TRANSPOSE => value.layout.transposed(Some(&self.integers(operator, 1)?))?,
            RESHAPE | SQUEEZE | EXPAND_DIMS => {
                let entries: Vec<Entry> = output.dims().into_iter().map(Entry::Length).collect();
                value.layout.reshaped(&entries, self.classes)?
            }
            _ if !output.is_real() => return Err("rounds values to integers without a scale".into()),
            _ => value.layout.clone(),
        };
        Ok(self.rounded(Value { layout, ..value }, operator))
    }

    fn binary(&self, operator: &Operator<'a>, known: &[i32], id: usize) -> Result<Value, String> {
        let [a, b] = operator.inputs[..] else { return Err("joins more than two values".into()) };
        if let (Some(first), Some(second)) = (self.known(a), self.known(b)) {
            let (layout, other) = (first.layout.like(&second.layout), second.layout.like(&first.layout));
            if !layout.fits(&other) {
                return Err("joins two values of the layer that lie differently".into());
            }
            let (m, n) = (&first.meaning, &second.meaning);
            let meaning = match operator.code {
                ADD => m.plus_value(n, 1.0, id)?,
                SUB => m.plus_value(n, -1.0, id)?,
                DIV => m.by_value(n, id)?,
                MUL => m.times_value(n, id)?,
                _ => return Err("joins two values of the layer".into()),
            };
            return Ok(self.rounded(Value { meaning, layout, ..first.clone() }, operator));
        }
        let first = self.known(known[0]).ok_or("takes nothing of the layer")?;
        let is_left = self.known(a).is_some();
        let (layout, constant) = self.constant(first, if is_left { b } else { a })?;
        let m = &first.meaning;
        let meaning = match (operator.code, is_left) {
            (ADD, _) => m.plus(&constant, id)?,
            (SUB, true) => m.plus(&constant.map(|value| -value), id)?,
            (SUB, false) => m.times(&PerClass::All(-1.0), id)?.plus(&constant, id)?,
            (MUL, _) => m.times(&constant, id)?,
            (DIV, true) => m.times(&constant.map(f64::recip), id)?,
            _ => return Err("joins values with a constant in a way that is no softmax of scores".into()),
        };
        Ok(self.rounded(Value { meaning, layout, ..first.clone() }, operator))
    }
}
