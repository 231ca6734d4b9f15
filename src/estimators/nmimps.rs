//! NMIMPS: the head and nothing else.

use super::{Estimate, Head};
use crate::model::Model;
use crate::search::Work;

/// NMIMPS: Z as if there were no rows outside the head; exact for a head of all rows, empty for an empty one.
///
/// ```text
/// Ẑ = Σ_{i ∈ S_k(q)} exp(u_i)
/// ```
///
/// *Source:* "naive" MIPS-based sampling of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section
/// 4.1, as it is there; the rows are those that the index finds, not always the true best. Never above Z, and short of it by the whole tail.
///
/// *Costs* the retrieval of the head; for instructions see the table of [`estimators`](super).
///
/// *Use it* for classifiers so confident that the tail is nothing.
///
/// ```
/// # let model = zhat::Model::from_bytes(zhat::doc_file("tests/data/indexed.zhat"))?;
/// # let query = zhat::QueryBuffer::<16>::new(&model, &[0.5; 16])?;
/// use zhat::Budget;
/// use zhat::estimators::{HeadBuffer, nmimps, retrieve};
///
/// let (mut scratch, mut buffer) = ([0; 120], HeadBuffer::<10>::new());
/// let head = retrieve(&model, &query, &Budget::new(60), &mut scratch, &mut buffer)?;
/// assert!(nmimps(&model, &head).log_z() <= zhat::exact::<1>(&model, &query)?.log_z());
/// # Ok::<(), zhat::Error>(())
/// ```
pub fn nmimps(model: &Model<'_>, head: &Head<'_>) -> Estimate {
    let (z, work): (_, Work) = (head.sum(), head.work());
    if head.candidates().len() == model.classes() { Estimate::exact(z, work) } else { Estimate::plain(z, work) }
}
