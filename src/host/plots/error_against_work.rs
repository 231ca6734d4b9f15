//! Error against work, both in logarithms: every estimator a line, the Pareto front marked.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, Circle, DrawingArea, DrawingBackend, IntoLogRange, LineSeries, RGBColor};
use plotters::style::Color;

use super::legend::{self, Entry};
use super::{FONT, Figure, PlotError, colour, percent, save, text};
use crate::host::evaluate::pareto;

/// What is below this is drawn at it: zero has no logarithm.
const LEAST: f32 = 1e-6;
/// What is above this is drawn at it: some estimates are off by a factor of millions.
const MOST: f32 = 100.0;
const FRONT: RGBColor = RGBColor(30, 30, 30);

/// An estimator's works and errors.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// (mean work, mean error).
    pub points: Vec<(f32, f32)>,
}

/// Draws the lines to a file.
///
/// # Errors
/// [`PlotError`].
pub fn error_against_work(path: &Path, lines: &[Line]) -> Result<(), PlotError> {
    let clamp = |&(work, error): &(f32, f32)| (work.clamp(LEAST, MOST), error.clamp(LEAST, MOST));
    let lines: Vec<Line> = lines
        .iter()
        .map(|line| {
            let mut points: Vec<_> = line.points.iter().map(clamp).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Line { name: line.name.clone(), points }
        })
        .collect();
    save(path, &Plot { lines })
}

struct Plot {
    lines: Vec<Line>,
}

impl Figure for Plot {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let all: Vec<(f32, f32)> = self.lines.iter().flat_map(|line| &line.points).copied().collect();
        let mut entries: Vec<Entry> =
            self.lines.iter().enumerate().map(|(i, line)| Entry::line(&line.name, colour(i))).collect();
        entries.push(Entry { name: "Pareto front".into(), colour: FRONT, line: false, hollow: true });
        let area = legend::beside(area, &entries)?;
        let range = |axis: fn(&(f32, f32)) -> f32| {
            let low = all.iter().map(axis).fold(f32::INFINITY, f32::min).min(1.0);
            let high = all.iter().map(axis).fold(LEAST, f32::max);
            (low / 1.6, high.max(low * 2.0) * 1.6)
        };
        let ((x0, x1), (y0, y1)) = (range(|p| p.0), range(|p| p.1));
        let mut chart = ChartBuilder::on(&area)
            .caption("Error of Z against work", (FONT, 22))
            .margin(16)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d((x0..x1).log_scale(), (y0..y1).log_scale())
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("mean work: dot products per query, as a share of all rows")
            .y_desc("mean |Ẑ − Z| / Z")
            .x_label_formatter(&percent)
            .y_label_formatter(&percent)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(RGBColor(240, 240, 240))
            .draw()
            .map_err(text)?;
        for (i, line) in self.lines.iter().enumerate() {
            let colour = colour(i);
            chart.draw_series(LineSeries::new(line.points.clone(), colour.stroke_width(2))).map_err(text)?;
            let dots = line.points.iter().map(|&point| Circle::new(point, 4, colour.filled()));
            chart.draw_series(dots).map_err(text)?;
        }
        let front = pareto(&all).into_iter().map(|point| Circle::new(point, 8, FRONT.stroke_width(2)));
        chart.draw_series(front).map_err(text)?;
        Ok(())
    }
}
