//! How much of the probability the best classes hold, for each query: the paper's Figure 1.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::{BindKeyPoints, ChartBuilder, DrawingArea, DrawingBackend, IntoLogRange, LineSeries};
use plotters::style::Color;

use super::axis::{Axis, count, percent};
use super::colours::colours;
use super::legend::{self, Entry, Mark};
use super::{FONT, Figure, LEFT, PlotError, THIN, save, text, titled};

/// Draws the share of p that the best 1, 2, 3, … classes hold, a line for each query; `about` says of what.
///
/// ```
/// use zhat::host::plots::{cumulative, cumulative_shares};
///
/// let folder = tempfile::tempdir()?;
/// cumulative(&folder.path().join("c.svg"), "m.zhat", &[("query 0".into(), cumulative_shares(vec![0.0, 2.0, 1.0]))])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PlotError`].
pub fn cumulative(path: &Path, about: &str, curves: &[(String, Vec<f32>)]) -> Result<(), PlotError> {
    save(path, &Plot { about, curves })
}

/// Returns the share of the probability that the best 1, 2, 3, … classes hold, from all scores.
///
/// ```
/// let shares = zhat::host::plots::cumulative_shares(vec![0.0, 2f32.ln(), 0.0]);
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

struct Plot<'a> {
    about: &'a str,
    curves: &'a [(String, Vec<f32>)],
}

impl Figure for Plot<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), String> {
        let area = titled(area, "Cumulative probability over sorted classes", self.about)?;
        let colours = colours(self.curves.iter().map(|(name, _)| name.as_str()));
        let entries = self.curves.iter().zip(&colours).map(|((name, _), &colour)| Entry::new(Mark::Line, name, colour));
        let area = legend::beside(&area, &entries.collect::<Vec<_>>())?;
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
