//! Rounding in which the errors of columns compensate for each other in the scores.

use nalgebra::DMatrix;

/// The factors with which columns not yet rounded compensate for the rounding error of a column.
///
/// Works column by column, as GPTQ does. The error that matters is that of the scores, eᵀSe with S the second moment of
/// the queries. With S⁻¹ = UᵀU, the best compensation for the error of column j adds −e_j·U_jk/U_jj to column k. The
/// bias is the last column and takes the remaining error.
///
/// ```
/// use nalgebra::DMatrix;
/// use zhat::host::Compensation;
///
/// // Two columns and the one after them, of queries that are alike in all directions.
/// assert!(Compensation::new(&DMatrix::identity(3, 3)).is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Compensation {
    /// U, row by row, of the columns in their order and the bias.
    upper: Vec<f64>,
    size: usize,
    /// The columns in the order of rounding.
    order: Vec<usize>,
    /// S after the bias has compensated for its part: row by row, in that order.
    form: Vec<f64>,
    /// The bias's compensation for an error of one in each column.
    means: Vec<f64>,
}

impl Compensation {
    /// Makes the factors from the second moment of the queries, each followed by a one, in the order of the columns.
    ///
    /// ```
    /// use nalgebra::DMatrix;
    ///
    /// assert!(zhat::host::Compensation::new(&DMatrix::identity(3, 3)).is_some());
    /// ```
    pub fn new(moment: &DMatrix<f64>) -> Option<Self> {
        Self::in_order(moment, (0..moment.nrows().saturating_sub(1)).collect())
    }

    /// Makes the factors for rounding the columns first whose errors cost most, so that all others can compensate for
    /// them. The coarser the steps, the more that helps.
    ///
    /// ```
    /// use nalgebra::DMatrix;
    ///
    /// assert!(zhat::host::Compensation::by_importance(&DMatrix::identity(3, 3)).is_some());
    /// ```
    pub fn by_importance(moment: &DMatrix<f64>) -> Option<Self> {
        let bias = moment.nrows().checked_sub(1)?;
        let cost = |&j: &usize| moment[(j, j)] - moment[(j, bias)].powi(2) / moment[(bias, bias)];
        let mut order: Vec<usize> = (0..bias).collect();
        order.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        Self::in_order(moment, order)
    }

    fn in_order(moment: &DMatrix<f64>, order: Vec<usize>) -> Option<Self> {
        let size = moment.nrows();
        let bias = size.checked_sub(1)?;
        // A tenth of a per cent of the mean, so that directions that no query showed are not free.
        let ridge = moment.trace() / size as f64 * 1e-3;
        let moment = moment + DMatrix::identity(size, size) * ridge;
        let at = |i: usize| if i < bias { order[i] } else { bias };
        let moment = DMatrix::from_fn(size, size, |i, j| moment[(at(i), at(j))]);
        let inverse = moment.clone().cholesky()?.inverse();
        let upper = inverse.cholesky()?.l().transpose();
        let upper = (0..size).flat_map(|i| (0..size).map(move |j| (i, j))).map(|at| upper[at]).collect();
        let means: Vec<f64> = (0..bias).map(|j| moment[(j, bias)] / moment[(bias, bias)]).collect();
        let entry = |(i, j)| moment[(i, j)] - moment[(i, bias)] * means[j];
        let form = (0..bias).flat_map(|i| (0..bias).map(move |j| (i, j))).map(entry).collect();
        Some(Self { upper, size, order, form, means })
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
        let mut rest: Vec<f64> = self.order.iter().map(|&column| row[column]).chain([bias]).map(f64::from).collect();
        let mut squares = 0.0;
        for (i, &column) in self.order.iter().enumerate() {
            let step = step(column);
            out[column] = nearest(rest[i], step);
            let line = &self.upper[i * self.size..][..self.size];
            let error = (rest[i] - f64::from(out[column]) * step) / line[i];
            squares += error * error;
            for (rest, factor) in rest[i + 1..].iter_mut().zip(&line[i + 1..]) {
                *rest -= error * factor;
            }
        }
        (squares, rest[self.order.len()] as f32)
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
        let columns = self.order.len();
        let error = |column: usize, number: i8| f64::from(row[column]) - f64::from(number) * steps[column];
        let mut errors: Vec<f64> = self.order.iter().map(|&column| error(column, numbers[column])).collect();
        let line = |i: usize| &self.form[i * columns..][..columns];
        let dot = |i: usize, errors: &[f64]| line(i).iter().zip(errors).map(|(a, b)| a * b).sum::<f64>();
        let mut slopes: Vec<f64> = (0..columns).map(|i| dot(i, &errors)).collect();
        for _ in 0..passes {
            for (i, &column) in self.order.iter().enumerate() {
                // The weight at which the error of the scores is smallest, given all other columns.
                let wanted = f64::from(row[column]) - errors[i] + slopes[i] / line(i)[i];
                let number = nearest(wanted, steps[column]);
                if number != numbers[column] {
                    let change = error(column, number) - errors[i];
                    numbers[column] = number;
                    errors[i] += change;
                    slopes.iter_mut().zip(line(i)).for_each(|(slope, factor)| *slope += change * factor);
                }
            }
        }
        let made_up: f64 = errors.iter().zip(&self.means).map(|(error, mean)| error * mean).sum();
        (f64::from(bias) + made_up) as f32
    }
}
