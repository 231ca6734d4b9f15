//! Sound over time and frequency, with the recognised words above it and the best class's p below.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, Circle, DrawingArea, DrawingBackend, LineSeries, RGBColor, Rectangle, Text};
use plotters::style::Color;

use super::{FONT, Figure, LEFT, PlotError, THIN, save, text, titled};
use crate::keywords::{BANDS, HOP, SAMPLE_RATE};

/// The most columns that are drawn; longer sounds have several frames in each.
const COLUMNS: usize = 800;
/// The number of shades, and the nepers from the lightest to the darkest.
const SHADES: i32 = 24;
const RANGE: f32 = 12.0;
const WORD: RGBColor = RGBColor(200, 40, 30);
const LINE: RGBColor = RGBColor(30, 90, 170);
/// The gap in seconds from which on decisions belong to different words.
const SAME_WORD: f32 = 0.15;

/// A word with its beginning and its end, in seconds, for [`spectrogram`].
///
/// ```
/// let word = zhat::host::report::plots::Spoken { begin: 0.2, end: 0.7, text: "yes".into() };
/// ```
#[derive(Clone, Debug)]
pub struct Spoken {
    /// The second of its beginning.
    pub begin: f32,
    /// The second of its end.
    pub end: f32,
    /// The text above it.
    pub text: String,
}

/// Draws log-mel frames to a file, with the time in seconds and p of each decision, and the words. `about` is the
/// subtitle.
///
/// ```
/// use zhat::host::report::plots::{Spoken, spectrogram};
///
/// let folder = tempfile::tempdir()?;
/// let words = [Spoken { begin: 0.0, end: 0.02, text: "yes".into() }];
/// spectrogram(&folder.path().join("s.svg"), "m.wav", &[[1.0; 40], [2.0; 40]], &[(0.0, 0.5)], &words)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn spectrogram(
    path: &Path,
    about: &str,
    frames: &[[f32; BANDS]],
    certainties: &[(f32, f32)],
    words: &[Spoken],
) -> Result<(), PlotError> {
    save(path, &Plot { about, frames, certainties, words })
}

struct Plot<'a> {
    about: &'a str,
    frames: &'a [[f32; BANDS]],
    certainties: &'a [(f32, f32)],
    words: &'a [Spoken],
}

/// A stretch of time in which a band has the same shade.
struct Run {
    band: usize,
    from: f32,
    to: f32,
    shade: i32,
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        if self.frames.is_empty() {
            return Err("there is nothing to draw: it is shorter than a frame".into());
        }
        let area = titled(area, "Words heard", self.about)?;
        let (above, below) = area.split_vertically(380);
        let seconds = self.frames.len() as f32 * HOP as f32 / SAMPLE_RATE as f32;
        self.draw_sound(&above, seconds)?;
        self.draw_certainties(&below, seconds)
    }
}

impl Plot<'_> {
    fn draw_sound<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, seconds: f32) -> Result<(), String> {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .margin_top(0)
            .margin_bottom(4)
            .x_label_area_size(8)
            .y_label_area_size(LEFT - 16)
            .build_cartesian_2d(0.0..seconds, 0.0..BANDS as f32 + 8.0)
            .map_err(text)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .y_desc("mel band")
            .x_labels(0)
            .y_label_formatter(&|band| format!("{band:.0}"))
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .draw()
            .map_err(text)?;
        let runs = self.runs(seconds).into_iter().map(|run| {
            let part = 1.0 - run.shade as f32 / SHADES as f32;
            let grey = (255.0 * part) as u8;
            let corners = [(run.from, run.band as f32), (run.to, run.band as f32 + 1.0)];
            Rectangle::new(corners, RGBColor(grey, grey, 255 - (255 - grey) / 2).filled())
        });
        chart.draw_series(runs).map_err(text)?;
        // Names alternate between two lines, since words follow each other closely.
        for (i, word) in self.words.iter().enumerate() {
            let top = BANDS as f32 + 0.5;
            let bar = Rectangle::new([(word.begin, top), (word.end, top + 0.8)], WORD.filled());
            chart.draw_series([bar]).map_err(text)?;
            let name = Text::new(word.text.clone(), (word.begin, top + 3.0 + 3.0 * (i % 2) as f32), (FONT, 14));
            chart.draw_series([name]).map_err(text)?;
        }
        Ok(())
    }

    fn draw_certainties<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, seconds: f32) -> Result<(), String> {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .margin_top(0)
            .x_label_area_size(44)
            .y_label_area_size(LEFT - 16)
            .build_cartesian_2d(0.0..seconds, 0.0_f32..1.0)
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("seconds")
            .y_desc("p of the best class")
            .y_labels(5)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(THIN)
            .draw()
            .map_err(text)?;
        for word in self.certainties.chunk_by(|a, b| b.0 - a.0 < SAME_WORD) {
            chart.draw_series(LineSeries::new(word.to_vec(), LINE.stroke_width(2))).map_err(text)?;
            chart.draw_series(word.iter().map(|&point| Circle::new(point, 3, LINE.filled()))).map_err(text)?;
        }
        Ok(())
    }

    /// Computes the shades of all bands. Equal shades in a row become one rectangle: a file then has thousands, not
    /// hundreds of thousands.
    fn runs(&self, seconds: f32) -> Vec<Run> {
        let each = self.frames.len().div_ceil(COLUMNS);
        let columns: Vec<[f32; BANDS]> = self
            .frames
            .chunks(each)
            .map(|frames| core::array::from_fn(|b| frames.iter().map(|f| f[b]).sum::<f32>() / frames.len() as f32))
            .collect();
        let loudest = columns.iter().flatten().fold(f32::MIN, |most, &value| most.max(value));
        let shade = |value: f32| ((1.0 - (loudest - value) / RANGE).clamp(0.0, 1.0) * SHADES as f32) as i32;
        let at = |column: usize| (column * each) as f32 * seconds / self.frames.len() as f32;
        let mut runs = Vec::new();
        for band in 0..BANDS {
            let mut from = 0;
            for same in columns.chunk_by(|a, b| shade(a[band]) == shade(b[band])) {
                let (shade, to) = (shade(same[0][band]), from + same.len());
                if shade > 0 {
                    runs.push(Run { band, from: at(from), to: at(to).min(seconds), shade });
                }
                from = to;
            }
        }
        runs
    }
}
