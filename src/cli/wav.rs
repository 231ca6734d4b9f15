//! WAV files as a microphone would have given them: 16 kHz, one channel, 16 bits.

use std::f64::consts::PI;
use std::path::Path;

use hound::{SampleFormat, WavReader};
use zhat::keywords::SAMPLE_RATE;

use super::{Failure, Outcome};

/// Rates that are taken, in Hz.
const RATES: std::ops::RangeInclusive<u32> = 4_000..=192_000;
/// Zeros of the resampling filter on each side.
const ZEROS: f64 = 24.0;
/// The part of the smaller band that is kept.
const BAND: f64 = 0.95;
/// More than this is no file to try words on: an hour.
const MOST_SECONDS: u32 = 3_600;

/// The samples of a file, mixed to one channel and brought to 16 kHz.
pub fn read(path: &Path) -> Outcome<Vec<i16>> {
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

/// At 16 kHz, through a windowed sinc of linear phase.
fn resampled(sound: Vec<f64>, rate: u32) -> Vec<f64> {
    if rate == SAMPLE_RATE {
        return sound;
    }
    let (from, to) = (f64::from(rate), f64::from(SAMPLE_RATE));
    // Of the rate of the file: no frequency that one of the two rates lacks.
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
mod tests {
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
