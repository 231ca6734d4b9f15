//! Keyword spotting: from a microphone's samples to words with their probabilities.
//!
//! ```text
//! samples → Features → Detector: is it a word? → EncoderState → query → Classifier, ten times a second → mean → Event
//!           10 ms      energy against noise       streaming, int8           thousands of words
//! ```
//!
//! [`Spotter`] joins all parts. They are public, for programs that already have some of them. Nothing allocates, and
//! nothing panics. `guide::keyword_spotting` states the cost of each part and explains how to train for other words.
//!
//! All floats are computed in one order, by libm and without fused operations: events and the bits of every answer are
//! the same on a host and on devices.

mod detector;
mod encoder;
mod features;
mod spotter;

pub use detector::{Detector, Moment};
pub use encoder::{Encoder, EncoderError, EncoderState};
pub use features::{BANDS, Features, Frame, HOP};
pub use spotter::{Decision, Event, OTHER, Spotter, TOP, Thresholds};

/// The number of samples a second.
pub const SAMPLE_RATE: u32 = 16_000;
