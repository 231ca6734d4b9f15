//! Operators and tensors of a .tflite file. Numbers of fields, operators and types are those of TensorFlow Lite's schema.

use half::f16;

use super::flatbuffer::{Table, Vector};
use crate::host::input::network::array::{Array, Values};
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::layout::Dim;

/// Operators that are looked at, by their number in the schema.
pub(super) const ADD: u32 = 0;
pub(super) const CONV_2D: u32 = 3;
pub(super) const DEQUANTIZE: u32 = 6;
pub(super) const FULLY_CONNECTED: u32 = 9;
pub(super) const LOGISTIC: u32 = 14;
pub(super) const MUL: u32 = 18;
pub(super) const RESHAPE: u32 = 22;
pub(super) const SOFTMAX: u32 = 25;
pub(super) const TRANSPOSE: u32 = 39;
pub(super) const SUB: u32 = 41;
pub(super) const DIV: u32 = 42;
pub(super) const SQUEEZE: u32 = 43;
pub(super) const EXP: u32 = 47;
pub(super) const TOPK_V2: u32 = 48;
pub(super) const LOG_SOFTMAX: u32 = 50;
pub(super) const CAST: u32 = 53;
pub(super) const MAXIMUM: u32 = 55;
pub(super) const ARG_MAX: u32 = 56;
pub(super) const NEG: u32 = 59;
pub(super) const EXPAND_DIMS: u32 = 70;
pub(super) const LOG: u32 = 73;
pub(super) const SUM: u32 = 74;
pub(super) const SHAPE: u32 = 77;
pub(super) const REDUCE_MAX: u32 = 82;
pub(super) const QUANTIZE: u32 = 114;

/// Names of operators, for messages.
const NAMES: [(u32, &str); 51] = [
    (ADD, "ADD"),
    (1, "AVERAGE_POOL_2D"),
    (2, "CONCATENATION"),
    (CONV_2D, "CONV_2D"),
    (4, "DEPTHWISE_CONV_2D"),
    (5, "DEPTH_TO_SPACE"),
    (DEQUANTIZE, "DEQUANTIZE"),
    (FULLY_CONNECTED, "FULLY_CONNECTED"),
    (LOGISTIC, "LOGISTIC"),
    (17, "MAX_POOL_2D"),
    (MUL, "MUL"),
    (19, "RELU"),
    (21, "RELU6"),
    (RESHAPE, "RESHAPE"),
    (SOFTMAX, "SOFTMAX"),
    (27, "SVDF"),
    (28, "TANH"),
    (32, "CUSTOM"),
    (34, "PAD"),
    (36, "GATHER"),
    (TRANSPOSE, "TRANSPOSE"),
    (40, "MEAN"),
    (SUB, "SUB"),
    (DIV, "DIV"),
    (SQUEEZE, "SQUEEZE"),
    (45, "STRIDED_SLICE"),
    (EXP, "EXP"),
    (TOPK_V2, "TOPK_V2"),
    (49, "SPLIT"),
    (LOG_SOFTMAX, "LOG_SOFTMAX"),
    (CAST, "CAST"),
    (MAXIMUM, "MAXIMUM"),
    (ARG_MAX, "ARG_MAX"),
    (57, "MINIMUM"),
    (NEG, "NEG"),
    (64, "SELECT"),
    (65, "SLICE"),
    (EXPAND_DIMS, "EXPAND_DIMS"),
    (LOG, "LOG"),
    (SUM, "SUM"),
    (75, "SQRT"),
    (SHAPE, "SHAPE"),
    (78, "POW"),
    (79, "ARG_MIN"),
    (REDUCE_MAX, "REDUCE_MAX"),
    (QUANTIZE, "QUANTIZE"),
    (117, "HARD_SWISH"),
    (118, "IF"),
    (119, "WHILE"),
    (123, "SELECT_V2"),
    (126, "BATCH_MATMUL"),
];

/// The first graph of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Graph<'a> {
    codes: Vector<'a, 4>,
    buffers: Vector<'a, 4>,
    tensors: Vector<'a, 4>,
    pub operators: Vector<'a, 4>,
    pub outputs: Vector<'a, 4>,
}

/// An operator.
#[derive(Clone, Debug)]
pub(super) struct Operator<'a> {
    pub code: u32,
    /// Tensors; −1 where one is left out.
    pub inputs: Vec<i32>,
    /// The first output; −1 for operators that have none.
    pub output: i32,
    /// All outputs.
    pub outputs: Vec<i32>,
    pub options: Option<Table<'a>>,
}

/// A tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor<'a> {
    table: Table<'a>,
    buffers: Vector<'a, 4>,
}

impl<'a> Graph<'a> {
    pub fn parse(file: &'a [u8]) -> Option<Self> {
        // The kind of file stands after the first offset.
        let model = Table::root(file).filter(|_| file.get(4..8) == Some(b"TFL3"))?;
        let graph = model.vector::<4>(2)?.table(0)?;
        Some(Self {
            codes: model.vector(1)?,
            buffers: model.vector(4)?,
            tensors: graph.vector(0)?,
            outputs: graph.vector(2)?,
            operators: graph.vector(3)?,
        })
    }

    pub fn operator(&self, index: usize) -> Option<Operator<'a>> {
        let table = self.operators.table(index)?;
        let code = self.codes.table(table.u32(0).unwrap_or(0) as usize)?;
        // Numbers below 127 stand in the older, narrower field.
        let narrow = u32::from(code.u8(0).unwrap_or(0));
        let outputs: Vec<i32> = table.vector::<4>(2).map(|outputs| outputs.ints().collect()).unwrap_or_default();
        Some(Operator {
            code: narrow.max(code.u32(3).unwrap_or(0)),
            inputs: table.vector::<4>(1).map(|inputs| inputs.ints().collect()).unwrap_or_default(),
            output: outputs.first().copied().unwrap_or(-1),
            outputs,
            options: table.table(4),
        })
    }

    pub fn tensor(&self, index: i32) -> Option<Tensor<'a>> {
        let table = self.tensors.table(usize::try_from(index).ok()?)?;
        Some(Tensor { table, buffers: self.buffers })
    }

    /// Returns the name of an operator's output, and the operator's kind.
    pub fn label(&self, operator: &Operator<'a>) -> String {
        format!("{} ({})", self.id(operator), kind(operator.code))
    }

    /// Returns the name that `--layer` takes.
    pub fn id(&self, operator: &Operator<'a>) -> &'a str {
        self.tensor(operator.output).map_or("", |tensor| tensor.name())
    }
}

fn kind(code: u32) -> String {
    NAMES.iter().find(|name| name.0 == code).map_or_else(|| format!("operator {code}"), |name| name.1.into())
}

impl<'a> Tensor<'a> {
    pub fn name(&self) -> &'a str {
        self.table.text(3).unwrap_or("")
    }

    pub fn shape(&self) -> Vec<usize> {
        let lengths = self.table.vector::<4>(0);
        lengths.map(|lengths| lengths.ints().map(|n| usize::try_from(n).unwrap_or(0)).collect()).unwrap_or_default()
    }

    /// Returns lengths of its axes, with those that vary.
    pub fn dims(&self) -> Vec<Dim> {
        let shape = self.shape();
        let said: Vec<i32> = self.table.vector::<4>(7).map(|said| said.ints().collect()).unwrap_or_default();
        let length = |(axis, &length): (usize, &usize)| match said.get(axis) {
            Some(-1) if said.len() == shape.len() => Dim::Symbol(u32::MAX),
            _ => Dim::Known(length),
        };
        shape.iter().enumerate().map(length).collect()
    }

    /// Returns whether its values are floats, or integers with a scale.
    pub fn is_real(&self) -> bool {
        matches!(self.kind(), 0 | 1) || self.quantisation().is_some()
    }

    /// Returns the values of a short list of integers.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let data = self.data()?;
        match self.kind() {
            2 => Some(data.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes).into()).collect()),
            4 => Some(data.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()),
            _ => None,
        }
    }

    /// Returns the number of its type.
    fn kind(&self) -> u8 {
        self.table.u8(1).unwrap_or(0)
    }

    /// Its bytes, if it is a constant.
    fn data(&self) -> Option<&'a [u8]> {
        let buffer = self.buffers.table(self.table.u32(2)? as usize)?;
        buffer.vector::<1>(0).map(|data| data.bytes()).filter(|data| !data.is_empty())
    }

    pub fn is_constant(&self) -> bool {
        self.data().is_some()
    }

    /// Scales, zero points, and the axis that they are along if there are several.
    pub fn quantisation(&self) -> Option<(Vec<f32>, Vec<i32>, Option<usize>)> {
        let table = self.table.table(4)?;
        let scales: Vec<f32> = table.vector::<4>(2)?.floats().collect();
        let zeros = table.vector::<8>(3).map(|zeros| zeros.longs().map(|zero| zero as i32).collect());
        let axis = (scales.len() > 1).then(|| table.u32(6).unwrap_or(0) as usize);
        (!scales.is_empty()).then(|| (scales, zeros.unwrap_or_default(), axis))
    }

    /// Scale and zero point of values that are signed bytes.
    pub fn int8_scale(&self) -> Option<(f32, i8)> {
        let (scales, zeros, None) = self.quantisation().filter(|_| self.kind() == 9)? else { return None };
        let zero = i8::try_from(*zeros.first().unwrap_or(&0)).ok()?;
        scales.first().filter(|scale| scale.is_finite() && **scale > 0.0).map(|&scale| (scale, zero))
    }

    /// Returns the values of a constant, with their scales multiplied in.
    pub fn read(&self) -> Result<Array, Obstacle> {
        let fail = |what: &str| Obstacle::Malformed(format!("the tensor \"{}\" {what}", self.name()));
        let data = self.data().ok_or_else(|| fail("is not a constant"))?;
        let values = match self.kind() {
            0 => Values::Float(data.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()),
            1 => Values::Float(data.as_chunks().0.iter().map(|&b| f16::from_le_bytes(b).to_f32()).collect()),
            2 => Values::Int(data.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b)).collect()),
            3 => Values::Int(data.iter().map(|&b| b.into()).collect()),
            7 => Values::Int(data.as_chunks().0.iter().map(|&b| i16::from_le_bytes(b).into()).collect()),
            9 => Values::Int(data.iter().map(|&b| b.cast_signed().into()).collect()),
            // Biases of networks with 16-bit activations: within 32 bits for any network that runs.
            4 => {
                let longs = data.as_chunks().0.iter().map(|&b| i32::try_from(i64::from_le_bytes(b)));
                Values::Int(longs.collect::<Result<_, _>>().map_err(|_| fail("holds integers of more than 32 bits"))?)
            }
            other => return Err(fail(&format!("is of type {other}, which is not read"))),
        };
        let shape = self.shape();
        let count = shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length));
        if count != Some(values.len()) {
            return Err(fail(&format!("has {} values, which is not its shape", values.len())));
        }
        let array = Array::new(shape, values);
        match (self.quantisation(), &array.values) {
            (Some((scales, zeros, axis)), Values::Int(_)) => array.dequantised(&scales, &zeros, axis).map_err(fail),
            _ => Ok(array),
        }
    }
}
