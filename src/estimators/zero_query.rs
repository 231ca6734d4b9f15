//! A query of zeros: its scores are the biases, and the file says what they add up to.

use crate::math::LogSum;
use crate::model::Settings;
use crate::rows::Query;

/// Z of a query of zeros, which no prediction and no sample has to guess; `None` for any other query.
#[inline]
pub(crate) fn z_of_zero_query(query: &Query, settings: &Settings) -> Option<LogSum> {
    if query.norm() > 0.0 {
        return None;
    }
    let mut z = LogSum::new();
    z.add(settings.log_z_of_zero);
    Some(z)
}
