//! Queries of a language model, and the promise of the model that ships.
#![cfg(feature = "std")]

use zhat::host::evaluate::{Evaluation, Method, Options};
use zhat::host::make::{Request, make};
use zhat::host::{Kind, Layer, Matrix, flat_model};
use zhat::language::Context;
use zhat::{Error, Model, QueryBuffer, exact, include_model};

static MODEL: &[u8] = include_model!("../models/next_word.zhat");
static CONTEXT: &[u8] = include_model!("../models/next_word.context");
static SAMPLES: &str = include_str!("../models/next_word.txt");

#[test]
fn a_fitted_temperature_is_no_part_of_the_inputs() {
    let layer = Layer::generate(400, 8, 3);
    let queries = layer.queries(Kind::LanguageModel, 400, 4);
    // Every other label is another class than the best: the layer is too sure of itself, and the temperature above one.
    let plain = flat_model(&layer.weights, &layer.biases).unwrap();
    let best = |query| exact::<1>(&plain.model(), &QueryBuffer::<8>::new(&plain.model(), query).unwrap()).unwrap();
    let labels = queries.iter().enumerate().map(|(i, query)| (best(query).top[0].class as usize + i % 2 * 7) % 400);
    let labels: Vec<usize> = labels.collect();
    let request = Request {
        queries: Some(&queries),
        labels: Some(&labels),
        fit_temperature: true,
        ..Request::new(&layer.weights, &layer.biases)
    };
    let made = make(&request, &mut |_| ()).unwrap();
    assert!(made.temperature > 1.2, "{}", made.temperature);
    let file: Vec<u32> = bytemuck::cast_slice(&Context::encode(1, &[1.0; 8], &identity(8))).to_vec();
    let context = Context::from_bytes(bytemuck::cast_slice(&file), 8).unwrap();
    for word in [0, 17, 399] {
        let [with, without] = [&made.model, &plain].map(|file| context.query::<8, 8>(&file.model(), &[word]).unwrap());
        for (a, b) in with.iter().zip(without) {
            assert!((a - b).abs() < 0.02, "{with:?}\n{without:?}");
        }
    }
}

fn identity(n: usize) -> Vec<f32> {
    (0..n * n).map(|i| if i / n == i % n { 1.0 } else { 0.0 }).collect()
}

#[test]
fn a_damaged_context_is_refused() {
    assert!(Context::from_bytes(CONTEXT, 64).is_ok());
    for (bytes, dim) in [(&CONTEXT[..0], 64), (&CONTEXT[..100], 64), (&CONTEXT[..CONTEXT.len() - 4], 64), (CONTEXT, 0)]
    {
        assert!(Context::from_bytes(bytes, dim).is_err());
    }
    assert_eq!(Context::from_bytes(CONTEXT, 63).err(), Some(Error::Header));
    let mut words: Vec<u32> = bytemuck::cast_slice(CONTEXT).to_vec();
    words[100] = f32::NAN.to_bits();
    assert_eq!(Context::from_bytes(bytemuck::cast_slice(&words), 64).err(), Some(Error::QueryNotFinite));
    words[..2].fill(u32::MAX);
    assert!(Context::from_bytes(bytemuck::cast_slice(&words), 64).is_err());
}

#[test]
fn estimated_probabilities_cost_less_than_a_hundredth_of_the_perplexity() {
    let model = Model::from_bytes(MODEL).unwrap();
    assert!(MODEL.len() < 1 << 20);
    let context = Context::from_bytes(CONTEXT, 64).unwrap();
    let names = model.names().unwrap();
    let (mut queries, mut labels) = (Vec::new(), Vec::new());
    for line in SAMPLES.lines() {
        let (before, next) = line.rsplit_once(' ').unwrap();
        queries.extend(context.query::<64, 128>(&model, &Context::words::<9>(names, before).unwrap()).unwrap());
        labels.push(names.find(next).unwrap());
    }
    let queries = Matrix::new(queries, 64).unwrap();
    let methods = vec![Method::Exact, Method::Moments];
    let options = Options { methods, labels: Some(&labels), timed: false, ..Options::default() };
    let report = Evaluation::run(&model, None, &queries, &options).unwrap().report;
    let perplexity = |method: &str| report.of(method).unwrap().log_loss.unwrap().exp();
    let (exact, estimated) = (perplexity("exact"), perplexity("moments"));
    assert!((estimated / exact - 1.0).abs() < 0.01, "{exact} {estimated}");
    assert!(report.of("moments").unwrap().work_mean < 0.041);
}
