//! Rounding in which the errors of columns compensate for each other in the scores.

use nalgebra::{DMatrix, DVector};

use super::spectrum::Spectrum;
use super::{Matrix, linear};

/// The factors with which columns not yet rounded compensate for the rounding error of a column.
///
/// Column by column, as GPTQ does it: the error that matters is that of the scores, eᵀSe with S the second moment of the queries.
/// With S = σ² + V·Vᵀ, a row v_k of V for each column, and the errors e of the columns rounded so far, column j is best moved by
///
/// ```text
/// −u_j·Σ e_k·v_k        u_j = (σ² + Σ_{k ≥ j} v_k·v_kᵀ)⁻¹·v_j
/// ```
///
/// The bias is the last column and takes what is left. A row costs its columns times the directions of S, which are few.
///
/// ```
/// use zhat::host::{Compensation, Kind, Layer};
///
/// let layer = Layer::generate(60, 8, 1);
/// assert!(Compensation::new(&layer.queries(Kind::Classifier, 100, 2)).is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Compensation {
    /// The column that comes first, second, …
    order: Vec<usize>,
    /// The directions of S.
    directions: usize,
    /// σ².
    floor: f64,
    /// v and u of each column in that order, and of the bias.
    errors: Vec<f32>,
    pulls: Vec<f32>,
    /// The part of S at a column that is left once those after it have made up for its error.
    left: Vec<f64>,
    /// v of each column without what the bias makes up for.
    without_bias: Vec<f32>,
    /// The change of the bias that makes up for an error of one in each column.
    means: Vec<f64>,
}

impl Compensation {
    /// Prepares it for queries, in the order of the columns; `None` where they are all zero.
    ///
    /// ```
    /// use zhat::host::{Compensation, Matrix};
    ///
    /// assert!(Compensation::new(&Matrix::new(vec![0.5; 6], 3).expect("rows of three")).is_some());
    /// ```
    pub fn new(queries: &Matrix) -> Option<Self> {
        Self::in_order_of(&Spectrum::of(&linear::with_ones(queries)))
    }

    /// Prepares it with the columns first whose errors cost most: all others can make up for them. The coarser the steps, the more
    /// that helps.
    ///
    /// ```
    /// use zhat::host::{Compensation, Matrix};
    ///
    /// assert!(Compensation::by_importance(&Matrix::new(vec![0.5; 6], 3).expect("rows of three")).is_some());
    /// ```
    pub fn by_importance(queries: &Matrix) -> Option<Self> {
        Self::by_importance_of(&Spectrum::of(&linear::with_ones(queries)))
    }

    /// Prepares it for the spectrum of queries with a one after each.
    pub(super) fn in_order_of(spectrum: &Spectrum) -> Option<Self> {
        Self::in_order(spectrum, (0..spectrum.dim().saturating_sub(1)).collect())
    }

    /// Prepares it for such a spectrum, the columns first whose errors cost most.
    pub(super) fn by_importance_of(spectrum: &Spectrum) -> Option<Self> {
        let bias = spectrum.dim().checked_sub(1)?;
        let (mut squares, mut crossed) = (vec![spectrum.rest(); bias + 1], vec![0.0; bias]);
        for (value, direction) in spectrum.directions() {
            let value = value - spectrum.rest();
            let own = f64::from(direction[bias]);
            squares.iter_mut().zip(direction).for_each(|(sum, &x)| *sum += value * f64::from(x).powi(2));
            crossed.iter_mut().zip(direction).for_each(|(sum, &x)| *sum += value * f64::from(x) * own);
        }
        let cost = |&j: &usize| squares[j] - crossed[j].powi(2) / squares[bias].max(f64::MIN_POSITIVE);
        let mut order: Vec<usize> = (0..bias).collect();
        order.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        Self::in_order(spectrum, order)
    }

    fn in_order(spectrum: &Spectrum, order: Vec<usize>) -> Option<Self> {
        let (size, r) = (spectrum.dim(), spectrum.len());
        // A tenth of a per cent of the mean keeps directions that no query showed from being free.
        let floor = spectrum.rest() + spectrum.trace() / size as f64 * 1e-3;
        if !(floor.is_normal() && floor > 0.0) {
            return None;
        }
        let columns = size - 1;
        let place = |i: usize| if i < columns { order[i] } else { columns };
        let mut v = DMatrix::<f64>::zeros(r, size);
        for (c, (value, direction)) in spectrum.directions().enumerate() {
            let root = (value - spectrum.rest()).max(0.0).sqrt();
            (0..size).for_each(|i| v[(c, i)] = root * f64::from(direction[place(i)]));
        }
        // From the last column on: (σ² + Σ_{k ≥ j} v_k·v_kᵀ)⁻¹ by one more v after the other.
        let mut inverse = DMatrix::<f64>::identity(r, r) / floor;
        let (mut pulls, mut left) = (vec![0.0f32; r * size], vec![0.0; size]);
        for i in (0..size).rev() {
            let moved: DVector<f64> = &inverse * v.column(i);
            let grown = 1.0 + v.column(i).dot(&moved);
            left[i] = floor * grown;
            inverse.ger(-1.0 / grown, &moved, &moved, 1.0);
            pulls[i * r..][..r].iter_mut().zip(moved.iter()).for_each(|(out, x)| *out = (x / grown) as f32);
        }
        let bias = v.column(columns).clone_owned();
        let of_bias = floor + bias.norm_squared();
        let means: Vec<f64> = (0..columns).map(|i| v.column(i).dot(&bias) / of_bias).collect();
        let without_bias = (0..columns)
            .flat_map(|i| (0..r).map(move |c| (c, i)))
            .map(|(c, i)| (v[(c, i)] - means[i] * bias[c]) as f32);
        Some(Self {
            directions: r,
            floor,
            left,
            without_bias: without_bias.collect(),
            errors: v.iter().map(|&x| x as f32).collect(),
            pulls,
            means,
            order,
        })
    }

    /// Rounds a row to steps by `nearest`. Returns the mean squared error of its scores and its numbers.
    pub(super) fn round(
        &self,
        row: &[f32],
        bias: f32,
        steps: &[f64],
        nearest: impl Fn(f64, f64) -> i8,
    ) -> (f64, Vec<i8>) {
        let mut numbers = vec![0; row.len()];
        let (error, _) = self.round_into(row, bias, |column| steps[column], nearest, &mut numbers);
        (error, numbers)
    }

    /// Rounds a row into `out`. Returns the mean squared error of its scores, and the bias with the errors that the
    /// columns could not compensate for.
    pub(super) fn round_into(
        &self,
        row: &[f32],
        bias: f32,
        step: impl Fn(usize) -> f64,
        nearest: impl Fn(f64, f64) -> i8,
        out: &mut [i8],
    ) -> (f64, f32) {
        let r = self.directions;
        let mut sum = vec![0.0f32; r];
        let mut squares = 0.0;
        for (i, &column) in self.order.iter().enumerate() {
            let (weight, step) = (f64::from(row[column]), step(column));
            let wanted = weight - f64::from(linear::dot(&self.pulls[i * r..][..r], &sum));
            out[column] = nearest(wanted, step);
            let rounded = f64::from(out[column]) * step;
            squares += (rounded - wanted).powi(2) * self.left[i];
            add(&mut sum, (rounded - weight) as f32, &self.errors[i * r..][..r]);
        }
        let columns = self.order.len();
        (squares, bias - linear::dot(&self.pulls[columns * r..][..r], &sum))
    }

    /// Rounds each number again, given all others: coordinate descent on eᵀSe. Returns the bias that belongs to them.
    pub(super) fn improve(
        &self,
        row: &[f32],
        bias: f32,
        steps: &[f64],
        numbers: &mut [i8],
        passes: usize,
        nearest: impl Fn(f64, f64) -> i8,
    ) -> f32 {
        let r = self.directions;
        let error = |column: usize, number: i8| f64::from(row[column]) - f64::from(number) * steps[column];
        let mut errors: Vec<f64> = self.order.iter().map(|&column| error(column, numbers[column])).collect();
        let mut sum = vec![0.0f32; r];
        for (i, &error) in errors.iter().enumerate() {
            add(&mut sum, error as f32, &self.errors[i * r..][..r]);
        }
        for _ in 0..passes {
            for (i, &column) in self.order.iter().enumerate() {
                // S without what the bias makes up for, row i.
                let (own, line) = (&self.errors[i * r..][..r], &self.without_bias[i * r..][..r]);
                let slope = self.floor * errors[i] + f64::from(linear::dot(line, &sum));
                let curve = self.floor + f64::from(linear::dot(line, own));
                // The weight that would undo what all columns do together.
                let wanted = f64::from(row[column]) - errors[i] + slope / curve;
                let number = nearest(wanted, steps[column]);
                if number != numbers[column] {
                    let change = error(column, number) - errors[i];
                    numbers[column] = number;
                    errors[i] += change;
                    add(&mut sum, change as f32, own);
                }
            }
        }
        let made_up: f64 = errors.iter().zip(&self.means).map(|(error, mean)| error * mean).sum();
        (f64::from(bias) + made_up) as f32
    }
}

fn add(sum: &mut [f32], factor: f32, line: &[f32]) {
    sum.iter_mut().zip(line).for_each(|(sum, x)| *sum += factor * x);
}
