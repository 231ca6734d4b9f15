//! Whether a probability of 70 % is right 70 % of the time.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, Circle, DrawingArea, DrawingBackend, LineSeries, RGBColor};
use plotters::style::Color;

use super::axis::percent;
use super::colours::colours;
use super::legend::{self, Entry, Mark};
use super::{FONT, Figure, LEFT, PlotError, THIN, save, text, titled};

const IDEAL: RGBColor = RGBColor(190, 190, 190);
const SIZES: RGBColor = RGBColor(70, 70, 70);

/// A curve: its name, and (confidence, accuracy, share of the queries) for each bin.
type Curve<'a> = (&'a str, Vec<(f32, f32, f32)>);

/// Draws the curves; a point is the larger the more queries it stands for. `about` says of what they are.
///
/// ```
/// use zhat::host::plots::reliability;
///
/// let folder = tempfile::tempdir()?;
/// reliability(&folder.path().join("r.svg"), "m.zhat, 9 queries", &[("moments", vec![(0.1, 0.2, 0.5), (0.9, 0.8, 0.5)])])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn reliability(path: &Path, about: &str, curves: &[Curve<'_>]) -> Result<(), PlotError> {
    save(path, &Plot { about, curves })
}

/// The radius of a point that stands for this share of the queries.
fn radius(share: f32) -> i32 {
    2 + (share.sqrt() * 14.0) as i32
}

struct Plot<'a> {
    about: &'a str,
    curves: &'a [Curve<'a>],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let area = titled(area, "Reliability", self.about)?;
        let colours = colours(self.curves.iter().map(|(name, _)| *name));
        let entries =
            self.curves.iter().zip(&colours).map(|((name, _), &colour)| Entry::new(Mark::Dots, *name, colour));
        let mut entries: Vec<Entry> = entries.collect();
        entries.push(Entry::new(Mark::Line, "calibrated", IDEAL));
        entries.extend(
            [0.01, 0.1, 0.5].map(|share| {
                Entry::new(Mark::Dot(radius(share)), format!("{} of the queries", percent(&share)), SIZES)
            }),
        );
        let area = legend::beside(&area, &entries)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .margin_top(0)
            .x_label_area_size(52)
            .y_label_area_size(LEFT - 16)
            .build_cartesian_2d(-0.02f32..1.02, -0.02f32..1.02)
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("p of the best class")
            .y_desc("share of queries whose best class is the label")
            .x_label_formatter(&percent)
            .max_light_lines(2)
            .y_label_formatter(&percent)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(THIN)
            .draw()
            .map_err(text)?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], IDEAL.stroke_width(1))).map_err(text)?;
        for ((_, points), colour) in self.curves.iter().zip(&colours) {
            let line = points.iter().map(|&(confidence, accuracy, _)| (confidence, accuracy));
            chart.draw_series(LineSeries::new(line, colour.stroke_width(2))).map_err(text)?;
            let dot = |&(confidence, accuracy, share): &(f32, f32, f32)| {
                Circle::new((confidence, accuracy), radius(share), colour.mix(0.75).filled())
            };
            chart.draw_series(points.iter().map(dot)).map_err(text)?;
        }
        Ok(())
    }
}
