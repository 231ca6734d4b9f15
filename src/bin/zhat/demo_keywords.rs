//! `zhat demo keywords`.

use std::f64::consts::PI;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use hound::{SampleFormat, WavReader};
use serde::Serialize;
use zhat::{Classifier, Model, include_model};

use zhat::host::report::plots::{self, Spoken};
use zhat::keywords::{BANDS, Encoder, Features, HOP, SAMPLE_RATE, Spotter};

use super::inputs;
use super::output::{Table, count, expect_plot, percent, print, print_json};
use super::{Failure, Outcome};

/// Recognise words: the keyword spotter of the device, on a WAV file or on the clips that ship with zhat
///
/// Runs the code of `examples/keywords`, block by block as a microphone delivers samples. Files with other rates than
/// 16 kHz are resampled, and several channels are mixed.
#[derive(Args)]
#[command(after_help = "Example:
  zhat demo keywords
  zhat demo keywords word.wav --plot word.svg
  zhat demo keywords word.wav --model ten/keywords.zhat --encoder ten/encoder.bin")]
pub struct Keywords {
    /// WAV files, each processed on its own, instead of the clips
    files: Vec<PathBuf>,
    /// Draw the spectrogram of the only file, with words and p over time
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The smallest p of an event, instead of the stored threshold
    #[arg(long, value_name = "P")]
    threshold: Option<f32>,
    /// A model file of other words or of fewer, instead of the one that ships
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// The encoder that the model is for, instead of the one that ships
    #[arg(long, value_name = "FILE")]
    encoder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

static MODEL: &[u8] = include_model!("../../../models/keywords/keywords.zhat");
static ENCODER: &[u8] = include_model!("../../../models/keywords/encoder.bin");
static CLIPS: &[u8] = include_model!("../../../models/keywords/clips.wav");
/// The name of the clips in reports.
const CLIPS_NAME: &str = "the clips that ship";
/// The bytes of their header.
const WAV_HEADER: usize = 44;
/// The words of memory for the search.
const SCRATCH_WORDS: usize = 1024;

#[derive(Serialize)]
struct Report {
    threshold: f32,
    files: Vec<Heard>,
}

/// The words recognised in a file.
#[derive(Serialize)]
struct Heard {
    file: String,
    seconds: f32,
    decisions: usize,
    events: Vec<Word>,
    #[serde(skip)]
    certainties: Vec<(f32, f32)>,
}

/// An event, with times in seconds and the word as text.
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
        let file = self.model.as_deref().map(inputs::model).transpose()?;
        let model = file.as_ref().map_or_else(|| Model::from_bytes(MODEL), |file| Ok(file.model()))?;
        let file = self.encoder.as_deref().map(read_words).transpose()?;
        let encoder = Encoder::from_bytes(file.as_deref().map_or(ENCODER, bytemuck::cast_slice))?;
        let threshold = self.threshold.unwrap_or(encoder.thresholds().p);
        let mut files = Vec::new();
        for path in self.files.iter().map(Some).chain(self.files.is_empty().then_some(None)) {
            let samples = path.map_or_else(|| Ok(clips()), |path| read_wav(path))?;
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

/// The bytes of a file, aligned as words are.
fn read_words(path: &Path) -> Outcome<Vec<u32>> {
    let bytes = std::fs::read(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    let (words, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(Failure::Failed(format!(
            "{}: its length is no multiple of 4, so it is no encoder",
            path.display()
        )));
    }
    Ok(words.iter().map(|&word| u32::from_ne_bytes(word)).collect())
}

fn clips() -> Vec<i16> {
    let (samples, _) = CLIPS.get(WAV_HEADER..).unwrap_or(&[]).as_chunks();
    samples.iter().map(|&sample| i16::from_le_bytes(sample)).collect()
}

/// Converts a frame number of a spotter, 10 ms each, to seconds.
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

// WAV files, converted to a microphone's samples: 16 kHz, one channel, 16 bits.

/// The supported rates, in Hz.
const RATES: std::ops::RangeInclusive<u32> = 4_000..=192_000;
/// The zeros of the resampling filter on each side.
const ZEROS: f64 = 24.0;
/// The share of the narrower band that is kept.
const BAND: f64 = 0.95;
/// The longest file, an hour.
const MOST_SECONDS: u32 = 3_600;

/// Reads the samples of a file, mixed to one channel and resampled to 16 kHz.
fn read_wav(path: &Path) -> Outcome<Vec<i16>> {
    let fail = |why: String| Failure::Failed(format!("{}: {why}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| fail(error.to_string()))?;
    samples(std::io::BufReader::new(file)).map_err(fail)
}

fn samples(file: impl std::io::Read) -> Result<Vec<i16>, String> {
    let mut reader = WavReader::new(file).map_err(|error| format!("no WAV file that can be read: {error}"))?;
    let spec = reader.spec();
    if !RATES.contains(&spec.sample_rate) || spec.channels == 0 {
        return Err(format!("{} channels at {} Hz: a microphone's rate is expected", spec.channels, spec.sample_rate));
    }
    let promised = reader.duration();
    if promised == 0 {
        return Err("there are no samples in it".into());
    }
    if promised / spec.sample_rate > MOST_SECONDS {
        return Err("it is longer than an hour, or its header lies".into());
    }
    let values: Result<Vec<f64>, hound::Error> = match spec.sample_format {
        SampleFormat::Float => reader.samples::<f32>().map(|sample| sample.map(f64::from)).collect(),
        SampleFormat::Int => {
            let full = f64::from(1u32 << (spec.bits_per_sample.clamp(1, 32) - 1));
            reader.samples::<i32>().map(|sample| sample.map(|sample| f64::from(sample) / full)).collect()
        }
    };
    let values = values.map_err(|error| match error {
        hound::Error::IoError(_) => format!("it ends before the {promised} samples that its header promises"),
        other => other.to_string(),
    })?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err("a sample is no number".into());
    }
    let channels = usize::from(spec.channels);
    let mono: Vec<f64> = values.chunks(channels).map(|all| all.iter().sum::<f64>() / channels as f64).collect();
    let sound = resampled(mono, spec.sample_rate);
    Ok(sound.into_iter().map(|value| (value * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i16).collect())
}

/// Resamples to 16 kHz, by a windowed sinc of linear phase.
fn resampled(sound: Vec<f64>, rate: u32) -> Vec<f64> {
    if rate == SAMPLE_RATE {
        return sound;
    }
    let (from, to) = (f64::from(rate), f64::from(SAMPLE_RATE));
    // As a share of the file's rate: no frequency that one of the two rates cannot represent.
    let cutoff = BAND * (to / from).min(1.0);
    let reach = ZEROS / cutoff;
    let filter = |x: f64| {
        let hann = 0.5 + 0.5 * (PI * x / reach).cos();
        let sinc = if x == 0.0 { 1.0 } else { (PI * cutoff * x).sin() / (PI * cutoff * x) };
        cutoff * hann * sinc
    };
    let count = (sound.len() as f64 * to / from) as usize;
    let at = |n: usize| {
        let centre = n as f64 * from / to;
        let first = (centre - reach).ceil().max(0.0) as usize;
        let last = ((centre + reach).floor() as usize).min(sound.len() - 1);
        (first..=last).map(|i| sound[i] * filter(i as f64 - centre)).sum()
    };
    (0..count).map(at).collect()
}

#[cfg(test)]
mod wav_tests {
    use super::*;
    use hound::{WavSpec, WavWriter};
    use std::io::Cursor;

    fn file(spec: WavSpec, samples: &[i16]) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        let mut writer = WavWriter::new(&mut file, spec).unwrap();
        samples.iter().for_each(|&sample| writer.write_sample(sample).unwrap());
        writer.finalize().unwrap();
        file.into_inner()
    }

    fn spec(channels: u16, sample_rate: u32) -> WavSpec {
        WavSpec { channels, sample_rate, bits_per_sample: 16, sample_format: SampleFormat::Int }
    }

    fn tone(rate: u32, seconds: f64) -> Vec<i16> {
        let count = (f64::from(rate) * seconds) as usize;
        (0..count).map(|t| (9000.0 * (2.0 * PI * 440.0 * t as f64 / f64::from(rate)).sin()) as i16).collect()
    }

    #[test]
    fn every_rate_gives_the_same_sound() {
        let truth = tone(16_000, 0.5);
        assert_eq!(samples(&file(spec(1, 16_000), &truth)[..]).unwrap(), truth);
        for rate in [8_000, 11_025, 22_050, 44_100, 48_000] {
            let heard = samples(&file(spec(1, rate), &tone(rate, 0.5))[..]).unwrap();
            assert!(heard.len().abs_diff(truth.len()) <= 2);
            let inside = 500..7500;
            let worst = heard[inside.clone()].iter().zip(&truth[inside]).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(worst < Some(60), "{rate}: {worst:?}");
        }
    }

    #[test]
    fn channels_are_mixed() {
        let stereo: Vec<i16> = (0..100).flat_map(|t| [3 * t, t]).collect();
        let mono: Vec<i16> = (0..100).map(|t| 2 * t).collect();
        assert_eq!(samples(&file(spec(2, 16_000), &stereo)[..]).unwrap(), mono);
    }

    #[test]
    fn what_cannot_be_heard_is_refused_with_a_sentence() {
        let whole = file(spec(1, 16_000), &tone(16_000, 0.1));
        let refused = |bytes: &[u8]| samples(bytes).unwrap_err();
        assert!(refused(&whole[..whole.len() - 100]).contains("ends before the 1600 samples"));
        assert!(refused(&file(spec(1, 16_000), &[])).contains("no samples"));
        assert!(refused(b"no WAV file at all, but long enough to be one").contains("no WAV file"));
        assert!(refused(&[]).contains("no WAV file"));
        let mut endless = whole.clone();
        endless[40..44].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
        assert!(refused(&endless).contains("its header lies"));
        for len in 0..whole.len() {
            assert!(samples(&whole[..len]).is_err(), "{len} bytes");
        }
        for at in 0..60 {
            for value in [0, 1, 3, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = samples(&changed[..]);
            }
        }
    }
}
