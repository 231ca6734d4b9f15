//! The estimators of Z against Exact: bias, bounds, limits, edges, and bits.
#![cfg(feature = "std")]

mod bits;
mod draw;
mod edges;
mod fmbe;
mod limits;
mod paper;
mod promises;
mod support;
mod unbiased;
