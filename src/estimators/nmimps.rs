//! NMIMPS: the head and nothing else.
//!
//! ```text
//! Ẑ = Σ_{i ∈ S_k(q)} exp(u_i)
//! ```
//!
//! "Naive" MIPS-based sampling of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), section 4.1, as it is there; the
//! rows are those that the index finds, not always the true best. Never above Z, and
//! short of it by the whole tail: right for classifiers so confident that the tail is nothing. Costs the retrieval.

use super::{Estimate, Head};
use crate::model::Model;
use crate::search::Work;

/// Z as if there were no rows outside the head; exact for a head of all rows, empty for an empty one.
pub fn nmimps(model: &Model<'_>, head: &Head<'_>) -> Estimate {
    let (z, work): (_, Work) = (head.sum(), head.work());
    if head.candidates().len() == model.classes() { Estimate::exact(z, work) } else { Estimate::plain(z, work) }
}
