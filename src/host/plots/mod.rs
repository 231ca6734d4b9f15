//! Plots as SVG and PNG: error against work, the cumulative distribution of p, reliability.
//!
//! The legend stands beside the plot, not in it, so that it never covers a point. The font comes with the program.

mod cumulative;
mod error_against_work;
mod growth;
mod legend;
mod reliability;

use core::fmt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::{BitMapBackend, DrawingArea, DrawingBackend, IntoDrawingArea, RGBColor, SVGBackend, WHITE};
use plotters::style::{FontStyle, register_font};

pub use cumulative::cumulative;
pub use error_against_work::{Line, error_against_work};
pub use growth::growth;
pub use reliability::reliability;

use crate::host::io::write_atomically;

const SIZE: (u32, u32) = (1040, 620);
const FONT: &str = "sans-serif";

/// Why there is no plot.
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

/// Whether the name is one of a plot.
///
/// # Errors
/// What names can be drawn to.
pub fn expect_format(path: &Path) -> Result<(), String> {
    match extension(path).as_str() {
        "svg" | "png" => Ok(()),
        _ => Err(format!("{}: plots are .svg or .png", path.display())),
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Something that can be drawn on either kind of canvas.
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
        // The file is part of the program: it is a font.
        let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    });
}

fn svg(figure: &impl Figure) -> Result<Vec<u8>, String> {
    let mut text = String::new();
    finish(figure, SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
    Ok(text.into_bytes())
}

fn png(figure: &impl Figure) -> Result<Vec<u8>, String> {
    // The backend encodes to a file only.
    let file = tempfile::Builder::new().suffix(".png").tempfile().map_err(|error| error.to_string())?;
    finish(figure, BitMapBackend::new(file.path(), SIZE).into_drawing_area())?;
    std::fs::read(file.path()).map_err(|error| error.to_string())
}

fn finish<B: DrawingBackend>(figure: &impl Figure, area: DrawingArea<B, Shift>) -> Result<(), String> {
    area.fill(&WHITE).map_err(text)?;
    figure.draw(&area)?;
    area.present().map_err(text)
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// Colours that are told apart by the colour-blind too (Okabe and Ito), and two more.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 240),
    RGBColor(110, 110, 110),
    RGBColor(0, 0, 0),
];

fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// A share as a tick says it.
fn percent(share: &f32) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        return "0 %".into();
    }
    let digits = (-(percent.abs().log10() + 1e-3).floor()).max(0.0) as usize;
    format!("{percent:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_per_cent_without_needless_digits() {
        let ticks = [1.0, 0.1, 0.01, 0.001, 0.0001, 0.025, 0.0];
        let shown = ticks.map(|tick| percent(&tick));
        assert_eq!(shown, ["100 %", "10 %", "1 %", "0.1 %", "0.01 %", "2 %", "0 %"]);
    }

    #[test]
    fn every_plot_is_drawn_in_both_formats() {
        let directory = tempfile::tempdir().unwrap();
        let lines = [
            Line { name: "moments".into(), points: vec![(0.01, 0.06), (0.02, 0.03), (0.04, 0.0)] },
            Line { name: "uniform".into(), points: vec![(0.01, 1e9)] },
        ];
        for name in ["a.svg", "a.png"] {
            let path = directory.path().join(name);
            error_against_work(&path, &lines).unwrap();
            reliability(&path, &[("moments", vec![(0.1, 0.2, 0.5), (0.9, 0.8, 0.5)])]).unwrap();
            cumulative(&path, &[("query 0".into(), vec![0.5, 0.8, 1.0])]).unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() > 1000);
        }
        let svg = std::fs::read_to_string(directory.path().join("a.svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("query 0"));
        let error = cumulative(&directory.path().join("a.pdf"), &[]).unwrap_err();
        assert!(error.to_string().ends_with("a.pdf: plots are .svg or .png"));
    }
}
