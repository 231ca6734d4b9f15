//! The experiments of Rastogi and Van Durme, "Sublinear Partition Estimation" (2015), run again, with the paper's own figures and
//! this crate's estimators in the same tables.
//!
//! | experiment | what it asks |
//! |---|---|
//! | [`fit`](fn@fit) | at which scale these vectors are most like the paper's |
//! | [`table1`] | how far Uniform, MIMPS, MINCE and FMBE are off, given the true top k, over k and l |
//! | [`table2`] | the same as queries move away from the rows |
//! | [`table3`] | the same when the retrieval misses the best rows |
//! | [`figure1`] | how many classes hold the probability, for frequent and rare words |
//! | [`table4`] | MIMPS on a real index against Z = 1, on a language model trained to normalise itself |
//! | [`growth`](fn@growth) | not in the paper: how the work for one error grows with N |
//!
//! Each takes data and settings to a result that can be stored as JSON; [`document`] writes the page about all of them
//! from those files. The sentences about a result stand beside the experiment, and no figure is written by hand.

mod date;
mod document;
mod error;
mod estimator;
mod features;
mod figure1;
mod fit;
mod growth;
mod k_means_tree;
mod on_index;
mod oracle;
mod ours;
mod power_law;
mod published;
mod result;
mod run;
mod table1;
mod table2;
mod table3;
mod table4;
mod tally;
mod tensor_sketch;
mod vectors;

pub use date::today;
pub use document::{Results, document};
pub use error::ReproduceError;
pub use figure1::{Curve, Figure1, cumulative, figure1};
pub use fit::{Fit, Tried, fit};
pub use growth::{Growth, Size, growth};
pub use oracle::{Indices, Oracles};
pub use published::Published;
pub use result::{Data, Grid, OracleTable, PaperCell, Row, side_by_side};
pub use table1::{paper as paper1, table1};
pub use table2::{paper as paper2, table2};
pub use table3::{paper as paper3, table3};
pub use table4::{LanguageModel, Line, Table4, table4};
pub use tally::Cell;
pub use vectors::Vectors;

/// How far an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is being done.
    pub what: &'a str,
    /// How much of it is done.
    pub done: usize,
    /// How much there is.
    pub of: usize,
}
