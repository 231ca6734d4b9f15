//! Best-first search: the rows that matter are scored, everything else stays a prediction.
//!
//! The frontier is a heap of unopened nodes, the one with the largest predicted mass on top. A step opens it: an
//! inner node puts its children on the frontier, a leaf has its rows scored. Before each step the links of the best
//! rows so far are followed, if they hold more than the next node promises, because rows that are high together are not
//! always neighbours in the tree. It ends when the next node is predicted to hold at most ε of what was scored, or at the
//! cap, which is never exceeded.
//!
//! There is no recursion and no allocation: the frontier, the set of seen rows and the best rows have fixed room.

mod best;
mod best_first;
pub(crate) mod bound;
mod certain_log_z;
mod certain_top;
mod counts;
mod frontier;
mod memory;
mod seen;
mod top;
mod work;

pub(crate) use best_first::{Search, SearchResult, best_first};
pub(crate) use certain_log_z::{certain_around, certain_log_z};
pub(crate) use certain_top::{certain_top, top_of_all};
pub use counts::Count;
pub(crate) use counts::Counts;
pub(crate) use frontier::{FAMILY, Frontier, Unopened, priority_of};
pub(crate) use memory::Buffers;
pub use memory::{Scratch, scratch_words, seen_words};
pub(crate) use seen::Seen;
pub use top::Candidate;
pub(crate) use top::{Offer, SumsOnly, Top};
pub use work::Work;
