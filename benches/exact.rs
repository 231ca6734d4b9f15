//! Compares `exact` on the host with an f32 matrix-vector product, exp and sum.
//!
//! ```text
//! cargo bench --features std --bench exact
//! ```
//!
//! Both run on one thread, with N = 100 000 and d = 128. The product is that of `gemm-f32`, the fastest on this shape
//! of the crates tried (gemm, faer, nalgebra, ndarray, matrixmultiply). Its 51 MB of weights come from memory, not from
//! a cache, and so do the 13 MB of int8.

#![allow(unsafe_code, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group};
use zhat::host::{Kind, Layer, Matrix, flat_model};
use zhat::model::ModelBuf;
use zhat::{QueryBuffer, exact};

const CLASSES: usize = 100_000;
const DIM: usize = 128;

struct Setup {
    layer: Layer,
    file: ModelBuf,
    queries: Matrix,
}

impl Setup {
    fn new() -> Self {
        let layer = Layer::generate(CLASSES, DIM, 1);
        let file = flat_model(&layer.weights, &layer.biases).expect("a valid layer");
        let queries = layer.queries(Kind::LanguageModel, 16, 2);
        Self { layer, file, queries }
    }

    fn exact(&self, query: &[f32]) -> f32 {
        let model = self.file.model();
        let query = QueryBuffer::<DIM>::new(&model, query).expect("a valid query");
        exact::<5>(&model, &query).expect("valid").log_z()
    }

    /// Computes ln Z without the top classes, which would only add to its time.
    fn float(&self, query: &[f32], scores: &mut [f32]) -> f32 {
        scores.copy_from_slice(&self.layer.biases);
        // SAFETY: the sizes and strides are those of the three slices, row after row.
        unsafe {
            (gemm_f32::gemm::f32::get_gemm_fn())(
                CLASSES,
                1,
                DIM,
                scores.as_mut_ptr(),
                CLASSES as isize,
                1,
                true,
                self.layer.weights.data().as_ptr(),
                1,
                DIM as isize,
                query.as_ptr(),
                DIM as isize,
                1,
                1.0,
                1.0,
                false,
                false,
                false,
                gemm_common::Parallelism::None,
            );
        }
        let best = scores.iter().fold(f32::NEG_INFINITY, |best, &score| best.max(score));
        best + scores.iter().map(|score| (score - best).exp()).sum::<f32>().ln()
    }
}

fn benchmark(criterion: &mut Criterion) {
    let setup = Setup::new();
    let mut scores = vec![0.0; CLASSES];
    for query in setup.queries.iter() {
        let (exact, float) = (setup.exact(query), setup.float(query, &mut scores));
        assert!((exact - float).abs() < 0.05, "ln Z is {exact} and {float}");
    }
    let mut group = criterion.benchmark_group("ln Z, N = 100 000, d = 128");
    group.sample_size(20).measurement_time(Duration::from_secs(4));
    let mut next = (0..setup.queries.rows()).cycle();
    let mut query = || setup.queries.row(next.next().unwrap_or(0));
    group.bench_function("exact", |bencher| bencher.iter(|| setup.exact(black_box(query()))));
    group.bench_function("f32", |bencher| bencher.iter(|| setup.float(black_box(query()), &mut scores)));
    group.finish();
    ratio(&setup, &mut scores);
}

/// Times the two in turn, so that other load on the machine affects both.
fn ratio(setup: &Setup, scores: &mut [f32]) {
    let (mut exact, mut float) = (Vec::new(), Vec::new());
    for query in setup.queries.iter().cycle().take(100) {
        let start = Instant::now();
        black_box(setup.exact(query));
        exact.push(start.elapsed());
        let start = Instant::now();
        black_box(setup.float(query, scores));
        float.push(start.elapsed());
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let (exact, float) = (median(exact), median(float));
    println!("medians in turn: exact {exact:.2} ms, f32 {float:.2} ms: exact is {:.2} times as fast", float / exact);
}

criterion_group!(benches, benchmark);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
