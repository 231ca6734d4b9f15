//! How much of the probability the best classes hold, for each query: the paper's Figure 1.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, DrawingArea, DrawingBackend, IntoLogRange, LineSeries, RGBColor};
use plotters::style::Color;

use super::legend::{self, Entry};
use super::{FONT, Figure, PlotError, colour, percent, save, text};

/// Draws the share of p that the best 1, 2, 3, … classes hold, a line for each query.
///
/// # Errors
/// [`PlotError`].
pub fn cumulative(path: &Path, curves: &[(String, Vec<f32>)]) -> Result<(), PlotError> {
    save(path, &Plot { curves })
}

struct Plot<'a> {
    curves: &'a [(String, Vec<f32>)],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let entries: Vec<Entry> =
            self.curves.iter().enumerate().map(|(i, (name, _))| Entry::line(name, colour(i))).collect();
        let area = legend::beside(area, &entries)?;
        let most = self.curves.iter().map(|(_, curve)| curve.len()).max().unwrap_or(1).max(2) as f32;
        let mut chart = ChartBuilder::on(&area)
            .caption("Cumulative probability over sorted classes", (FONT, 22))
            .margin(16)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d((1.0f32..most).log_scale(), 0.0f32..1.02)
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("classes, most probable first")
            .y_desc("share of the probability")
            .x_label_formatter(&|rank| format!("{rank:.0}"))
            .y_label_formatter(&percent)
            .y_labels(11)
            .max_light_lines(4)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(RGBColor(240, 240, 240))
            .draw()
            .map_err(text)?;
        for (i, (_, curve)) in self.curves.iter().enumerate() {
            let points = thinned(curve.len()).into_iter().map(|rank| (rank as f32, curve[rank - 1]));
            chart.draw_series(LineSeries::new(points, colour(i).stroke_width(2))).map_err(text)?;
        }
        Ok(())
    }
}

/// Ranks that are a few pixels apart on a logarithmic axis: all of the first, few of the last.
fn thinned(count: usize) -> Vec<usize> {
    let mut ranks = Vec::new();
    let mut rank = 1;
    while rank <= count {
        ranks.push(rank);
        rank += (rank / 64).max(1);
    }
    if count > 0 && ranks.last() != Some(&count) {
        ranks.push(count);
    }
    ranks
}
