//! Plots of lines: error against work, cumulative probability, reliability, growth.
//!
//! Error against work has logarithmic axes, a line for each estimator, and marks on the Pareto front.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{
    BindKeyPoints, ChartBuilder, Circle, DrawingArea, DrawingBackend, IntoLogRange, LineSeries, RGBColor,
};
use plotters::style::Color;

use super::parts::{Axis, Entry, Mark, beside, colours, count, percent};
use super::{FONT, Figure, LEFT, PlotError, THIN, save, text, titled};
use crate::host::evaluate::pareto;

/// The smallest value drawn; smaller ones are drawn at it, since zero has no logarithm.
const LEAST: f32 = 1e-6;
/// The largest value drawn; larger ones are drawn at it, since some estimates are off by a factor of millions.
const MOST: f32 = 100.0;
const FRONT: RGBColor = RGBColor(30, 30, 30);

/// An estimator's works and errors, for [`error_against_work`].
///
/// ```
/// let line = zhat::host::report::plots::Line { name: "moments".into(), points: vec![(0.01, 0.06), (0.02, 0.03)] };
/// ```
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// (mean work, mean error).
    pub points: Vec<(f32, f32)>,
}

/// Draws the lines to a file. `about` is the subtitle.
///
/// ```
/// use zhat::host::report::plots::{Line, error_against_work};
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
    save(path, &ErrorPlot { about, lines, is_cut })
}

struct ErrorPlot<'a> {
    about: &'a str,
    lines: Vec<Line>,
    /// True for a limit at which errors beyond it are drawn: the upper one, the lower one.
    is_cut: [bool; 2],
}

impl Figure for ErrorPlot<'_> {
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
        let area = beside(&area, &entries)?;
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
        // The first lines are drawn last, on top: the defaults come before their variants.
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

// Cumulative: the share of the probability that the best classes hold, for each query, as in the paper's Figure 1.

/// Draws the share of p that the best 1, 2, 3, … classes hold, a line for each query. `about` is the subtitle.
///
/// ```
/// use zhat::host::report::plots::{cumulative, cumulative_shares};
///
/// let folder = tempfile::tempdir()?;
/// cumulative(&folder.path().join("c.svg"), "m.zhat", &[("query 0".into(), cumulative_shares(vec![0.0, 2.0, 1.0]))])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn cumulative(path: &Path, about: &str, curves: &[(String, Vec<f32>)]) -> Result<(), PlotError> {
    save(path, &CumulativePlot { about, curves })
}

/// Returns the share of the probability that the best 1, 2, 3, … classes hold, from all scores.
///
/// ```
/// let shares = zhat::host::report::plots::cumulative_shares(vec![0.0, 2f32.ln(), 0.0]);
/// assert!(shares.iter().zip([0.5, 0.75, 1.0]).all(|(share, expected)| (share - expected).abs() < 1e-6));
/// ```
pub fn cumulative_shares(mut scores: Vec<f32>) -> Vec<f32> {
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    let best = scores.first().copied().unwrap_or(0.0);
    let total: f64 = scores.iter().map(|score| f64::from(score - best).exp()).sum();
    let mut sum = 0.0;
    let shares = scores.iter().map(|score| {
        sum += f64::from(score - best).exp() / total;
        sum as f32
    });
    shares.collect()
}

struct CumulativePlot<'a> {
    about: &'a str,
    curves: &'a [(String, Vec<f32>)],
}

impl Figure for CumulativePlot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let area = titled(area, "Cumulative probability over sorted classes", self.about)?;
        let colours = colours(self.curves.iter().map(|(name, _)| name.as_str()));
        let entries = self.curves.iter().zip(&colours).map(|((name, _), &colour)| Entry::new(Mark::Line, name, colour));
        let area = beside(&area, &entries.collect::<Vec<_>>())?;
        let most = self.curves.iter().map(|(_, curve)| curve.len()).max().unwrap_or(1).max(2) as f32;
        let Axis { low, high, ticks, lines } = Axis::between(1.0, most);
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .margin_top(0)
            .x_label_area_size(52)
            .y_label_area_size(LEFT - 16)
            .build_cartesian_2d((low..high).log_scale().with_key_points(ticks).with_light_points(lines), 0.0f32..1.02)
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc("classes, most probable first")
            .y_desc("share of the probability")
            .x_label_formatter(&count)
            .y_label_formatter(&percent)
            .y_labels(11)
            .max_light_lines(4)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .light_line_style(THIN)
            .draw()
            .map_err(text)?;
        for ((_, curve), colour) in self.curves.iter().zip(&colours) {
            let points = thinned(curve.len()).into_iter().map(|rank| (rank as f32, curve[rank - 1]));
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2))).map_err(text)?;
        }
        Ok(())
    }
}

/// Picks ranks that are a few pixels apart on a logarithmic axis: all of the first, few of the last.
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

// Reliability: a probability of 70 % should be right 70 % of the time.

const IDEAL: RGBColor = RGBColor(190, 190, 190);
const SIZES: RGBColor = RGBColor(70, 70, 70);

/// A curve: its name, and (confidence, accuracy, share of the queries) for each bin.
type Curve<'a> = (&'a str, Vec<(f32, f32, f32)>);

/// Draws the curves; a point is larger the more queries it stands for. `about` is the subtitle.
///
/// ```
/// use zhat::host::report::plots::reliability;
///
/// let folder = tempfile::tempdir()?;
/// reliability(&folder.path().join("r.svg"), "m.zhat, 9 queries", &[("moments", vec![(0.1, 0.2, 0.5), (0.9, 0.8, 0.5)])])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn reliability(path: &Path, about: &str, curves: &[Curve<'_>]) -> Result<(), PlotError> {
    save(path, &ReliabilityPlot { about, curves })
}

/// Returns the radius of a point that stands for this share of the queries.
fn radius(share: f32) -> i32 {
    2 + (share.sqrt() * 14.0) as i32
}

struct ReliabilityPlot<'a> {
    about: &'a str,
    curves: &'a [Curve<'a>],
}

impl Figure for ReliabilityPlot<'_> {
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
        let area = beside(&area, &entries)?;
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

// Growth: work against the number of rows, both in logarithms, with a linear growth beside it.

const LINEAR: RGBColor = RGBColor(150, 150, 150);

/// A name, and (N, work) for each N.
type Work = (String, Vec<(f32, f32)>);

/// Draws the lines to a file. `about` is the subtitle.
///
/// ```
/// use zhat::host::report::plots::growth;
///
/// let folder = tempfile::tempdir()?;
/// growth(&folder.path().join("g.svg"), "vectors.json", &[("moments".into(), vec![(1e4, 150.0), (1e5, 400.0)])])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn growth(path: &Path, about: &str, lines: &[Work]) -> Result<(), PlotError> {
    save(path, &GrowthPlot { about, lines })
}

struct GrowthPlot<'a> {
    about: &'a str,
    lines: &'a [Work],
}

impl Figure for GrowthPlot<'_> {
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
        let area = beside(&area, &entries)?;
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
