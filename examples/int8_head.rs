//! Runs the last layer of a TensorFlow Lite network in int8 on a device: 200 of the network's own int8 activations go
//! in, and the best class must be the one that TensorFlow Lite's kernel finds.
//!
//! The network is `models/import/int8.tflite`. `models/import/make.py` ran the kernel, and `make_models` made the
//! model.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use support::{entry, say};
use zhat::{Model, QueryBuffer, exact, include_model};

static MODEL: &[u8] = include_model!("../models/import/int8_head.zhat");
/// The activations and the kernel's score of each class, for each of the 200 cases.
static CASES: &[u8] = include_bytes!("../models/import/int8_head-cases.bin");
const CLASSES: usize = 40;
const DIM: usize = 6;

entry!(run);

fn run() -> Result<(), &'static str> {
    let model = Model::from_bytes(MODEL).map_err(|_| "the model is refused")?;
    let input = model.input_scale().ok_or("the model does not say how activations are to be read")?;
    let mut same = 0;
    let cases = CASES.as_chunks::<{ DIM + CLASSES }>().0;
    for case in cases {
        let (activations, scores) = case.split_at(DIM);
        let mut values = [0; DIM];
        values.iter_mut().zip(activations).for_each(|(value, activation)| *value = activation.cast_signed());
        let query = QueryBuffer::<{ DIM.next_multiple_of(4) }>::from_i8(&model, &values, input.scale, input.zero_point);
        let query = query.map_err(|_| "a query is refused")?;
        let answer = exact::<1>(&model, &query).map_err(|_| "the query is of another model")?;
        let best = answer.top.first().map_or(0, |best| best.class as usize);
        // The kernel's scores are int8: several classes may share the best one.
        let most = scores.iter().map(|&score| score.cast_signed()).max();
        same += usize::from(scores.get(best).map(|&score| score.cast_signed()) == most);
    }
    say!("{same} of {} best classes are those of TensorFlow Lite", cases.len());
    if same == cases.len() { Ok(()) } else { Err("not all of them") }
}
