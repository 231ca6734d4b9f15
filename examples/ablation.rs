//! Prints what each number that the builder is tuned by is worth: error and recall of models built with it halved, doubled or
//! switched off, beside those of the default, on the same seeds.
//!
//! ```text
//! cargo run --release --features std --example ablation                       generated layers
//! cargo run --release --features std --example ablation -- FOLDER=4% …        layers of yours, each at its work
//! cargo run --release --features std --example ablation -- --only ridge …     the rows whose names contain a word
//! ```
//!
//! A folder has `weights.npy`, `bias.npy`, `calibration.npy` and `queries.npy`. A difference counts if it is larger than two standard
//! errors of the differences between seeds: only then a row says `better` or `worse`.

use std::error::Error;
use std::path::Path;

use zhat::host::build::{Targets, Tunables, build};
use zhat::host::evaluate::{Evaluation, Method, Options};
use zhat::host::input::{ReadOptions, read_matrix, read_vector};
use zhat::host::{Kind, Layer, Matrix};

/// Seeds of the builder: each grows another tree.
const SEEDS: u64 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut layers, mut only) = (Vec::new(), String::new());
    while let Some(argument) = arguments.next() {
        if argument == "--only" {
            only = arguments.next().ok_or("--only needs a word")?;
        } else {
            let (folder, work) = argument.rsplit_once('=').ok_or("a layer is FOLDER=WORK, such as lbl64=4%")?;
            let work: f32 = work.trim_end_matches('%').parse()?;
            layers.push(Case::read(Path::new(folder), work / 100.0)?);
        }
    }
    if layers.is_empty() {
        layers = vec![Case::generated(4_000, 32, 0.06), Case::generated(10_000, 64, 0.04)];
    }
    println!("| layer | setting | error | recall | work | error beside the default |\n|---|---|---|---|---|---|");
    for layer in &layers {
        let default = layer.measure(&Tunables::default())?;
        println!("{}", layer.row("default", &default, None));
        for (name, tunables) in settings().into_iter().filter(|(name, _)| name.contains(&only)) {
            let found = layer.measure(&tunables)?;
            println!("{}", layer.row(&name, &found, Some(&default)));
        }
    }
    Ok(())
}

/// A layer with queries to tune on and others to report on.
struct Case {
    name: String,
    weights: Matrix,
    biases: Vec<f32>,
    calibration: Matrix,
    queries: Matrix,
    work: f32,
}

/// The figures that a model reached.
struct Found {
    error: f64,
    recall: f64,
    work: f64,
}

impl Case {
    fn read(folder: &Path, work: f32) -> Result<Self, Box<dyn Error>> {
        let matrix = |name: &str| read_matrix(folder.join(name), ReadOptions::default());
        let name = folder.file_name().map_or_else(|| "layer".into(), |name| name.to_string_lossy().into_owned());
        let biases = read_vector(folder.join("bias.npy"), ReadOptions::default())?;
        let (weights, calibration) = (matrix("weights.npy")?, matrix("calibration.npy")?);
        Ok(Self { name, weights, biases, calibration, queries: matrix("queries.npy")?, work })
    }

    fn generated(classes: usize, dim: usize, work: f32) -> Self {
        let layer = Layer::generate(classes, dim, 1);
        let queries = |count, seed| layer.queries(Kind::LanguageModel, count, seed);
        let (calibration, queries) = (queries(2000, 2), queries(1000, 3));
        let name = format!("{classes} × {dim}");
        Self { name, weights: layer.weights, biases: layer.biases, calibration, queries, work }
    }

    /// Builds with each seed, and measures on queries that nothing was tuned on.
    fn measure(&self, tunables: &Tunables) -> Result<Vec<Found>, Box<dyn Error>> {
        let one = |seed| {
            let (work, cap) = (self.work, (4.0 * self.work).min(1.0));
            let targets = Targets { work, cap, seed, tunables: tunables.clone(), ..Targets::default() };
            let built = build(&self.weights, &self.biases, Some(&self.calibration), &targets, &mut |_| {})?;
            let options = Options { methods: vec![Method::Moments], timed: false, ..Options::default() };
            let report = Evaluation::run(&built.model.model(), None, &self.queries, &options)?.report;
            let moments = &report.estimators[0];
            let recall = moments.recall_at_1.unwrap_or(0.0);
            Ok(Found { error: moments.err_mean.into(), recall: recall.into(), work: moments.work_mean.into() })
        };
        (1..=SEEDS).map(one).collect()
    }

    fn row(&self, setting: &str, found: &[Found], default: Option<&[Found]>) -> String {
        let of = |value: fn(&Found) -> f64| mean(&found.iter().map(value).collect::<Vec<_>>());
        let (error, recall, work) = (of(|f| f.error), of(|f| f.recall), of(|f| f.work));
        let beside = default.map_or(String::new(), |default| {
            let differences: Vec<f64> = found.iter().zip(default).map(|(a, b)| 100.0 * (a.error - b.error)).collect();
            let (difference, noise) = (mean(&differences), standard_error(&differences));
            let verdict = match difference {
                d if d > 2.0 * noise => ", worse",
                d if d < -2.0 * noise => ", better",
                _ => "",
            };
            format!("{difference:+.3} ± {noise:.3}{verdict}")
        });
        let [error, work] = [error, work].map(|share| format!("{:.3} %", 100.0 * share));
        format!("| {} | {setting} | {error} | {recall:.4} | {work} | {beside} |", self.name)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values));
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (variance / n).sqrt()
}

/// Every number halved and doubled, or switched off, one at a time.
fn settings() -> Vec<(String, Tunables)> {
    type Set = fn(&mut Tunables, f32);
    let scaled: [(&str, Set); 17] = [
        ("miss", |t, x| t.miss *= x),
        ("standard_errors", |t, x| t.standard_errors *= x),
        ("work_errors", |t, x| t.work_errors *= x),
        ("top_share", |t, x| t.top_share *= x),
        ("ridge", |t, x| t.ridge *= x),
        ("ridge_queries", |t, x| t.ridge_queries *= x),
        ("whiten_floor", |t, x| t.whiten_floor *= f64::from(x)),
        ("half_share", |t, x| t.half_share *= x),
        ("share_power", |t, x| t.share_power *= x),
        ("global_ridge", |t, x| t.global_ridge *= f64::from(x)),
        ("top_rows", |t, x| t.top_rows = (t.top_rows as f32 * x) as usize),
        ("probe_weight", |t, x| t.probe_weight *= x),
        ("synthetic_ridge", |t, x| t.synthetic_ridge *= f64::from(x)),
        ("further", |t, x| t.further = (t.further as f32 * x) as u32),
        ("worth", |t, x| t.worth *= x),
        ("no_harm", |t, x| t.no_harm *= 0.95 + 0.05 * x),
        ("few_missed", |t, x| t.few_missed *= x),
    ];
    let mut settings = Vec::new();
    for (name, set) in scaled {
        for (how, factor) in [("halved", 0.5), ("doubled", 2.0)] {
            let mut tunables = Tunables::default();
            set(&mut tunables, factor);
            settings.push((format!("{name} {how}"), tunables));
        }
    }
    let mut off = |name: &str, set: fn(&mut Tunables)| {
        let mut tunables = Tunables::default();
        set(&mut tunables);
        settings.push((name.to_owned(), tunables));
    };
    off("corrected_power off", |t| t.corrected_power = 0.5);
    off("probes_per_class off", |t| t.probes_per_class = 0);
    off("probes_per_class doubled", |t| t.probes_per_class *= 2);
    off("places off", |t| t.places = 0);
    off("places one", |t| t.places = 1);
    off("global correction off", |t| t.global_ridge = 1e9);
    off("corrections off", |t| t.ridge_queries = 1e9);
    settings
}
