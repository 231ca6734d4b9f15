//! Plots in SVG and PNG: error against work, the cumulative distribution of p, reliability, growth.
//!
//! Feature `cli`.
//!
//! The legend is beside the plot, so that it never covers a point. An estimator has the same colour in every plot. The
//! font is part of the program.

mod curves;
mod parts;
#[cfg(feature = "keywords")]
mod spectrogram;

use core::fmt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::{
    BitMapBackend, DrawingArea, DrawingBackend, IntoDrawingArea, RGBColor, SVGBackend, Text, WHITE,
};
use plotters::style::{FontStyle, register_font};

pub use curves::{Line, cumulative, cumulative_shares, error_against_work, growth, reliability};
#[cfg(feature = "keywords")]
pub use spectrogram::{Spoken, spectrogram};

use crate::host::input::write_atomically;

const SIZE: (u32, u32) = (1040, 640);
const FONT: &str = "sans-serif";
/// The x coordinate of the axis, which leaves room for its labels.
const LEFT: i32 = 100;
/// The thin lines of a mesh.
const THIN: RGBColor = RGBColor(240, 240, 240);

/// Says why a plot could not be drawn.
///
/// ```
/// let error = zhat::host::report::plots::cumulative("a.pdf".as_ref(), "", &[]).unwrap_err();
/// assert_eq!(error.to_string(), "a.pdf: plots are .svg or .png");
/// ```
#[derive(Debug)]
pub struct PlotError {
    path: PathBuf,
    why: String,
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl core::error::Error for PlotError {}

/// Checks that the file name has the extension of a plot.
///
/// # Errors
/// A text with the supported extensions.
pub fn expect_format(path: &Path) -> Result<(), String> {
    match extension(path).as_str() {
        "svg" | "png" => Ok(()),
        _ => Err(format!("{}: plots are .svg or .png", path.display())),
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// A plot that can be drawn on either kind of canvas.
trait Figure {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String>;
}

/// Draws a figure to a file, in one step.
fn save(path: &Path, figure: &impl Figure) -> Result<(), PlotError> {
    let fail = |why: String| PlotError { path: path.to_owned(), why };
    expect_format(path).map_err(|_| fail("plots are .svg or .png".into()))?;
    register();
    let bytes = if extension(path) == "svg" { svg(figure) } else { png(figure) }.map_err(fail)?;
    write_atomically(path, &bytes).map_err(|error| PlotError { path: PathBuf::new(), why: error.to_string() })
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Registering cannot fail: the font is part of the program and valid.
        let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    });
}

fn svg(figure: &impl Figure) -> Result<Vec<u8>, String> {
    let mut text = String::new();
    finish(figure, SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
    Ok(text.into_bytes())
}

fn png(figure: &impl Figure) -> Result<Vec<u8>, String> {
    // The backend can only encode to a file.
    let file = tempfile::Builder::new().suffix(".png").tempfile().map_err(|error| error.to_string())?;
    finish(figure, BitMapBackend::new(file.path(), SIZE).into_drawing_area())?;
    std::fs::read(file.path()).map_err(|error| error.to_string())
}

fn finish<B: DrawingBackend>(figure: &impl Figure, area: DrawingArea<B, Shift>) -> Result<(), String> {
    area.fill(&WHITE).map_err(text)?;
    figure.draw(&area)?;
    area.present().map_err(text)
}

/// Writes the title and the subtitle of a figure, and returns the remaining area.
fn titled<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    about: &str,
) -> Result<DrawingArea<B, Shift>, String> {
    /// The number of characters that are sure to fit.
    const FIT: usize = 110;
    let (above, below) = area.split_vertically(66);
    let cut = about.char_indices().nth(FIT).map(|(at, _)| format!("{}…", &about[..at]));
    above.draw(&Text::new(title.to_owned(), (LEFT, 14), (FONT, 22))).map_err(text)?;
    above.draw(&Text::new(cut.unwrap_or_else(|| about.into()), (LEFT, 44), (FONT, 15))).map_err(text)?;
    Ok(below)
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plot_is_drawn_in_both_formats() {
        let directory = tempfile::tempdir().unwrap();
        let lines = [
            Line { name: "moments".into(), points: vec![(0.01, 0.06), (0.02, 0.03), (0.04, 0.0)] },
            Line { name: "uniform".into(), points: vec![(0.01, 1e9)] },
        ];
        for name in ["a.svg", "a.png"] {
            let path = directory.path().join(name);
            error_against_work(&path, "m.zhat, 9 queries", &lines).unwrap();
            reliability(&path, "m.zhat, 9 queries", &[("moments", vec![(0.1, 0.2, 0.5), (0.9, 0.8, 0.5)])]).unwrap();
            cumulative(&path, "m.zhat, 9 queries", &[("query 0".into(), vec![0.5, 0.8, 1.0])]).unwrap();
            #[cfg(feature = "keywords")]
            spectrogram(
                &path.with_file_name(format!("sound-{name}")),
                "m.wav",
                &[[1.0; 40], [2.0; 40]],
                &[(0.0, 0.5)],
                &[],
            )
            .unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() > 1000);
        }
        let svg = std::fs::read_to_string(directory.path().join("a.svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("query 0") && svg.contains("m.zhat, 9 queries"));
        let error = cumulative(&directory.path().join("a.pdf"), "", &[]).unwrap_err();
        assert!(error.to_string().ends_with("a.pdf: plots are .svg or .png"));
    }
}
