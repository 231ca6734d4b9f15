//! A log-bilinear language model and its trainer: from text to an output layer with real queries.
//!
//! Text ([`read_text`]) gives a [`Vocabulary`] and [`Tokens`]; a [`Trainer`] makes a [`LogBilinear`]
//! model of them by one of three [`Objective`]s; [`evaluate()`] gives its exact perplexity; its rows,
//! bias and [`LogBilinear::queries`] are what an estimator of Z is tested on.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use zhat::host::lm::{Settings, Tokens, Trainer, Vocabulary, evaluate};
//!
//! let text = "the cat sat on the mat\nthe dog sat on the rug\n".repeat(50);
//! let vocabulary = Vocabulary::from_text(&text, None)?;
//! let tokens = Tokens::new(&text, &vocabulary)?;
//! let settings = Settings {
//!     dimension: 8,
//!     context: 3,
//!     batch: 16,
//!     learning_rate: 0.02,
//!     ..Settings::default()
//! };
//! let mut trainer = Trainer::new(settings, vocabulary.clone(), &tokens)?;
//! trainer.run(&tokens, &tokens, &AtomicBool::new(false), &mut |_, progress| {
//!     println!("{} of {}: {:.1}", progress.step, progress.steps, progress.perplexity);
//! })?;
//! let model = trainer.best();
//! assert!(evaluate(&model, &tokens)?.perplexity < 2.0);
//!
//! let queries = model.queries(&model.context(&vocabulary, "the dog sat"))?;
//! let scores = model.scores(queries.row(0))?;
//! let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
//! assert_eq!(vocabulary.words()[best], "on");
//! # Ok::<(), zhat::host::lm::Error>(())
//! ```

mod adam;
mod alias;
mod batch;
mod checkpoint;
mod contrast;
mod dense;
mod error;
mod evaluate;
mod export;
mod model;
mod random;
mod sample;
mod settings;
mod shape;
mod softmax;
mod step;
mod summary;
mod text;
mod train;
mod vocabulary;

#[cfg(test)]
mod contrast_tests;
#[cfg(test)]
mod gradient_tests;

pub use error::Error;
pub use evaluate::{Evaluation, evaluate};
pub use export::write_array;
pub use model::LogBilinear;
pub use sample::Sample;
pub use settings::{Objective, Settings};
pub use shape::{Shape, Tying};
pub use summary::Summary;
pub use text::{Tokens, read_text};
pub use train::{Outcome, Progress, Stage, Trainer};
pub use vocabulary::{END, UNKNOWN, Vocabulary};
