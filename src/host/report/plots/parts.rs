//! The parts of plots: axes, colours, and a legend beside the plot.

use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, DrawingBackend, IntoTextStyle, PathElement, RGBColor, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{FONT, SIZE, text};

/// The decades up to which an axis shows every digit, up to which 1, 2 and 5, and up to which each decade.
const ONE: f32 = 0.9;
const FEW: f32 = 2.5;
const MANY: f32 = 9.0;

/// A logarithmic axis: its ends, its ticks, and the thin lines between them.
pub struct Axis {
    pub low: f32,
    pub high: f32,
    pub ticks: Vec<f32>,
    pub lines: Vec<f32>,
}

impl Axis {
    /// Makes an axis from `low` to `high`, with the ticks between them.
    pub fn between(low: f32, high: f32) -> Self {
        let mut axis = Self::holding([low, high].into_iter());
        let inside = |value: &f32| (low..=high).contains(value);
        axis.ticks.retain(inside);
        axis.lines.retain(inside);
        Self { low, high, ..axis }
    }

    /// Makes an axis that holds these values, which are above zero.
    pub fn holding(values: impl Iterator<Item = f32> + Clone) -> Self {
        let least = values.clone().fold(f32::INFINITY, f32::min).clamp(1e-30, 1e30);
        let most = values.fold(least, f32::max).min(1e30);
        let decade = |value: f32| value.log10().floor() as i32;
        let (first, last) = (decade(least) - 1, decade(most) + 1);
        const ALL: [u8; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let each = |digits: &[u8]| -> Vec<f32> {
            let one = |power: i32| digits.iter().map(move |&digit| (f64::from(digit) * 10f64.powi(power)) as f32);
            (first..=last).flat_map(one).collect()
        };
        // A little room, so that no mark is cut off by the edge.
        let (room_below, room_above) = (least / 1.15, most * 1.15);
        let ends = each(&[1, 2, 5]);
        let low = ends.iter().copied().rfind(|&tick| tick <= room_below).unwrap_or(room_below);
        let high = ends.iter().copied().find(|&tick| tick >= room_above).unwrap_or(room_above);
        let decades = (high / low).log10();
        let inside = |ticks: Vec<f32>| -> Vec<f32> { ticks.into_iter().filter(|t| (low..=high).contains(t)).collect() };
        let ticks = match decades {
            d if d <= ONE => inside(each(&ALL)),
            d if d <= FEW => inside(ends),
            d if d <= MANY => inside(each(&[1])),
            d => inside(each(&[1])).into_iter().step_by((d / MANY).ceil() as usize).collect(),
        };
        Self { low, high, ticks, lines: inside(each(&ALL)) }
    }
}

/// Formats a count with spaces between the thousands.
pub fn count(value: &f32) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a share in per cent for a tick.
pub fn percent(share: &f32) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        return "0 %".into();
    }
    let digits = (-(percent.abs().log10() + 1e-3).floor()).max(0.0) as usize;
    if digits == 0 { format!("{} %", count(&percent)) } else { format!("{percent:.digits$} %") }
}

// Colours of lines: each estimator has its own, other lines get the remaining ones.

/// Estimators and their colours, most of which the colour-blind can tell apart too (Okabe and Ito).
const ESTIMATORS: [(&str, RGBColor); 9] = [
    ("exact", RGBColor(0, 0, 0)),
    ("moments", RGBColor(0, 114, 178)),
    ("moments+samples", RGBColor(86, 180, 233)),
    ("uniform", RGBColor(130, 130, 130)),
    ("nmimps", RGBColor(230, 159, 0)),
    ("mimps", RGBColor(213, 94, 0)),
    ("mince", RGBColor(204, 121, 167)),
    ("fmbe", RGBColor(0, 158, 115)),
    ("self-normalised", RGBColor(120, 94, 240)),
];
/// The colours for lines that are not an estimator's.
const OTHERS: [RGBColor; 7] = [
    RGBColor(128, 64, 48),
    RGBColor(160, 160, 0),
    RGBColor(0, 80, 64),
    RGBColor(24, 24, 150),
    RGBColor(190, 0, 70),
    RGBColor(120, 230, 140),
    RGBColor(240, 170, 170),
];

/// Picks a colour for each name, without repeating one before all are used.
pub fn colours<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<RGBColor> {
    let own = |name: &str| ESTIMATORS.iter().find(|(other, _)| *other == name).map(|(_, colour)| *colour);
    let taken: Vec<RGBColor> = names.clone().filter_map(own).collect();
    // Without estimators the lines get the most distinct colours.
    let free = OTHERS.into_iter().chain(ESTIMATORS.into_iter().map(|(_, colour)| colour));
    let mut free: Vec<RGBColor> = free.filter(|colour| !taken.contains(colour)).collect();
    if taken.is_empty() {
        free.rotate_left(OTHERS.len());
    }
    let mut next = free.into_iter().cycle();
    names.map(|name| own(name).or_else(|| next.next()).unwrap_or(OTHERS[0])).collect()
}

// A legend beside the plot.

const WIDTH: u32 = 250;
const LINE: i32 = 26;
/// The x coordinates of the centres of marks and of the start of text.
const MARK: i32 = 17;
const TEXT: i32 = 42;

/// The mark before a name.
pub enum Mark {
    /// A line.
    Line,
    /// A line with dots on it.
    Dots,
    /// A dot of this radius.
    Dot(i32),
    /// A ring.
    Ring,
    /// Nothing: the entry is a remark.
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

/// Draws the entries on the right, and returns the remaining area for the plot.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_per_cent_without_needless_digits() {
        let ticks = [100.0, 1.0, 0.1, 0.01, 0.001, 0.0001, 0.025, 0.005, 0.0];
        let shown = ticks.map(|tick| percent(&tick));
        assert_eq!(shown, ["10 000 %", "100 %", "10 %", "1 %", "0.1 %", "0.01 %", "2 %", "0.5 %", "0 %"]);
        assert_eq!([1.0, 1000.0, 200_000.0].map(|n| count(&n)), ["1", "1 000", "200 000"]);
    }

    #[test]
    fn an_axis_holds_its_values_and_has_two_to_ten_ticks() {
        for (least, most) in [(0.033, 0.04), (0.04, 0.04), (0.005, 1.0), (1e-6, 100.0), (1.0, 200_000.0), (1e-12, 1e6)]
        {
            let axis = Axis::holding([least, most].into_iter());
            assert!(axis.low < least && axis.high > most, "{least} to {most}");
            let between = Axis::between(least, most);
            assert!(between.lines.iter().chain(&between.ticks).all(|tick| (least..=most).contains(tick)));
            assert!(axis.low > least / 3.0 && axis.high < most * 3.0, "{least} to {most}");
            assert!((3..=10).contains(&axis.ticks.len()), "{least} to {most}: {:?}", axis.ticks);
        }
    }
}

#[cfg(test)]
mod colours_tests {
    use super::*;
    use crate::host::evaluate::Method;

    #[test]
    fn every_estimator_has_a_colour_of_its_own_that_differs_clearly() {
        let names = Method::ALL.map(Method::name);
        assert_eq!(names, ESTIMATORS.map(|(name, _)| name));
        let all: Vec<RGBColor> = ESTIMATORS.iter().map(|(_, colour)| *colour).chain(OTHERS).collect();
        let apart = |a: RGBColor, b: RGBColor| {
            let square = |x: u8, y: u8| (f32::from(x) - f32::from(y)).powi(2);
            (square(a.0, b.0) + square(a.1, b.1) + square(a.2, b.2)).sqrt()
        };
        for (i, &a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|&b| apart(a, b) > 50.0), "{a:?}");
        }
    }

    #[test]
    fn no_colour_is_used_twice_while_there_are_others() {
        let names: Vec<String> = (0..5).map(|i| format!("links of {i}")).collect();
        let names = || ["mimps", "moments"].into_iter().chain(names.iter().map(String::as_str));
        let found = colours(names());
        assert_eq!(found[..2], colours(["mimps", "moments"].into_iter()));
        assert!((0..found.len()).all(|i| !found[..i].contains(&found[i])));
        let many: Vec<String> = (0..16).map(|i| format!("query {i}")).collect();
        let found = colours(many.iter().map(String::as_str));
        assert!((0..found.len()).all(|i| !found[..i].contains(&found[i])));
    }
}
