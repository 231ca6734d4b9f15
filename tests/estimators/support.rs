//! Layers, models with small hand-made trees, and a test of means.

use zhat::host::{Matrix, flat_model};
use zhat::internal::pair;
use zhat::model::{Bits, FileWriter, ModelBuf, Section, Sizes};
use zhat::{Log2, LogSum, Model, Query, QueryBuffer, Scratch, exact, scratch_words, seen_words};

pub const N: usize = 300;
pub const D: usize = 12;
pub const WORDS: usize = seen_words(N);
pub type Memory = Scratch<{ scratch_words(N, 512) }>;

/// A number in −1..1 that depends on nothing but integers: the same on every platform.
pub fn noise(i: usize, salt: u32) -> f32 {
    let mut x = (i as u32).wrapping_mul(0x9e37_79b1) ^ salt.wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    ((x >> 8) as f32 / (1 << 23) as f32) - 1.0
}

/// Rows in loose clusters of sixteen, so that a tree over consecutive rows means something.
pub fn clustered(n: usize, dim: usize, size: f32) -> (Matrix, Vec<f32>) {
    let weight = |i: usize| size * (noise(i / dim / 16 * dim + i % dim, 1) + 0.6 * noise(i, 2));
    let rows = Matrix::new((0..n * dim).map(weight).collect(), dim).expect("whole rows");
    (rows, (0..n).map(|i| noise(i, 3)).collect())
}

pub fn query<const C: usize>(model: &Model<'_>, size: f32, salt: u32) -> QueryBuffer<C> {
    let values: Vec<f32> = (0..model.dim()).map(|i| size * noise(i, 100 + salt)).collect();
    QueryBuffer::new(model, &values).expect("a valid query")
}

pub fn log_z(model: &Model<'_>, query: &Query) -> f64 {
    f64::from(exact::<1>(model, query).expect("valid").log_z())
}

/// A tree of two levels over consecutive rows: inner nodes of `leaf·4` rows, leaves of `leaf`. Each predicts by the
/// mean of its rows, with no spread: off by enough to matter. Classes are shuffled; every row has two links.
pub fn tree_model(weights: &Matrix, biases: &[f32], leaf: usize, cap: u32) -> ModelBuf {
    let parts = |level: usize, first: usize, rows: usize| {
        let step = if level == 0 { leaf * 4 } else { leaf };
        (first..first + rows).step_by(step).map(move |at| step.min(first + rows - at)).collect()
    };
    model_of_tree(weights, biases, &Shape::grow(weights.rows(), 2, parts), cap, 1.0)
}

/// Which rows and children the nodes of a tree have, level by level.
pub struct Shape {
    pub top: usize,
    /// First row, rows, first child, children.
    pub spans: Vec<[usize; 4]>,
}

impl Shape {
    /// `parts(level, first row, rows)` says how many rows each of the children of a node has, and of the root on level zero;
    /// there are at most this many levels, and a node that is not split is a leaf.
    pub fn grow(rows: usize, levels: usize, mut parts: impl FnMut(usize, usize, usize) -> Vec<usize>) -> Self {
        let mut spans = Vec::new();
        let put = |spans: &mut Vec<[usize; 4]>, first: usize, parts: Vec<usize>| {
            parts.iter().fold(first, |at, &rows| {
                spans.push([at, rows, 0, 0]);
                at + rows
            });
        };
        put(&mut spans, 0, parts(0, 0, rows));
        let (top, mut start) = (spans.len(), 0);
        for level in 1..levels {
            let end = spans.len();
            for node in start..end {
                let [first, rows, ..] = spans[node];
                let parts = parts(level, first, rows);
                if parts.is_empty() {
                    continue;
                }
                (spans[node][2], spans[node][3]) = (spans.len(), parts.len());
                put(&mut spans, first, parts);
            }
            start = end;
        }
        Self { top, spans }
    }
}

/// A model with this tree, whose nodes predict the means of their rows, links, this cap and this factor on the far field.
pub fn model_of_tree(weights: &Matrix, biases: &[f32], shape: &Shape, cap: u32, far_factor: f32) -> ModelBuf {
    let (n, dim) = (weights.rows(), weights.cols());
    let nodes: Vec<(usize, usize)> = shape.spans.iter().map(|&[first, rows, ..]| (first, rows)).collect();
    let spans: Vec<usize> = shape.spans.concat();
    let mean = |first: usize, rows: usize, c: usize| {
        (first..first + rows).map(|row| weights.row(row)[c]).sum::<f32>() / rows as f32
    };
    let means = nodes.iter().flat_map(|&(first, rows)| (0..dim).map(move |c| mean(first, rows, c)));
    let all: Vec<f32> = weights.data().iter().copied().chain(means).collect();
    let bias = |&(first, rows): &(usize, usize)| {
        biases[first..first + rows].iter().sum::<f32>() / rows as f32 + (rows as f32).ln()
    };
    let all_biases: Vec<f32> = biases.iter().copied().chain(nodes.iter().map(bias)).collect();
    // Rows and nodes are rounded as one layer, then split: they share the power of two of their scales.
    let layer = flat_model(&Matrix::new(all, dim).expect("whole rows"), &all_biases).expect("valid");
    let layer = layer.model();
    let total = layer.classes();
    let weights: Vec<i8> = (0..total).flat_map(|row| layer.rows().weights(row)).collect();
    let pairs: Vec<i16> = weights.as_chunks().0.iter().map(|&[even, odd]| pair(even, odd)).collect();
    let scales: Vec<u16> = (0..total).map(|row| layer.rows().scale(row)).collect();
    let bias_shift = layer.rows().bias_shift();
    let biases: Vec<i16> = (0..total).map(|row| (layer.rows().bias(row).to_bits() >> bias_shift) as i16).collect();
    let rows = n * layer.rows().stride() / 2;

    let (max_norm, largest_row) = (layer.max_norm(), layer.largest_row());
    let scale_exponent = layer.scale_exponent();
    let sizes = Sizes { classes: n, dim, scale_exponent, bias_shift, max_norm, largest_row, bits: Bits::Eight };
    let mut file = FileWriter::new(sizes);
    file.required(Section::Rows, &pairs[..rows]);
    file.required(Section::RowScales, &scales[..n]);
    file.required(Section::Biases, &biases[..n]);
    let short = |list: Vec<usize>| list.into_iter().map(|index| index as u16).collect::<Vec<_>>();
    let class_of_row: Vec<usize> = (0..n).map(|row| (row * 7 + 3) % n).collect();
    let mut row_of_class = vec![0; n];
    class_of_row.iter().enumerate().for_each(|(row, &class)| row_of_class[class] = row);
    file.required(Section::ClassOfRow, &short(class_of_row));
    file.required(Section::RowOfClass, &short(row_of_class));
    file.optional(Section::TreeInfo, &[shape.top as u32, 0, 0, -10_i32 as u32, -10_i32 as u32, bias_shift, 0, 0]);
    file.optional(Section::NodeRows, &pairs[rows..]);
    file.optional(Section::NodeScales, &scales[n..]);
    file.optional(Section::NodeBiases, &biases[n..]);
    file.optional(Section::NodeSpans, &short(spans));
    let counts = nodes.iter().map(|&(_, rows)| [0u16, 0, ((rows as f32).log2() * 2048.0) as u16]);
    file.optional(Section::NodeSpreads, &counts.collect::<Vec<_>>());
    file.optional(Section::NodeGains, &vec![0i16; nodes.len()]);
    file.optional(Section::Links, &short((0..2 * n).map(|i| (i * 37 + 11) % n).collect()));
    let mut settings = [0u32; 8];
    settings[0] = cap;
    settings[2] = 2;
    settings[3] = Log2::from_nats(far_factor.ln()).to_bits() as u32;
    settings[4] = 1.0_f32.to_bits();
    let mut sum = LogSum::new();
    (0..n).for_each(|row| sum.add(layer.rows().bias(row)));
    settings[6] = sum.log2().to_bits() as u32;
    file.optional(Section::Settings, &settings);
    ModelBuf::from_bytes(&file.finish().expect("small")).expect("a valid model")
}

/// Mean and standard deviation.
pub fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (values.len() as f64 - 1.0)).sqrt())
}

/// That the mean of Ẑ/Z over the seeds is one: at most 4 standard errors off, and those at most `power`, so that a bias
/// of a few times that does not pass. Gives the standard deviation of a single estimate.
pub fn assert_unbiased(name: &str, log_z: f64, power: f64, seeds: u64, estimate: impl Fn(u64) -> f32) -> f64 {
    let ratios: Vec<f64> = (1..=seeds).map(|seed| (f64::from(estimate(seed)) - log_z).exp()).collect();
    let (mean, deviation) = moments(&ratios);
    let error = deviation / (seeds as f64).sqrt();
    println!("{name}: mean {mean:.5}, standard error {error:.5}, of one estimate {deviation:.4}");
    assert!(error <= power, "{name}: seeds 1 to {seeds} could not show a bias of {power}: {error}");
    assert!((mean - 1.0).abs() < 4.0 * error + 1e-6, "{name}, seeds 1 to {seeds}: mean {mean}, standard error {error}");
    deviation
}
