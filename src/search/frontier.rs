//! The unopened nodes, the one with the largest predicted mass first.

use heapless::binary_heap::{BinaryHeapView, Max};

use crate::math::Log2;

/// An unopened node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unopened {
    /// Its predicted log-mass, and how much there is to gain by opening it.
    pub priority: Log2,
    pub node: u32,
}

/// A heap of unopened nodes, and a few that no longer fit.
pub(crate) type Frontier = BinaryHeapView<Unopened, Max>;
