//! What runs on a host only: from a weight matrix to a model file, and the evidence about it.
//!
//! | module | what is there |
//! |---|---|
//! | [`io`] | readers of arrays, word vectors, labels and names; files written all or not at all |
//! | [`import`] | the output layer of an ONNX or TensorFlow Lite network |
//! | [`make`] | everything at once, as `zhat build` does it: splits queries, meets limits, names classes, reports |
//! | [`build`] | the builder itself: quantises, clusters, predicts, links, tunes, measures intervals |
//! | [`evaluate`] | every estimator against the exact answer and the float layer |
//! | `plots` | pictures of what was evaluated (feature `cli`) |
//! | [`describe`], [`cost`], [`export`] | a model in words and numbers, what it costs on a device, and as a Rust module |
//!
//! ```
//! use zhat::host::evaluate::{Evaluation, FloatLayer, Options};
//! use zhat::host::make::{Request, make};
//! use zhat::host::{Kind, Layer};
//!
//! // A made-up layer; `io` and `import` read real ones.
//! let Layer { weights, biases, .. } = &Layer::generate(400, 8, 1);
//! # let layer = Layer::generate(400, 8, 1);
//! let (calibration, test) = (layer.queries(Kind::Classifier, 200, 2), layer.queries(Kind::Classifier, 50, 3));
//!
//! let request = Request { queries: Some(&calibration), ..Request::new(weights, biases) };
//! let made = make(&request, &mut |_| {})?;
//! let float = FloatLayer { weights, biases, temperature: 1.0 };
//! let report = Evaluation::run(&made.model.model(), Some(float), &test, &Options::default())?.report;
//! println!("{:?}", report.of("exact").and_then(|exact| exact.dp_mean));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// What is hidden is what the command is made of: outside of semantic versioning, as `internal` is.

pub mod build;
mod compensation;
pub mod cost;
pub mod describe;
mod doc_example;
mod error;
pub mod evaluate;
pub mod export;
mod fmbe;
mod four_bit;
mod generate;
mod grid;
pub mod import;
pub mod io;
mod linear;
pub mod make;
mod matrix;
mod measure;
#[cfg(feature = "cli")]
pub mod plots;
mod quantise;
mod temperature;
#[doc(hidden)]
pub mod warnings;

pub use compensation::Compensation;
// For `zhat::internal`.
#[doc(hidden)]
pub use build::hierarchy::Hierarchy;
#[doc(hidden)]
pub use doc_example::{doc_example, doc_file};
#[cfg(feature = "keywords")]
#[doc(hidden)]
pub use doc_example::{doc_sound, doc_spotter};
pub use error::BuildError;
pub use fmbe::with_fmbe;
pub use generate::{Kind, Layer};
#[doc(hidden)]
pub use linear::product;
#[doc(hidden)]
pub use measure::{counts_of, cycles_of};
pub use matrix::Matrix;
pub use quantise::{QuantisedRows, flat_model};
pub use temperature::fit_temperature;
