//! A legend beside the plot.

use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, DrawingBackend, IntoTextStyle, PathElement, RGBColor, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{FONT, SIZE, text};

const WIDTH: u32 = 250;
const LINE: i32 = 26;
/// Where marks are centred and text begins.
const MARK: i32 = 17;
const TEXT: i32 = 42;

/// What stands before a name.
pub enum Mark {
    /// A line.
    Line,
    /// A line with dots on it.
    Dots,
    /// A dot of this radius.
    Dot(i32),
    /// A ring.
    Ring,
    /// Nothing: a remark.
    None,
}

/// An entry: its mark, its name, and its colour.
pub struct Entry {
    pub mark: Mark,
    pub name: String,
    pub colour: RGBColor,
}

impl Entry {
    pub fn new(mark: Mark, name: impl Into<String>, colour: RGBColor) -> Self {
        Self { mark, name: name.into(), colour }
    }
}

/// Draws the entries on the right; what is left for the plot.
pub fn beside<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    entries: &[Entry],
) -> Result<DrawingArea<B, Shift>, String> {
    let (plot, legend) = area.split_horizontally(SIZE.0 - WIDTH);
    let style = (FONT, 15).into_text_style(&legend).pos(Pos::new(HPos::Left, VPos::Center));
    for (i, Entry { mark, name, colour }) in entries.iter().enumerate() {
        let y = 30 + LINE * i as i32;
        if let Mark::Line | Mark::Dots = mark {
            let line = PathElement::new(vec![(MARK - 13, y), (MARK + 13, y)], colour.stroke_width(2));
            legend.draw(&line).map_err(text)?;
        }
        let dot = match mark {
            Mark::Dots => Some((4, colour.filled())),
            Mark::Dot(radius) => Some((*radius, colour.filled())),
            Mark::Ring => Some((7, colour.stroke_width(2))),
            Mark::Line | Mark::None => None,
        };
        if let Some((radius, style)) = dot {
            legend.draw(&Circle::new((MARK, y), radius, style)).map_err(text)?;
        }
        let left = if let Mark::None = mark { MARK - 13 } else { TEXT };
        legend.draw(&Text::new(name.clone(), (left, y), style.clone())).map_err(text)?;
    }
    Ok(plot)
}
