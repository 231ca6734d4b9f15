//! The part of the Python package that is Rust: `zhat._zhat`. Users see lib/zhat, which calls it with arrays in C order.

#[allow(dead_code)]
#[path = "../../src/bin/zhat/main.rs"]
mod cli;

mod build;
mod error;
mod evaluate;
mod model;
mod network;
mod queries;
mod sample;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

#[pymodule]
fn _zhat(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(model::load, module)?)?;
    module.add_function(wrap_pyfunction!(model::from_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(build::build, module)?)?;
    module.add_function(wrap_pyfunction!(network::read_layer, module)?)?;
    module.add_function(wrap_pyfunction!(network::run_network, module)?)?;
    module.add_function(wrap_pyfunction!(network::difference, module)?)
}

/// Runs the `zhat` command with these arguments, the first of them its name, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| cli::run(arguments))
}
