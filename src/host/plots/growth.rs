//! Work against the number of rows, both in logarithms, with a linear growth beside it.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, Circle, DrawingArea, DrawingBackend, IntoLogRange, LineSeries, RGBColor};
use plotters::style::Color;

use super::legend::{self, Entry};
use super::{FONT, Figure, PlotError, colour, save, text};

const LINEAR: RGBColor = RGBColor(150, 150, 150);

/// A name, and (N, work) for each N.
type Line = (String, Vec<(f32, f32)>);

/// Draws the lines to a file.
///
/// # Errors
/// [`PlotError`].
pub fn growth(path: &Path, lines: &[Line]) -> Result<(), PlotError> {
    save(path, &Plot { lines })
}

struct Plot<'a> {
    lines: &'a [Line],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let all = || self.lines.iter().flat_map(|(_, points)| points);
        let (Some(&first), Some(&last)) = (all().next(), all().last()) else {
            return Err("there is nothing to draw".into());
        };
        let linear = (last.0, first.1 * last.0 / first.0);
        let mut entries: Vec<Entry> =
            self.lines.iter().enumerate().map(|(i, (name, _))| Entry::line(name, colour(i))).collect();
        entries.push(Entry::line("linear", LINEAR));
        let area = legend::beside(area, &entries)?;
        let least = all().map(|p| p.1).fold(f32::INFINITY, f32::min);
        let most = all().map(|p| p.1).fold(linear.1, f32::max);
        let mut chart = ChartBuilder::on(&area)
            .caption("Work against the number of classes", (FONT, 22))
            .margin(16)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d((first.0 / 1.3..last.0 * 1.3).log_scale(), (least / 1.6..most * 1.6).log_scale())
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("N")
            .y_desc("mean dot products per query")
            .x_label_formatter(&decades)
            .y_label_formatter(&decades)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(RGBColor(240, 240, 240))
            .draw()
            .map_err(text)?;
        chart.draw_series(LineSeries::new([first, linear], LINEAR.stroke_width(2))).map_err(text)?;
        for (i, (_, points)) in self.lines.iter().enumerate() {
            let colour = colour(i);
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2))).map_err(text)?;
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 4, colour.filled()))).map_err(text)?;
        }
        Ok(())
    }
}

/// Numbers that start with 1 or 3: with all of them labels would overlap.
fn decades(x: &f32) -> String {
    let label = format!("{x:.0}");
    if label.starts_with(['1', '3']) { label } else { String::new() }
}
