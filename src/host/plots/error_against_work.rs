//! Error against work, both in logarithms: every estimator a line, the Pareto front marked.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{
    BindKeyPoints, ChartBuilder, Circle, DrawingArea, DrawingBackend, IntoLogRange, LineSeries, RGBColor,
};
use plotters::style::Color;

use super::axis::{Axis, percent};
use super::colours::colours;
use super::legend::{self, Entry, Mark};
use super::{FONT, Figure, LEFT, PlotError, THIN, save, text, titled};
use crate::host::evaluate::pareto;

/// What is below this is drawn at it: zero has no logarithm.
const LEAST: f32 = 1e-6;
/// What is above this is drawn at it: some estimates are off by a factor of millions.
const MOST: f32 = 100.0;
const FRONT: RGBColor = RGBColor(30, 30, 30);

/// An estimator's works and errors, for [`error_against_work`].
///
/// ```
/// let line = zhat::host::plots::Line { name: "moments".into(), points: vec![(0.01, 0.06), (0.02, 0.03)] };
/// ```
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// (mean work, mean error).
    pub points: Vec<(f32, f32)>,
}

/// Draws the lines to a file; `about` says of what they are.
///
/// ```
/// use zhat::host::plots::{Line, error_against_work};
///
/// let folder = tempfile::tempdir()?;
/// let lines = [Line { name: "moments".into(), points: vec![(0.01, 0.06), (0.02, 0.03)] }];
/// error_against_work(&folder.path().join("e.svg"), "m.zhat, 9 queries", &lines)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn error_against_work(path: &Path, about: &str, lines: &[Line]) -> Result<(), PlotError> {
    let clamp = |&(work, error): &(f32, f32)| (work.clamp(LEAST, MOST), error.clamp(LEAST, MOST));
    let errors = || lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let is_cut = [errors().any(|error| error > MOST), errors().any(|error| error < LEAST)];
    let lines: Vec<Line> = lines
        .iter()
        .map(|line| {
            let mut points: Vec<_> = line.points.iter().map(clamp).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Line { name: line.name.clone(), points }
        })
        .collect();
    save(path, &Plot { about, lines, is_cut })
}

struct Plot<'a> {
    about: &'a str,
    lines: Vec<Line>,
    /// Whether an error is drawn at the limit that it is above or below.
    is_cut: [bool; 2],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let all: Vec<(f32, f32)> = self.lines.iter().flat_map(|line| &line.points).copied().collect();
        let area = titled(area, "Error of Z against work", self.about)?;
        let colours = colours(self.lines.iter().map(|line| line.name.as_str()));
        let entry = |(line, &colour): (&Line, &RGBColor)| {
            Entry::new(if line.points.len() > 1 { Mark::Dots } else { Mark::Dot(4) }, &line.name, colour)
        };
        let mut entries: Vec<Entry> = self.lines.iter().zip(&colours).map(entry).collect();
        entries.push(Entry::new(Mark::Ring, "Pareto front", FRONT));
        let remarks = [format!("{}: that or more", percent(&MOST)), format!("{}: that or less", percent(&LEAST))];
        let remarks = remarks.into_iter().zip(self.is_cut).filter(|(_, is_cut)| *is_cut);
        entries.extend(remarks.map(|(remark, _)| Entry::new(Mark::None, remark, FRONT)));
        let area = legend::beside(&area, &entries)?;
        let (x, y) = (Axis::holding(all.iter().map(|point| point.0)), Axis::holding(all.iter().map(|point| point.1)));
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
            .x_desc("mean work: dot products per query, as a share of all rows")
            .y_desc("mean |Ẑ − Z| / Z")
            .x_label_formatter(&percent)
            .y_label_formatter(&percent)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(THIN)
            .draw()
            .map_err(text)?;
        // The first lie on top: the defaults come before their variants.
        for (line, colour) in self.lines.iter().zip(&colours).rev() {
            chart.draw_series(LineSeries::new(line.points.clone(), colour.stroke_width(2))).map_err(text)?;
            let dots = line.points.iter().map(|&point| Circle::new(point, 4, colour.filled()));
            chart.draw_series(dots).map_err(text)?;
        }
        let front = pareto(&all).into_iter().map(|point| Circle::new(point, 8, FRONT.stroke_width(2)));
        chart.draw_series(front).map_err(text)?;
        Ok(())
    }
}
