//! The host's part: makes a model file of a weight matrix, and the evidence about it.
//!
//! | module | content |
//! |---|---|
//! | [`input`] | readers of arrays, word vectors, labels and names; [`input::network`]: the output layer of an ONNX or TensorFlow Lite network |
//! | [`make`] | everything at once, as `zhat build` does it: splits queries, meets limits, names classes, reports |
//! | [`build`] | the builder itself: quantises, clusters, predicts, links, tunes, measures intervals |
//! | [`evaluate`] | every estimator against the exact answer and the float layer |
//! | [`label`] | what is true of the label: sets of classes that hold it, and how often they do |
//! | [`report`] | a model in words and numbers, its cost on a device, pictures, warnings, and a model as a Rust module |
//!
//! ```
//! use zhat::host::evaluate::{Evaluation, FloatLayer, Options};
//! use zhat::host::make::{Request, make};
//! use zhat::host::{Kind, Layer};
//!
//! // A made-up layer; `input` reads real ones.
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

pub mod build;
mod compensation;
mod doc_example;
mod error;
pub mod evaluate;
mod fmbe;
mod four_bit;
mod generate;
mod grid;
pub mod input;
pub mod label;
mod linear;
pub mod make;
mod matrix;
mod measure;
mod quantise;
pub mod report;
mod spectrum;
mod temperature;

pub use compensation::Compensation;
// For `zhat::internal`.
#[doc(hidden)]
pub use build::Hierarchy;
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
pub use matrix::Matrix;
#[doc(hidden)]
pub use measure::{counts_of, cycles_of};
pub use quantise::{QuantisedRows, flat_model};
pub use temperature::fit_temperature;
