//! Work against the number of rows, both in logarithms, with a linear growth beside it.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{
    BindKeyPoints, ChartBuilder, Circle, DrawingArea, DrawingBackend, IntoLogRange, LineSeries, RGBColor,
};
use plotters::style::Color;

use super::axis::{Axis, count};
use super::colours::colours;
use super::legend::{self, Entry, Mark};
use super::{FONT, Figure, LEFT, PlotError, THIN, save, text, titled};

const LINEAR: RGBColor = RGBColor(150, 150, 150);

/// A name, and (N, work) for each N.
type Line = (String, Vec<(f32, f32)>);

/// Draws the lines to a file; `about` says of what they are.
///
/// ```
/// use zhat::host::plots::growth;
///
/// let folder = tempfile::tempdir()?;
/// growth(&folder.path().join("g.svg"), "vectors.json", &[("moments".into(), vec![(1e4, 150.0), (1e5, 400.0)])])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn growth(path: &Path, about: &str, lines: &[Line]) -> Result<(), PlotError> {
    save(path, &Plot { about, lines })
}

struct Plot<'a> {
    about: &'a str,
    lines: &'a [Line],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let all = || self.lines.iter().flat_map(|(_, points)| points);
        let (Some(&first), Some(&last)) = (all().next(), all().last()) else {
            return Err("there is nothing to draw".into());
        };
        let linear = (last.0, first.1 * last.0 / first.0);
        let area = titled(area, "Work against the number of classes", self.about)?;
        let colours = colours(self.lines.iter().map(|(name, _)| name.as_str()));
        let entries = self.lines.iter().zip(&colours).map(|((name, _), &colour)| Entry::new(Mark::Dots, name, colour));
        let mut entries: Vec<Entry> = entries.collect();
        entries.push(Entry::new(Mark::Line, "linear", LINEAR));
        let area = legend::beside(&area, &entries)?;
        let x = Axis::holding(all().map(|point| point.0));
        let y = Axis::holding(all().map(|point| point.1).chain([linear.1]));
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .margin_top(0)
            .x_label_area_size(52)
            .y_label_area_size(LEFT - 16)
            .build_cartesian_2d(
                (x.low..x.high).log_scale().with_key_points(x.ticks).with_light_points(x.lines),
                (y.low..y.high).log_scale().with_key_points(y.ticks).with_light_points(y.lines),
            )
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("N")
            .y_desc("mean dot products per query")
            .x_label_formatter(&count)
            .y_label_formatter(&count)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(THIN)
            .draw()
            .map_err(text)?;
        chart.draw_series(LineSeries::new([first, linear], LINEAR.stroke_width(2))).map_err(text)?;
        for ((_, points), colour) in self.lines.iter().zip(&colours) {
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2))).map_err(text)?;
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 4, colour.filled()))).map_err(text)?;
        }
        Ok(())
    }
}
