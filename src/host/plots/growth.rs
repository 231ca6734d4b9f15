//! Work against the number of rows, both in logarithms, with a linear growth beside it.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, Circle, DrawingArea, DrawingBackend, IntoLogRange, LineSeries};
use plotters::style::Color;

use super::legend::{self, Entry};
use super::{FONT, Figure, PlotError, colour, save, text};
use plotters::style::RGBColor;

const LINEAR: RGBColor = RGBColor(150, 150, 150);

/// Draws (N, work) to a file; `name` says what the work is for.
///
/// # Errors
/// [`PlotError`].
pub fn growth(path: &Path, name: &str, points: &[(f32, f32)]) -> Result<(), PlotError> {
    save(path, &Plot { name, points })
}

struct Plot<'a> {
    name: &'a str,
    points: &'a [(f32, f32)],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let points = self.points;
        let (Some(&first), Some(&last)) = (points.first(), points.last()) else {
            return Err("there is nothing to draw".into());
        };
        let linear = (last.0, first.1 * last.0 / first.0);
        let entries = [Entry::line(self.name, colour(0)), Entry::line("linear", LINEAR)];
        let area = legend::beside(area, &entries)?;
        let least = points.iter().map(|p| p.1).fold(f32::INFINITY, f32::min);
        let mut chart = ChartBuilder::on(&area)
            .caption("Work against the number of classes", (FONT, 22))
            .margin(16)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d(
                (first.0 / 1.3..last.0 * 1.3).log_scale(),
                (least / 1.6..linear.1.max(last.1) * 1.6).log_scale(),
            )
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("N")
            .y_desc("mean dot products per query")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(RGBColor(240, 240, 240))
            .draw()
            .map_err(text)?;
        chart.draw_series(LineSeries::new([first, linear], LINEAR.stroke_width(2))).map_err(text)?;
        chart.draw_series(LineSeries::new(points.to_vec(), colour(0).stroke_width(2))).map_err(text)?;
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 4, colour(0).filled()))).map_err(text)?;
        Ok(())
    }
}
