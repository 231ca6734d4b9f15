//! `zhat demo keywords`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use zhat::host::plots::{self, Spoken};
use zhat::keywords::{BANDS, Encoder, Features, HOP, SAMPLE_RATE, Spotter};
use zhat::{Classifier, Model, include_model};

use super::output::{Table, count, expect_plot, percent, print, print_json};
use super::{Failure, Outcome, wav};

/// Hear words: the keyword spotter of the device, on a WAV file or on the clips that ship with zhat
///
/// It is the code of `examples/keywords`, block by block as a microphone gives samples. Files of other rates than 16 kHz
/// are resampled, several channels are mixed.
#[derive(Args)]
#[command(after_help = "Example:
  zhat demo keywords
  zhat demo keywords word.wav --plot word.svg")]
pub struct Keywords {
    /// WAV files, each heard by itself, instead of the clips
    files: Vec<PathBuf>,
    /// Draw the spectrogram of the only file, with words and p over time
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The p from which on a word is an event, instead of the stored one
    #[arg(long, value_name = "P")]
    threshold: Option<f32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

static MODEL: &[u8] = include_model!("../../models/keywords/keywords.zhat");
static ENCODER: &[u8] = include_model!("../../models/keywords/encoder.bin");
static CLIPS: &[u8] = include_model!("../../models/keywords/clips.wav");
/// What the clips are called.
const CLIPS_NAME: &str = "the clips that ship";
/// Bytes of their header.
const WAV_HEADER: usize = 44;
/// Words of memory for the search.
const SCRATCH_WORDS: usize = 1024;

#[derive(Serialize)]
struct Report {
    threshold: f32,
    files: Vec<Heard>,
}

/// What was heard in a file.
#[derive(Serialize)]
struct Heard {
    file: String,
    seconds: f32,
    decisions: usize,
    events: Vec<Word>,
    #[serde(skip)]
    certainties: Vec<(f32, f32)>,
}

/// An event, in seconds and words.
#[derive(Serialize)]
struct Word {
    begin: f32,
    end: f32,
    word: String,
    class: u32,
    p: f32,
    low: Option<f32>,
    high: Option<f32>,
}

impl Keywords {
    pub fn run(&self) -> Outcome {
        expect_plot(self.plot.as_ref())?;
        if self.plot.is_some() && self.files.len() > 1 {
            return Err(Failure::Usage("--plot draws one file".into()));
        }
        if self.threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold)) {
            return Err(Failure::Usage("--threshold is a probability, from 0 to 1".into()));
        }
        let model = Model::from_bytes(MODEL)?;
        let encoder = Encoder::from_bytes(ENCODER)?;
        let threshold = self.threshold.unwrap_or(encoder.thresholds().p);
        let mut files = Vec::new();
        for path in self.files.iter().map(Some).chain(self.files.is_empty().then_some(None)) {
            let samples = path.map_or_else(|| Ok(clips()), |path| wav::read(path))?;
            let spotter = Spotter::new(encoder, Classifier::new(model)?)?.with_threshold(threshold);
            let name = path.map_or(CLIPS_NAME.into(), |path| path.display().to_string());
            let heard = hear(spotter, &model, name, &samples)?;
            if let Some(plot) = &self.plot {
                draw(plot, &heard, &samples)?;
            }
            files.push(heard);
        }
        let report = Report { threshold, files };
        if self.json { print_json(&report) } else { print(&text(&report, &model, &encoder)) }
    }
}

fn clips() -> Vec<i16> {
    let (samples, _) = CLIPS.get(WAV_HEADER..).unwrap_or(&[]).as_chunks();
    samples.iter().map(|&sample| i16::from_le_bytes(sample)).collect()
}

/// The frames of a spotter count 10 ms each.
fn seconds(frame: u32) -> f32 {
    frame as f32 * HOP as f32 / SAMPLE_RATE as f32
}

fn hear(mut spotter: Spotter<'_, SCRATCH_WORDS>, model: &Model<'_>, file: String, samples: &[i16]) -> Outcome<Heard> {
    let seconds_of_file = samples.len() as f32 / SAMPLE_RATE as f32;
    let mut heard = Heard { file, seconds: seconds_of_file, decisions: 0, events: Vec::new(), certainties: Vec::new() };
    for block in samples.chunks(HOP) {
        spotter.hear(block, |decision| {
            heard.decisions += 1;
            let best = decision.prediction.top.first().map_or(0.0, |best| best.p);
            heard.certainties.push((seconds(decision.frame), best));
            if let Some(event) = decision.event {
                let name = model.names().and_then(|names| names.get(event.class as usize));
                let word = name.map_or_else(|| format!("class {}", event.class), str::to_owned);
                let (begin, end) = (seconds(event.begin), seconds(event.end));
                let (low, high) = event.interval.unzip();
                heard.events.push(Word { begin, end, word, class: event.class, p: event.p, low, high });
            }
        })?;
    }
    Ok(heard)
}

fn text(report: &Report, model: &Model<'_>, encoder: &Encoder<'_>) -> String {
    let mut text = String::new();
    for heard in &report.files {
        let _ = writeln!(text, "{}, {:.2} s, {} decisions", heard.file, heard.seconds, heard.decisions);
        if heard.events.is_empty() {
            text += "  no word\n";
            continue;
        }
        let mut table = Table::new(&["  word", "from, s", "to", "p", "95 % interval"]);
        for event in &heard.events {
            table.row(vec![
                format!("  {}", event.word),
                format!("{:.2}", event.begin),
                format!("{:.2}", event.end),
                format!("{:.3}", event.p),
                event.low.zip(event.high).map_or("–".into(), |(low, high)| format!("{low:.3} to {high:.3}")),
            ]);
        }
        text += &table.render();
    }
    let stored = encoder.thresholds();
    let _ = write!(text, "{} classes; events from p = {:.2} on", count(model.classes() as u64), report.threshold);
    if stored.p == report.threshold {
        let (accepts, rejects) = (percent(stored.false_accepts), percent(stored.false_rejects));
        let _ = write!(
            text,
            ", where {accepts} of other words pass for one of these and {rejects} of the words are missed"
        );
    }
    text + "\n"
}

fn draw(path: &Path, heard: &Heard, samples: &[i16]) -> Outcome {
    let mut features = Features::new();
    let mut frames: Vec<[f32; BANDS]> = Vec::new();
    for block in samples.chunks(HOP) {
        let mut rest = block;
        while !rest.is_empty() {
            let frame;
            (frame, rest) = features.push(rest);
            frames.extend(frame.map(|frame| frame.bands));
        }
    }
    let words: Vec<Spoken> = heard
        .events
        .iter()
        .map(|event| Spoken { begin: event.begin, end: event.end, text: format!("{} {:.2}", event.word, event.p) })
        .collect();
    let about = format!("{}, {:.2} s", heard.file, heard.seconds);
    Ok(plots::spectrogram(path, &about, &frames, &heard.certainties, &words)?)
}
