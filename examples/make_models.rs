//! Makes the files in `models/` that the examples include (generated layers, queries, and the answers to them), and
//! small files in `fuzz/seeds/` that fuzzing starts from.
//!
//! ```text
//! cargo run --release --features std --example make_models              write them
//! cargo run --release --features std --example make_models -- --check   fail if they would change
//! cargo run --release --features std --example make_models -- --sizes FOLDER
//!                                          layers of several sizes with an index, for the example `costs`
//! cargo run --release --features std --example make_models -- --queries FROM.npy TO.bin
//!                                          1 000 of the queries in int8, for the example `costs`
//! ```

mod support;

use std::error::Error;
use std::path::Path;

use support::cases::{self, Answer, Case};
use zhat::host::build::{Plan, Targets, build};
use zhat::host::input::network::{InputScale, as_partial, output_layer, with_input_scale};
use zhat::host::input::{ReadOptions, TensorValues, read_matrix, read_tensor};
use zhat::host::make::{Request, make};
use zhat::host::{Kind, Layer, flat_model, with_fmbe};
use zhat::model::{Bits, FmbeKind};
use zhat::{Model, QueryBuffer, exact};

const DIM: usize = 64;
/// The number of queries of each kind.
const QUERIES: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let check = match arguments.next().as_deref() {
        Some("--sizes") => return sizes(Path::new(&arguments.next().ok_or("--sizes needs a folder")?)),
        Some("--queries") => {
            let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
                return Err("--queries needs a file to read and one to write".into());
            };
            let queries = read_matrix(from, ReadOptions::default())?;
            let step = (queries.rows() / MEASURED).max(1);
            std::fs::write(to, in_int8(queries.iter().step_by(step).take(MEASURED)))?;
            return Ok(());
        }
        Some("--check") => true,
        _ => false,
    };
    // The second fits a part with 256 KiB of flash.
    for (name, classes) in [("exact", 10_000), ("exact-small", 1_000)] {
        let layer = Layer::generate(classes, DIM, 1);
        let file = flat_model(&layer.weights, &layer.biases)?;
        keep(&format!("models/{name}.zhat"), &file, check)?;
        keep(&format!("models/{name}-queries.bin"), &answered(&layer, &file.model())?, check)?;
    }
    int8_head(check)?;
    seeds(check)
}

/// Makes the small files that fuzzing starts from: one for each kind of section.
fn seeds(check: bool) -> Result<(), Box<dyn Error>> {
    let layer = Layer::generate(20, 6, 4);
    let flat = flat_model(&layer.weights, &layer.biases)?;
    keep("fuzz/seeds/model/flat.zhat", &flat, check)?;
    let input = InputScale { scale: 0.02, zero_point: -3 };
    keep("fuzz/seeds/model/input_scale.zhat", &with_input_scale(&flat, input)?, check)?;
    keep("fuzz/seeds/model/partial.zhat", &as_partial(&flat, "Sigmoid")?, check)?;
    for (name, kind) in
        [("maclaurin", FmbeKind::Maclaurin), ("centred", FmbeKind::Centred), ("positive", FmbeKind::Positive)]
    {
        keep(&format!("fuzz/seeds/model/{name}.zhat"), &with_fmbe(&flat, kind, 24, 1)?, check)?;
    }
    if !check {
        // Not compared: the builder adds floats in the order in which its threads finish.
        let layer = Layer::generate(200, 6, 5);
        let calibration = layer.queries(Kind::LanguageModel, 300, 6);
        let names: Vec<String> = (0..200).map(|class| format!("n{class}")).collect();
        let plans = vec![Plan { branching: 4, leaf: 8, links: 3, ..Plan::default() }];
        let request = Request {
            targets: Targets {
                work: 0.2,
                cap: 0.4,
                linked: Some(0.4),
                plans,
                always_index: true,
                ..Targets::default()
            },
            lookup: true,
            queries: Some(&calibration),
            names: Some(&names),
            ..Request::new(&layer.weights, &layer.biases)
        };
        let made = make(&request, &mut |_| ())?;
        keep("fuzz/seeds/model/indexed.zhat", &made.model, check)?;
        let four = Targets { bits: Bits::Four, ..request.targets.clone() };
        let made_of_four = make(&Request { targets: four, ..request.clone() }, &mut |_| ())?;
        keep("fuzz/seeds/model/four_bit.zhat", &made_of_four.model, check)?;
        let layer = Layer::generate(20, 6, 4);
        let (queries, unknown) = (layer.queries(Kind::Classifier, 900, 6), layer.queries(Kind::LanguageModel, 300, 7));
        let labels: Vec<usize> = (0..900).map(|at| at % 20).collect();
        let request = Request {
            queries: Some(&queries),
            labels: Some(&labels),
            sets: &[0.8, 0.9],
            unknown: Some(&unknown),
            ..Request::new(&layer.weights, &layer.biases)
        };
        keep("fuzz/seeds/model/labels.zhat", &make(&request, &mut |_| ())?.model, check)?;
        // First the numbers of a call, then the model: see fuzz/fuzz_targets/capi.rs.
        for (name, numbers, model) in [
            ("classify", [0, 0, 64, 5, 40, 0, 0, 100], &made.model),
            ("exact", [0, 0, 0, 5, 0, 0, 1, 100], &made.model),
            ("four_bit", [0, 0, 64, 5, 40, 0, 0, 100], &made_of_four.model),
        ] {
            keep(&format!("fuzz/seeds/capi/{name}.bin"), &[&numbers[..], model].concat(), check)?;
        }
    }
    Ok(())
}

/// Makes the model of a TensorFlow Lite network's head, with its int8 activations and the scores of TensorFlow Lite's
/// kernel.
fn int8_head(check: bool) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/import");
    let layer = output_layer(folder.join("int8.tflite"), None)?;
    let input = layer.input.ok_or("int8.tflite has no int8 activations")?;
    let file = with_input_scale(&flat_model(&layer.weights, &layer.biases)?, input)?;
    keep("models/import/int8_head.zhat", &file, check)?;
    let scores = read_matrix(folder.join("int8_scores.npy"), ReadOptions::default())?;
    let TensorValues::Int(activations) = read_tensor(folder.join("activations.npy"))?.values else {
        return Err("activations.npy does not hold integers".into());
    };
    let cases = activations.chunks_exact(layer.weights.cols()).zip(scores.iter());
    let bytes = cases.flat_map(|(activations, scores)| {
        activations.iter().map(|&a| a as u8).chain(scores.iter().map(|&score| (score as i8).cast_unsigned()))
    });
    keep("models/import/int8_head-cases.bin", &bytes.collect::<Vec<u8>>(), check)
}

/// The number of queries that devices are measured with.
const MEASURED: usize = 1000;

/// A layer that devices are measured on, with one fixed plan for its index: the cost matters here, not the last per
/// mille of the error.
struct Size {
    classes: usize,
    dim: usize,
    branching: usize,
    leaf: usize,
    links: usize,
    work: f32,
}

const SIZES: [Size; 4] = [
    Size { classes: 2_000, dim: 64, branching: 16, leaf: 16, links: 8, work: 0.04 },
    // About the least work with an error below 0.9 %. Links would take more instructions than the classes that they
    // find are worth.
    Size { classes: 10_000, dim: 64, branching: 32, leaf: 32, links: 0, work: 0.0335 },
    Size { classes: 30_000, dim: 64, branching: 64, leaf: 32, links: 8, work: 0.04 },
    Size { classes: 10_000, dim: 128, branching: 64, leaf: 32, links: 8, work: 0.04 },
];

/// Builds a model of each size, and writes it with 1 000 queries.
fn sizes(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    for Size { classes, dim, branching, leaf, links, work } in SIZES {
        let plans = vec![Plan { blend: 0.25, branching, leaf, links, ..Plan::TAUGHT }];
        let targets = Targets { work, cap: work, plans, ..Targets::default() };
        let layer = Layer::generate(classes, dim, 1);
        let calibration = layer.queries(Kind::LanguageModel, 2000, 2);
        let built = build(&layer.weights, &layer.biases, Some(&calibration), &targets, &mut |_| ())?;
        std::fs::write(folder.join(format!("{classes}x{dim}.zhat")), &*built.model)?;
        let queries = in_int8(layer.queries(Kind::LanguageModel, MEASURED, 3).iter());
        std::fs::write(folder.join(format!("{classes}x{dim}-queries.bin")), queries)?;
        println!(
            "{classes} x {dim}: error {:.2} % on what it was tuned on",
            100.0 * built.index.map_or(0.0, |chosen| chosen.expected.error)
        );
    }
    Ok(())
}

/// Encodes queries as the example `costs` reads them: the scale of each before its values.
fn in_int8<'q>(queries: impl Iterator<Item = &'q [f32]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (query, scale) in queries.map(rounded) {
        bytes.extend(scale.to_le_bytes());
        bytes.extend(query.iter().map(|&value| value as u8));
    }
    bytes
}

/// Makes queries of both kinds, with the answers of [`exact`].
fn answered(layer: &Layer, model: &Model<'_>) -> Result<Vec<u8>, Box<dyn Error>> {
    let kinds = [(Kind::LanguageModel, 2), (Kind::Classifier, 3)];
    let queries = kinds.map(|(kind, seed)| layer.queries(kind, QUERIES, seed));
    let queries: Vec<_> = queries.iter().flat_map(|queries| queries.iter()).map(rounded).collect();
    let mut answered = Vec::new();
    for (query, scale) in &queries {
        let prediction = exact::<{ cases::TOP }>(model, &QueryBuffer::<DIM>::from_i8(model, query, *scale, 0)?)?;
        answered.push(Case { query, scale: *scale, answer: Answer::of(&prediction) });
    }
    Ok(cases::write(&answered, DIM))
}

/// Rounds a query to int8, as a quantised network outputs it.
fn rounded(query: &[f32]) -> (Vec<i8>, f32) {
    let scale = query.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
    (query.iter().map(|x| (x / scale).round() as i8).collect(), scale)
}

/// Writes a file, or with `check` compares it with the committed one.
fn keep(name: &str, bytes: &[u8], check: bool) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if !check {
        std::fs::write(&path, bytes)?;
    } else if std::fs::read(&path)? != bytes {
        return Err(format!("{name} is not what make_models writes").into());
    }
    println!("{name}: {} bytes", bytes.len());
    Ok(())
}
