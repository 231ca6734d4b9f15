//! f32 rows to int8 with a scale each.

use super::{BuildError, Matrix};
use crate::format::{FileWriter, ModelBuf, Section, Sizes};
use crate::kernels::{MAX_DIM, ROW_ALIGN};
use crate::math::Log2;
use crate::rows::RowScale;

/// Rows as the file holds them.
#[derive(Clone, Debug)]
pub struct QuantisedRows {
    /// int8, padded to whole words.
    pub values: Vec<i8>,
    /// The bits of a [`RowScale`] for each row.
    pub scales: Vec<u16>,
    /// The bits of a [`Log2`] for each row.
    pub biases: Vec<i32>,
    /// The power of two in which the scales are counted.
    pub scale_exponent: i32,
    /// The largest norm of a row, as quantised.
    pub max_norm: f32,
    /// The number of columns without padding.
    pub dim: usize,
}

impl QuantisedRows {
    /// Rounds every weight to the nearest step of its row.
    ///
    /// # Errors
    /// [`BuildError`], if the weights can't make a model.
    pub fn round(weights: &Matrix, biases: &[f32]) -> Result<Self, BuildError> {
        check(weights, biases)?;
        let peaks: Vec<f64> =
            weights.iter().map(|row| row.iter().fold(0.0, |m: f64, v| m.max(f64::from(v.abs())))).collect();
        let scale_exponent = scale_exponent(peaks.iter().fold(0.0, |m, &p| p.max(m)));
        let unit = f64::from(scale_exponent).exp2();
        let stride = weights.cols().next_multiple_of(ROW_ALIGN);
        let mut values = vec![0i8; weights.rows() * stride];
        let mut scales = Vec::with_capacity(weights.rows());
        let mut max_square = 0.0_f64;
        for ((row, &peak), out) in weights.iter().zip(&peaks).zip(values.chunks_exact_mut(stride)) {
            let scale = RowScale::at_least((peak / 127.0 / unit).ceil() as u32).unwrap_or(RowScale::from_bits(0xffff));
            scales.push(scale.to_bits());
            let step = f64::from(scale.units()) * unit;
            let mut squares = 0.0;
            for (out, &weight) in out.iter_mut().zip(row) {
                *out = if step > 0.0 { (f64::from(weight) / step).round().clamp(-127.0, 127.0) as i8 } else { 0 };
                squares += f64::from(*out) * f64::from(*out);
            }
            max_square = max_square.max(squares * step * step);
        }
        Ok(Self {
            values,
            scales,
            biases: biases.iter().map(|&bias| bias_bits(bias)).collect(),
            scale_exponent,
            max_norm: max_square.sqrt() as f32,
            dim: weights.cols(),
        })
    }

    /// The header's numbers and the sections of the rows.
    pub fn start_file(&self) -> FileWriter {
        let mut file = FileWriter::new(Sizes {
            classes: self.scales.len(),
            dim: self.dim,
            scale_exponent: self.scale_exponent,
            max_norm: self.max_norm,
        });
        file.required(Section::Rows, &self.values);
        file.required(Section::RowScales, &self.scales);
        file.required(Section::Biases, &self.biases);
        file
    }
}

/// A model of the rows alone, in the order of the classes: all that Exact needs.
///
/// ```
/// use zhat::host::{Matrix, flat_model};
///
/// let rows = Matrix::new(vec![1.0, 0.0, 0.0, 1.0], 2).expect("two rows of two");
/// let file = flat_model(&rows, &[0.0, -1.0])?;
/// assert_eq!(file.model().classes(), 2);
/// # Ok::<(), zhat::host::BuildError>(())
/// ```
///
/// # Errors
/// [`BuildError`], if the weights can't make a model.
pub fn flat_model(weights: &Matrix, biases: &[f32]) -> Result<ModelBuf, BuildError> {
    let file = QuantisedRows::round(weights, biases)?.start_file().finish()?;
    Ok(ModelBuf::from_bytes(&file)?)
}

fn check(weights: &Matrix, biases: &[f32]) -> Result<(), BuildError> {
    let (rows, cols) = (weights.rows(), weights.cols());
    if rows == 0 {
        return Err(BuildError::Empty);
    }
    if !(1..=MAX_DIM).contains(&cols) {
        return Err(BuildError::Dimension(cols));
    }
    if rows > u32::MAX as usize / cols.next_multiple_of(ROW_ALIGN) {
        return Err(BuildError::Classes(rows));
    }
    if rows != biases.len() {
        return Err(BuildError::BiasLength { rows, biases: biases.len() });
    }
    if let Some(at) = weights.data().iter().position(|v| !v.is_finite()) {
        return Err(BuildError::Weight { row: at / cols, column: at % cols, value: weights.data()[at] });
    }
    if let Some(row) = biases.iter().position(|b| b.is_nan() || *b == f32::INFINITY) {
        return Err(BuildError::Bias { row, value: biases[row] });
    }
    Ok(())
}

/// The power of two at which the largest scale just fits.
fn scale_exponent(peak: f64) -> i32 {
    if peak == 0.0 { 0 } else { (peak / 127.0 / f64::from(RowScale::MAX - (1 << 15))).log2().ceil() as i32 }
}

/// A bias in fixed point; what is beyond ±1 400 nats becomes that, which no probability can tell from it.
fn bias_bits(bias: f32) -> i32 {
    const LIMIT: i32 = 2047 << Log2::FRACTION_BITS;
    Log2::from_nats(bias).to_bits().clamp(-LIMIT, LIMIT)
}
