//! The exact estimator: scores every row, and returns the exact ln Z and the true top classes of the quantised model.

use heapless::Vec;

use crate::Error;
use crate::estimators::Prediction;
use crate::math::LogSum;
use crate::model::Model;
use crate::rows::Query;
use crate::search::{Candidate, Top, Work};

/// Scores every row and returns the top `K` classes with their exact probabilities.
///
/// ```text
/// Z = Σ exp(u) over all N rows
/// ```
///
/// Takes one pass, with a sum that cannot overflow. *Costs* N·d multiplications and N exponentials, about N·(d + 40)
/// instructions on a Cortex-M4, and no memory beyond the query and the top list. *Use it* for small vocabularies, and
/// as the truth against which every other estimator is measured: it is exact for the int8 rows of the model.
///
/// ```
/// # fn main() -> Result<(), zhat::Error> {
/// # let bytes = zhat::doc_example();
/// use zhat::{Model, QueryBuffer};
///
/// let model = Model::from_bytes(&bytes)?;
/// let query = QueryBuffer::<4>::new(&model, &[0.5, -1.0, 2.0])?;
/// let answer = zhat::exact::<2>(&model, &query)?;
/// assert_eq!(answer.top[0].class, 2);
/// assert!((answer.top[0].p - 0.67).abs() < 0.01);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::NoQuery`] if no query was set, [`Error::OtherModel`] if it was set for another model.
pub fn exact<const K: usize>(model: &Model<'_>, query: &Query) -> Result<Prediction<K>, Error> {
    query.check(model)?;
    Ok(exact_up_to(K, model, query))
}

/// Computes [`exact`] with at most `limit` of the `K` classes.
#[inline(never)]
pub(crate) fn exact_up_to<const K: usize>(limit: usize, model: &Model<'_>, query: &Query) -> Prediction<K> {
    let mut list = Vec::<Candidate, K>::new();
    let sum = scan(model, query, &mut Top::up_to(limit, &mut list));
    Prediction::exact(&list, sum, Work::of(model.classes(), 0, model.rows().row_bytes()), model, query)
}

/// Computes Z over all rows, without a list of classes.
pub(crate) fn exact_z(model: &Model<'_>, query: &Query) -> LogSum {
    scan(model, query, &mut Top::new(&mut Vec::<Candidate, 0>::new()))
}

fn scan(model: &Model<'_>, query: &Query, top: &mut Top<'_>) -> LogSum {
    let mut sum = LogSum::new();
    model.rows().for_each_block(0, model.classes(), query, |first, scores| {
        sum.add_all(scores);
        top.offer_all(model, first, scores);
    });
    sum
}
