//! Whether a probability of 70 % is right 70 % of the time.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, Circle, DrawingArea, DrawingBackend, LineSeries, RGBColor};
use plotters::style::Color;

use super::legend::{self, Entry};
use super::{FONT, Figure, PlotError, colour, percent, save, text};

const IDEAL: RGBColor = RGBColor(150, 150, 150);

/// A curve: its name, and (confidence, accuracy, share of the queries) for each bin.
type Curve<'a> = (&'a str, Vec<(f32, f32, f32)>);

/// Draws the curves; a point is the larger the more queries it stands for.
///
/// # Errors
/// [`PlotError`].
pub fn reliability(path: &Path, curves: &[Curve<'_>]) -> Result<(), PlotError> {
    save(path, &Plot { curves })
}

struct Plot<'a> {
    curves: &'a [Curve<'a>],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let mut entries: Vec<Entry> =
            self.curves.iter().enumerate().map(|(i, (name, _))| Entry::line(name, colour(i))).collect();
        entries.push(Entry::line("calibrated", IDEAL));
        let area = legend::beside(area, &entries)?;
        let mut chart = ChartBuilder::on(&area)
            .caption("Reliability", (FONT, 22))
            .margin(16)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d(0.0f32..1.0, 0.0f32..1.0)
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
            .light_line_style(RGBColor(240, 240, 240))
            .draw()
            .map_err(text)?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], IDEAL.stroke_width(1))).map_err(text)?;
        for (i, (_, points)) in self.curves.iter().enumerate() {
            let line = points.iter().map(|&(confidence, accuracy, _)| (confidence, accuracy));
            chart.draw_series(LineSeries::new(line, colour(i).stroke_width(2))).map_err(text)?;
            let dot = |&(confidence, accuracy, share): &(f32, f32, f32)| {
                Circle::new((confidence, accuracy), 2 + (share.sqrt() * 14.0) as i32, colour(i).filled())
            };
            chart.draw_series(points.iter().map(dot)).map_err(text)?;
        }
        Ok(())
    }
}
