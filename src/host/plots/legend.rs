//! A legend beside the plot.

use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, DrawingBackend, PathElement, RGBColor, Text};
use plotters::style::Color;

use super::{FONT, SIZE, text};

const WIDTH: u32 = 250;
const LINE: i32 = 24;

/// An entry: its name, its colour, and whether it is a line (or points).
pub struct Entry {
    pub name: String,
    pub colour: RGBColor,
    pub line: bool,
    pub hollow: bool,
}

impl Entry {
    pub fn line(name: &str, colour: RGBColor) -> Self {
        Self { name: name.into(), colour, line: true, hollow: false }
    }
}

/// Draws the entries on the right; what is left for the plot.
pub fn beside<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    entries: &[Entry],
) -> Result<DrawingArea<B, Shift>, String> {
    let (plot, legend) = area.split_horizontally(SIZE.0 - WIDTH);
    for (i, entry) in entries.iter().enumerate() {
        let y = 60 + LINE * i as i32;
        if entry.line {
            legend.draw(&PathElement::new(vec![(4, y), (30, y)], entry.colour.stroke_width(2))).map_err(text)?;
        }
        let style = if entry.hollow { entry.colour.stroke_width(2) } else { entry.colour.filled() };
        legend.draw(&Circle::new((17, y), if entry.hollow { 7 } else { 4 }, style)).map_err(text)?;
        legend.draw(&Text::new(entry.name.clone(), (40, y - 6), (FONT, 15))).map_err(text)?;
    }
    Ok(plot)
}
