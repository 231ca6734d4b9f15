//! Spots keywords on the device: turns samples in blocks of 10 ms, as a microphone's DMA delivers them, into words with
//! probabilities.
//!
//! The clips, the encoder and the model of its words ship with the repository; `zhat demo keywords` runs the same on a
//! host. The instructions of features, encoder with detector, and output layer are counted separately.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;

use core::fmt;
use support::{entry, figure, mark, say};
use zhat::keywords::{Decision, Encoder, EncoderError, HOP, SAMPLE_RATE, Spotter};
use zhat::{Classifier, Error, Model, Names, include_model};

static MODEL: &[u8] = include_model!("../models/keywords/keywords.zhat");
static ENCODER: &[u8] = include_model!("../models/keywords/encoder.bin");
/// 16-bit mono, after a header of 44 bytes.
static CLIPS: &[u8] = include_model!("../models/keywords/clips.wav");
const WAV_HEADER: usize = 44;

/// The words that `zhat inspect` prints as enough for any query, and a little more.
const SCRATCH_WORDS: usize = 1024;
/// The instructions that a part at 64 MHz can run during a block of 10 ms.
const DEADLINE: u64 = 640_000;

entry!(run);

/// The instructions of the three steps.
#[derive(Default)]
struct Counts {
    features: u64,
    encoder: u64,
    output: u64,
    decisions: u64,
    worst_block: u64,
    worst_output: u64,
    /// The number of frames within words, during which the encoder is at work.
    frames_of_words: u64,
}

fn run() -> Result<(), Failure> {
    let model = Model::from_bytes(MODEL)?;
    let encoder = Encoder::from_bytes(ENCODER)?;
    let samples: &[i16] = CLIPS.get(WAV_HEADER..).and_then(|data| bytemuck::try_cast_slice(data).ok()).unwrap_or(&[]);
    support::paint();
    let mut spotter = Spotter::<SCRATCH_WORDS>::new(encoder, Classifier::new(model)?)?;
    let mut counts = Counts::default();
    let mut mixed = 0;
    for block in samples.chunks(HOP) {
        hear(&mut spotter, block, &mut counts, |decision| {
            mixed = mix(mixed, decision);
            report(model.names(), decision);
        })?;
    }
    say!("{} decisions, mixed {mixed:#010x}", counts.decisions);
    figures(&counts, samples.len() as u64);
    if counts.worst_block > DEADLINE { Err(Failure::Late(counts.worst_block)) } else { Ok(()) }
}

/// Runs one block through all three steps.
fn hear(
    spotter: &mut Spotter<'_, SCRATCH_WORDS>,
    block: &[i16],
    counts: &mut Counts,
    mut each: impl FnMut(&Decision),
) -> Result<(), Error> {
    let (mut rest, mut of_block) = (block, 0);
    while !rest.is_empty() {
        let ((frame, left), features) = support::instructions_of(|| spotter.sample(rest));
        rest = left;
        let (mut encoder, mut output) = (None, None);
        if let Some(frame) = frame {
            let due;
            (due, encoder) = support::instructions_of(|| spotter.listen(&frame));
            counts.frames_of_words += u64::from(spotter.is_listening());
            if due {
                let decision;
                (decision, output) = support::instructions_of(|| {
                    mark!(1);
                    let decision = spotter.decide();
                    mark!(0);
                    decision
                });
                if let Some(decision) = decision? {
                    counts.decisions += 1;
                    each(&decision);
                }
            }
        }
        let [features, encoder, output] = [features, encoder, output].map(|count| count.unwrap_or(0));
        counts.features += features;
        counts.encoder += encoder;
        counts.output += output;
        counts.worst_output = counts.worst_output.max(output);
        of_block += features + encoder + output;
    }
    counts.worst_block = counts.worst_block.max(of_block);
    Ok(())
}

/// Mixes the bits of an answer into those of all before.
fn mix(mixed: u32, decision: &Decision) -> u32 {
    let bits = |mixed: u32, bits: u32| mixed.rotate_left(5) ^ bits;
    let top = decision.prediction.top.iter();
    top.fold(bits(mixed, decision.prediction.log_z().to_bits()), |mixed, best| {
        bits(bits(mixed, best.class), best.p.to_bits())
    })
}

fn report(names: Option<&Names<'_>>, decision: &Decision) {
    let Some(event) = decision.event else { return };
    let word = names.and_then(|names| names.get(event.class as usize)).unwrap_or("?");
    let [begin, end, now] = [event.begin, event.end, decision.frame].map(|frame| frame * 10);
    match event.interval {
        Some((low, high)) => {
            say!("{begin:5} to {end:5} ms, at {now:5}: {:.3} ({low:.3} to {high:.3})  {word}", event.p)
        }
        None => say!("{begin:5} to {end:5} ms, at {now:5}: {:.3} (not like the calibration)  {word}", event.p),
    }
}

fn figures(counts: &Counts, samples: u64) {
    let Some(stack) = support::deepest() else { return };
    let rate = u64::from(SAMPLE_RATE);
    let per_second = |count: u64| count * rate / samples.max(1);
    // Features run all the time, the rest only within words: the most expensive second is all words.
    let within = |count: u64| count * 100 / counts.frames_of_words.max(1);
    let [features, encoder, output] = [counts.features, counts.encoder, counts.output].map(per_second);
    figure!("instructions a second of these clips: features {features}, encoder {encoder}, output layer {output}");
    let (encoder, output) = (within(counts.encoder), within(counts.output));
    figure!(
        "instructions a second of speech: features {features}, encoder {encoder}, output layer {output}, all {}",
        features + encoder + output
    );
    let mean = counts.output / counts.decisions.max(1);
    figure!("a decision of the output layer: {mean} instructions, {} at most", counts.worst_output);
    figure!(
        "worst block of 10 ms: {} instructions, {} % of {DEADLINE}",
        counts.worst_block,
        counts.worst_block * 100 / DEADLINE
    );
    figure!("RAM: {} bytes, of them {} the spotter's; {stack} of stack with it", stack, Spotter::<SCRATCH_WORDS>::RAM);
    if let Some(sizes) = support::sizes() {
        figure!("flash: {} bytes, without the clips {}; code {}", sizes.flash, sizes.flash - CLIPS.len(), sizes.code);
    }
}

/// The reason why the program fails.
enum Failure {
    Model(Error),
    Encoder(EncoderError),
    Late(u64),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Model(error)
    }
}

impl From<EncoderError> for Failure {
    fn from(error: EncoderError) -> Self {
        Self::Encoder(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Encoder(error) => error.fmt(f),
            Self::Late(most) => write!(f, "a block took {most} instructions, above the deadline of {DEADLINE}"),
        }
    }
}
