//! Quantises f32 rows to int8 or four bits with a scale each.

use rayon::prelude::*;

use super::{BuildError, Compensation, Matrix, four_bit, grid};
use crate::kernels::{self, MAX_DIM, ROW_ALIGN};
use crate::math::Log2;
use crate::model::{Bits, FileWriter, ModelBuf, Section, Sizes};
use crate::rows::RowTable;

/// Rows in the format of the file.
///
/// ```
/// # let layer = zhat::host::Layer::generate(60, 8, 1);
///
/// use zhat::{host::QuantisedRows, model::Bits};
///
/// // Steps that are multiples of 2^−20, and the nearest one for each weight.
/// let rows = QuantisedRows::round(&layer.weights, &layer.biases, -20, None, Bits::Eight);
/// assert_eq!((rows.len(), rows.dim), (60, 8));
/// ```
#[derive(Clone, Debug)]
pub struct QuantisedRows {
    /// The weights, padded to whole words, as the kernels take them.
    pub stored: Vec<i16>,
    /// A scale for each row.
    pub scales: Vec<u16>,
    /// The bits of a [`Log2`] for each row, without the lowest `bias_shift` bits; [`i16::MIN`] for a masked class.
    pub biases: Vec<i16>,
    /// The shift of the biases, as small as the largest bias allows.
    pub bias_shift: u32,
    /// The power of two that is the unit of the scales.
    pub scale_exponent: i32,
    /// The largest norm of a quantised row.
    pub max_norm: f32,
    /// The largest sum of the squares of a row's whole weights, or the smallest that the header may state if that is
    /// larger.
    pub largest_row: u32,
    /// The width of the weights.
    pub bits: Bits,
    /// The number of columns without padding.
    pub dim: usize,
}

impl QuantisedRows {
    /// Rounds every weight to a step of its row: to the nearest, or with compensation for the errors of other columns.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let rows = zhat::host::QuantisedRows::round(&layer.weights, &layer.biases, -20, None, zhat::model::Bits::Eight);
    /// assert_eq!(rows.scales.len(), 60);
    /// ```
    pub fn round(
        weights: &Matrix,
        biases: &[f32],
        scale_exponent: i32,
        compensation: Option<&Compensation>,
        bits: Bits,
    ) -> Self {
        let unit = libm::exp2(f64::from(scale_exponent));
        let stride = weights.cols().next_multiple_of(ROW_ALIGN);
        let mut stored = vec![0; weights.rows() * bits.row_len(stride)];
        let no_weights = vec![0.0; weights.cols()];
        let finished: Vec<(u16, f32, f64, u32)> = stored
            .par_chunks_exact_mut(bits.row_len(stride))
            .zip(weights.data().par_chunks_exact(weights.cols()))
            .zip(biases)
            .map(|((out, row), &bias)| {
                // The weights of a masked class must not bring it back.
                let row = if is_masked(bias) { &no_weights } else { row };
                let (scale, bias, squares) = match bits {
                    Bits::Eight => round_to_int8(row, bias, unit, compensation, out),
                    Bits::Four => {
                        let rounded = four_bit::round(row, bias, unit, 8.0, stride, compensation);
                        out.copy_from_slice(&kernels::four_bit::pack(&rounded.numbers, &rounded.scales));
                        out[kernels::four_bit::SCALE] = rounded.scale.cast_signed();
                        (rounded.scale, rounded.bias, rounded.squares())
                    }
                };
                let step = f64::from(scale) * unit;
                (scale, bias, f64::from(squares) * step * step, squares)
            })
            .collect();
        let least = if bits == Bits::Four { kernels::four_bit::least_largest_row(stride) } else { 0 };
        let biases: Vec<f32> = finished.iter().map(|row| row.1).collect();
        let bias_shift = bias_shift(&biases);
        Self {
            stored,
            scales: finished.iter().map(|row| row.0).collect(),
            biases: biases.into_iter().map(|bias| bias_code(bias, bias_shift)).collect(),
            bias_shift,
            scale_exponent,
            max_norm: finished.iter().fold(0.0, |m: f64, row| m.max(row.2)).sqrt() as f32,
            largest_row: finished.iter().map(|row| row.3).max().unwrap_or(0).max(least),
            bits,
            dim: weights.cols(),
        }
    }

    /// Returns the number of rows.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let rows = zhat::host::QuantisedRows::round(&layer.weights, &layer.biases, -20, None, zhat::model::Bits::Eight);
    /// assert_eq!(rows.len(), 60);
    /// ```
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Returns true if there are no rows.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let rows = zhat::host::QuantisedRows::round(&layer.weights, &layer.biases, -20, None, zhat::model::Bits::Eight);
    /// assert!(!rows.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Returns the biases as floats.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let rows = zhat::host::QuantisedRows::round(&layer.weights, &layer.biases, -20, None, zhat::model::Bits::Eight);
    /// assert!((rows.biases_in_nats()[7] - layer.biases[7]).abs() < 1e-4);
    /// ```
    pub fn biases_in_nats(&self) -> Vec<f32> {
        (0..self.len()).map(|row| self.bias(row)).collect()
    }

    /// Returns some of the rows as floats, each followed by its bias: the model's real weights. A large layer is never
    /// dequantised as a whole.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let rows = zhat::host::QuantisedRows::round(&layer.weights, &layer.biases, -20, None, zhat::model::Bits::Eight);
    /// assert_eq!(rows.augmented(0, 2).len(), 2 * 9); // the bias is one more column
    /// ```
    pub fn augmented(&self, first: usize, count: usize) -> Vec<f32> {
        let unit = libm::exp2(f64::from(self.scale_exponent));
        let mut data = Vec::with_capacity(count * (self.dim + 1));
        for row in first..first + count {
            let step = (f64::from(self.scales[row]) * unit) as f32;
            let stored = self.row(row);
            let weights = (0..self.dim).map(|column| self.bits.weight(stored, column, self.stride()));
            data.extend(weights.map(|weight| f32::from(weight) * step));
            data.push(self.bias(row));
        }
        data
    }

    /// Returns the rows in another order: row i of the result is row `order[i]`.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let rows = zhat::host::QuantisedRows::round(&layer.weights, &layer.biases, -20, None, zhat::model::Bits::Eight);
    /// assert_eq!(rows.reordered(&[3, 1]).scales, [rows.scales[3], rows.scales[1]]);
    /// ```
    pub fn reordered(&self, order: &[u32]) -> Self {
        let pick = |i: &u32| *i as usize;
        Self {
            stored: order.iter().flat_map(|i| self.row(pick(i))).copied().collect(),
            scales: order.iter().map(|i| self.scales[pick(i)]).collect(),
            biases: order.iter().map(|i| self.biases[pick(i)]).collect(),
            ..*self
        }
    }

    fn stride(&self) -> usize {
        self.dim.next_multiple_of(ROW_ALIGN)
    }

    fn bias(&self, row: usize) -> f32 {
        Log2::from_bits(i32::from(self.biases[row]) << self.bias_shift).to_nats()
    }

    fn row(&self, row: usize) -> &[i16] {
        let len = self.bits.row_len(self.stride());
        &self.stored[row * len..][..len]
    }

    /// Starts a file with the header's numbers and the sections of the rows. `nodes` are other vectors that are scored
    /// like rows.
    ///
    /// ```
    /// # let layer = zhat::host::Layer::generate(60, 8, 1);
    /// # let rows = zhat::host::QuantisedRows::round(&layer.weights, &layer.biases, -20, None, zhat::model::Bits::Eight);
    /// let file = rows.start_file(None).into_model()?;
    /// assert_eq!(file.model().classes(), 60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_file(&self, nodes: Option<&Self>) -> FileWriter {
        let mut file = FileWriter::new(Sizes {
            classes: self.scales.len(),
            dim: self.dim,
            scale_exponent: self.scale_exponent,
            bias_shift: self.bias_shift,
            max_norm: nodes.map_or(0.0, |nodes| nodes.max_norm).max(self.max_norm),
            largest_row: nodes.map_or(0, |nodes| nodes.largest_row).max(self.largest_row),
            bits: self.bits,
        });
        self.add_to(&mut file, [Section::Rows, Section::RowScales, Section::Biases]);
        file
    }

    /// Adds the sections of rows, scales and biases to a file. 4-bit rows hold their scales themselves.
    pub(super) fn add_to(&self, file: &mut FileWriter, [rows, scales, biases]: [Section; 3]) {
        file.required(rows, &self.stored);
        if self.bits == Bits::Eight {
            file.required(scales, &self.scales);
        }
        file.required(biases, &self.biases);
    }
}

/// Makes a model of the rows alone, in the order of the classes, which is enough for [`exact`](crate::exact()).
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
/// [`BuildError`] if no model can be made of the weights.
pub fn flat_model(weights: &Matrix, biases: &[f32]) -> Result<ModelBuf, BuildError> {
    check(weights, biases)?;
    let rows =
        QuantisedRows::round(weights, biases, scale_exponent(peak(weights.data()), Bits::Eight), None, Bits::Eight);
    Ok(rows.start_file(None).into_model()?)
}

/// Refuses what no model can be made of.
pub(super) fn check(weights: &Matrix, biases: &[f32]) -> Result<(), BuildError> {
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
    check_range(biases)
}

/// Refuses biases that the file would have to clamp, or to take for masks although they are not far below the others.
fn check_range(biases: &[f32]) -> Result<(), BuildError> {
    let (row, &value) = biases.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).ok_or(BuildError::Empty)?;
    match value {
        f32::NEG_INFINITY => Err(BuildError::Masked),
        _ if value > -MASK => Err(BuildError::BiasRange { row, value }),
        // What is far below the others masks its class.
        _ if value < 0.5 * MASK => match biases.iter().position(|bias| bias.is_finite() && is_masked(*bias)) {
            Some(row) => Err(BuildError::BiasRange { row, value: biases[row] }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The largest magnitude.
pub(super) fn peak(values: &[f32]) -> f64 {
    f64::from(values.iter().fold(0.0, |m: f32, v| m.max(v.abs())))
}

/// Returns the power of two with which the scale of rows with this largest weight just fits.
pub(super) fn scale_exponent(peak: f64, bits: Bits) -> i32 {
    // libm's logarithm rather than the host's own, so that every host writes the same file. If all weights are zero, any
    // exponent will do that leaves queries their bits.
    let most = match bits {
        Bits::Eight => 127.0,
        // Seven times seven, less a tenth, since steps may be larger by that.
        Bits::Four => 44.0,
    };
    if peak == 0.0 { -40 } else { libm::log2(peak / most / f64::from(u16::MAX)).ceil() as i32 }
}

/// Rounds one row into `out`. Returns its scale, its bias with the errors that the columns could not compensate for,
/// and the sum of its squares.
fn round_to_int8(
    row: &[f32],
    bias: f32,
    unit: f64,
    compensation: Option<&Compensation>,
    out: &mut [i16],
) -> (u16, f32, u32) {
    let peak = peak(row);
    let own = grid::step_of(row, peak).map(|step| (step / unit).round());
    let scale = match own.filter(|scale| (1.0..=f64::from(u16::MAX)).contains(scale)) {
        Some(scale) => scale as u16,
        // Rounded up, so that the peak stays within ±127; the row is then rounded with this very scale.
        None => (peak / 127.0 / unit).ceil() as u16,
    };
    let step = f64::from(scale) * unit;
    let nearest = |weight: f64, step: f64| {
        if step > 0.0 { (weight / step).round().clamp(-127.0, 127.0) as i8 } else { 0 }
    };
    let mut rounded = vec![0; 2 * out.len()];
    let bias = match compensation.filter(|_| bias.is_finite()) {
        Some(compensation) => compensation.round_into(row, bias, |_| step, nearest, &mut rounded).1,
        None => {
            rounded.iter_mut().zip(row).for_each(|(out, &weight)| *out = nearest(weight.into(), step));
            bias
        }
    };
    out.iter_mut().zip(rounded.as_chunks().0).for_each(|(out, &[a, b])| *out = kernels::pair(a, b));
    (scale, bias, rounded.iter().map(|&v| u32::from(v.unsigned_abs()).pow(2)).sum())
}

/// Biases below this many nats mask a class, whatever its weights.
const MASK: f32 = -1400.0;

/// With classes that are masked, biases are shifted by this much at least: [`i16::MIN`] is then −177 nats, which takes a row
/// without weights out of any sum, and what is rounded of the others, 0.0016 nats, is less than what int8 costs.
const MASKED_SHIFT: u32 = Log2::FRACTION_BITS - 7;

fn is_masked(bias: f32) -> bool {
    bias < MASK
}

/// The least shift that lets all biases keep to sixteen bits: the wider their range, the coarser they are. They then cost no
/// more than the weights do, whose range is as wide where biases of hundreds of nats are of use.
fn bias_shift(biases: &[f32]) -> u32 {
    let is_any_masked = biases.iter().any(|&bias| is_masked(bias));
    let largest = biases.iter().filter(|&&bias| !is_masked(bias)).fold(0.0, |most: f32, bias| most.max(bias.abs()));
    let fits = |&shift: &u32| in_units(largest, shift) <= f64::from(i16::MAX);
    let least = if is_any_masked { MASKED_SHIFT } else { 0 };
    (least..RowTable::MAX_BIAS_SHIFT).find(fits).unwrap_or(RowTable::MAX_BIAS_SHIFT)
}

/// A bias in sixteen bits. Beyond ±1 400 nats no probability can tell it from that.
fn bias_code(bias: f32, shift: u32) -> i16 {
    let limit = f64::from(i16::MAX);
    if is_masked(bias) { i16::MIN } else { in_units(bias, shift).clamp(-limit, limit) as i16 }
}

/// Converts nats to units of 2^shift of the bits of a [`Log2`], rounded.
fn in_units(nats: f32, shift: u32) -> f64 {
    let unit = libm::exp2(f64::from(shift) - f64::from(Log2::FRACTION_BITS));
    (f64::from(nats) * core::f64::consts::LOG2_E / unit).round()
}
