//! Computes the table of FMBE, λ̃_j = 1/P · Σ_i exp(b_i)·φ_j(v_i), from the rows as they are in the file.
//!
//! Takes P·N·d multiplications for each degree, as blocked matrix products on all cores. Every feature is summed on its
//! own and in the order of the rows, so the table does not depend on the number of features or cores.

use rand_core::Rng;
use rand_pcg::Pcg64;
use rayon::prelude::*;

use crate::Error;
use crate::estimators::{Gaussians, Signs};
use crate::host::linear;
use crate::math::Log2;
use crate::model::{FMBE_DEGREES, FileWriter, Fmbe, FmbeKind, Model, ModelBuf, Section};

/// Returns the model with a table of `features` random features, which [`fmbe`](crate::estimators::fmbe()) reads.
/// Replaces an existing table.
///
/// ```
/// use zhat::model::{FmbeKind, ModelBuf};
/// use zhat::host::with_fmbe;
/// use zhat::{QueryBuffer, estimators::fmbe, exact};
///
/// # let file = zhat::doc_example();
/// let file: ModelBuf = with_fmbe(&file, FmbeKind::Centred, 100, 1)?;
/// let query = QueryBuffer::<4>::new(&file.model(), &[0.1, -0.2, 0.3])?;
/// let estimate = fmbe(&file.model(), &query)?;
/// assert!((estimate.log_z() - exact::<1>(&file.model(), &query)?.log_z()).abs() < 1e-3);
/// # Ok::<(), zhat::Error>(())
/// ```
///
/// # Errors
/// [`Error::Header`] if the file becomes longer than the format allows.
pub fn with_fmbe(file: &ModelBuf, kind: FmbeKind, features: u32, seed: u64) -> Result<ModelBuf, Error> {
    let mut writer = FileWriter::reopen(file)?;
    writer.optional(Section::Fmbe, &table(&file.model(), kind, features, seed));
    writer.into_model()
}

/// Computes the words of the section.
fn table(model: &Model<'_>, kind: FmbeKind, features: u32, seed: u64) -> Vec<u32> {
    let layer = Layer::new(model, kind == FmbeKind::Centred);
    let counts = degrees(kind, features, seed);
    let all = counts.iter().enumerate().flat_map(|(degree, &count)| core::iter::repeat_n(degree, count as usize));
    let all: Vec<usize> = all.collect();
    let lambda: Vec<u32> = match kind {
        FmbeKind::Positive => {
            (0..features).into_par_iter().map(|feature| layer.positive(seed, feature, features)).collect()
        }
        _ => {
            let groups = all.par_chunks(GROUP).enumerate();
            groups.flat_map_iter(|(i, degrees)| layer.maclaurin(seed, i * GROUP, degrees, kind, features)).collect()
        }
    };
    let mut words = vec![kind as u32, Fmbe::BASE, seed as u32, (seed >> 32) as u32, features];
    words.extend([log_bits(layer.log_weight) as u32, 0, 0]);
    words.extend(counts);
    words.extend(lambda);
    if kind == FmbeKind::Centred {
        words.extend(layer.mean.iter().map(|&value| (value as f32).to_bits()));
        words.extend(layer.covariance().iter().map(|&value| (value as f32).to_bits()));
    }
    words
}

/// Returns the smallest degree that is sampled.
fn least_degree(kind: FmbeKind) -> u32 {
    if kind == FmbeKind::Centred { 3 } else { 0 }
}

/// Draws the number of features of each degree. Each feature's degree is the number of heads before the first tail.
fn degrees(kind: FmbeKind, features: u32, seed: u64) -> [u32; FMBE_DEGREES] {
    let mut counts = [0; FMBE_DEGREES];
    let mut rng = Pcg64::new(seed.into(), 0xd3f1);
    for _ in 0..features {
        let degree = if kind == FmbeKind::Positive { 0 } else { least_degree(kind) + rng.next_u32().trailing_ones() };
        // A degree above 31 comes once in 2^32 features or, with three known, in 2^29.
        counts[(degree as usize).min(FMBE_DEGREES - 1)] += 1;
    }
    counts
}

/// The numbers of features and rows in one matrix product.
const GROUP: usize = 64;
const BLOCK: usize = 1024;

/// The rows in both orders, and their weights exp(b_i).
struct Layer {
    rows: Vec<f32>,
    columns: Vec<Vec<f32>>,
    /// exp(b_i) divided by their sum.
    weights: Vec<f64>,
    log_weight: f64,
    mean: Vec<f64>,
}

impl Layer {
    fn new(model: &Model<'_>, centred: bool) -> Self {
        let unit = f64::from(model.scale_exponent()).exp2();
        let (rows, count) = (model.rows(), model.classes());
        let steps: Vec<f64> = (0..count).map(|row| f64::from(rows.scale(row)) * unit).collect();
        let biases: Vec<f64> = (0..count).map(|row| f64::from(rows.bias(row).to_bits()) * NATS).collect();
        let log_weight = log_sum(&biases);
        let weights: Vec<f64> = biases.iter().map(|bias| (bias - log_weight).exp()).collect();
        let column = |c: usize| (0..count).map(move |row| (row, f64::from(rows.weight(row, c))));
        let mean: Vec<f64> =
            (0..model.dim()).map(|c| column(c).map(|(row, value)| value * steps[row] * weights[row]).sum()).collect();
        let columns = (0..model.dim()).map(|c| {
            let centre = if centred { mean[c] } else { 0.0 };
            column(c).map(|(row, value)| (value * steps[row] - centre) as f32).collect()
        });
        let columns: Vec<Vec<f32>> = columns.collect();
        let rows = (0..count).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
        Self { rows, columns, weights, log_weight, mean }
    }

    /// Computes the entries of the features from `first` on, of these degrees. The constant of both φ(v) and φ(q) goes
    /// into the table: 2^(n+1−least)/n!.
    fn maclaurin(&self, seed: u64, first: usize, degrees: &[usize], kind: FmbeKind, features: u32) -> Vec<u32> {
        let (dim, count) = (self.columns.len(), self.weights.len());
        let mut vectors: Vec<f32> = Vec::new();
        for (i, &degree) in degrees.iter().enumerate() {
            let mut signs = Signs::new(seed, (first + i) as u32);
            for _ in 0..degree {
                signs.each(0..dim, |_, negative| vectors.push(if negative { -1.0 } else { 1.0 }));
            }
        }
        let mut sums = vec![0.0_f64; degrees.len()];
        for start in (0..count).step_by(BLOCK) {
            let rows = BLOCK.min(count - start);
            let dots = linear::times_transposed(&vectors, &self.rows[start * dim..][..rows * dim], dim);
            let mut rest = &dots[..];
            for (sum, &degree) in sums.iter_mut().zip(degrees) {
                let (own, others) = rest.split_at(degree * rows);
                rest = others;
                for (row, weight) in self.weights[start..][..rows].iter().enumerate() {
                    let dots = own.iter().skip(row).step_by(rows);
                    *sum += dots.fold(*weight, |product, &dot| product * f64::from(dot));
                }
            }
        }
        // The centred kind is relative to the sum of the weights.
        let level = if kind == FmbeKind::Centred { 0.0 } else { self.log_weight };
        let entry = |(sum, &degree): (&f64, &usize)| {
            let log_factorial: f64 = (1..=degree).map(|n| (n as f64).ln()).sum();
            let odds = (degree as f64 + 1.0 - f64::from(least_degree(kind))) * core::f64::consts::LN_2;
            let log = sum.abs().ln() + odds - log_factorial + level - f64::from(features).ln();
            (log_bits(log) as u32 & !1) | u32::from(*sum < 0.0)
        };
        sums.iter().zip(degrees).map(entry).collect()
    }

    fn positive(&self, seed: u64, feature: u32, features: u32) -> u32 {
        let mut logs: Vec<f64> = self.weights.iter().map(|weight| weight.ln()).collect();
        Gaussians::new(seed, feature).each(self.columns.iter(), |column, number| {
            let normal = f64::from(number) / f64::from(1u32 << Gaussians::FRACTION_BITS);
            for (log, &value) in logs.iter_mut().zip(column) {
                *log += f64::from(value) * (normal - 0.5 * f64::from(value));
            }
        });
        log_bits(log_sum(&logs) + self.log_weight - f64::from(features).ln()) as u32 & !1
    }

    /// Computes the lower triangle of Σ weight·δδᵀ.
    fn covariance(&self) -> Vec<f64> {
        let pairs: Vec<(usize, usize)> =
            (0..self.columns.len()).flat_map(|row| (0..=row).map(move |column| (row, column))).collect();
        let entry = |&(a, b): &(usize, usize)| {
            let products = self.columns[a].iter().zip(&self.columns[b]).zip(&self.weights);
            products.map(|((&x, &y), weight)| f64::from(x) * f64::from(y) * weight).sum()
        };
        pairs.par_iter().map(entry).collect()
    }
}

/// The last place of a [`Log2`] in nats.
const NATS: f64 = core::f64::consts::LN_2 / (1u32 << Log2::FRACTION_BITS) as f64;

fn log_bits(nats: f64) -> i32 {
    // `as` saturates: the logarithm of zero becomes the smallest value.
    (nats / NATS).round() as i32
}

fn log_sum(logs: &[f64]) -> f64 {
    let most = logs.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
    most + logs.iter().map(|v| (v - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::fmbe;
    use crate::host::{Matrix, flat_model};
    use crate::rows::QueryBuffer;

    /// Computes φ_j(x) = √(a_M·p^(M+1))·Π_r ω_r·x of section 4.3, with p = 2 and a_M = 1/M!.
    fn feature(signs: &[Vec<f64>], x: &[f64]) -> f64 {
        let factorial: f64 = (1..=signs.len()).map(|n| n as f64).product();
        let products = signs.iter().map(|signs| signs.iter().zip(x).map(|(s, x)| s * x).sum::<f64>());
        (2f64.powi(signs.len() as i32 + 1) / factorial).sqrt() * products.product::<f64>()
    }

    #[test]
    fn it_is_the_paper_s_sum_in_float64() {
        const D: usize = 6;
        let value = |i: usize, salt: usize| ((i * 7919 + salt * 104_729) % 1013) as f32 / 506.5 - 1.0;
        let rows = Matrix::new((0..40 * D).map(|i| value(i, 1)).collect(), D).expect("whole rows");
        let biases: Vec<f32> = (0..40).map(|i| 0.3 * value(i, 2)).collect();
        let plain = flat_model(&rows, &biases).expect("valid");
        for (seed, features) in [(1, 400), (2, 1000), (9, 3000)] {
            let file = with_fmbe(&plain, FmbeKind::Maclaurin, features, seed).expect("small");
            let model = file.model();
            let q: Vec<f32> = (0..D).map(|i| 0.8 * value(i, 3 + seed as usize)).collect();
            let query = QueryBuffer::<8>::new(&model, &q).expect("valid");
            let layer = Layer::new(&model, false);
            let counts = degrees(FmbeKind::Maclaurin, features, seed);
            let all =
                counts.iter().enumerate().flat_map(|(degree, &count)| core::iter::repeat_n(degree, count as usize));
            let q: Vec<f64> = (0..D).map(|column| f64::from(query.value(column))).collect();
            let mut z = 0.0;
            for (j, degree) in all.enumerate() {
                let mut source = Signs::new(seed, j as u32);
                let mut vector = || {
                    let mut signs = vec![0.0; D];
                    source.each(signs.iter_mut(), |sign, negative| *sign = if negative { -1.0 } else { 1.0 });
                    signs
                };
                let signs: Vec<Vec<f64>> = (0..degree).map(|_| vector()).collect();
                let of_rows = layer.rows.chunks_exact(D).zip(&layer.weights).map(|(row, weight)| {
                    let row: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
                    weight * layer.log_weight.exp() * feature(&signs, &row)
                });
                z += of_rows.sum::<f64>() / f64::from(features) * feature(&signs, &q);
            }
            let found = f64::from(fmbe(&model, &query).expect("a table").log_z());
            assert!(z > 0.0 && (found - z.ln()).abs() < 1e-3, "seed {seed}, D = {features}: {found} is not ln {z}");
        }
    }
}
