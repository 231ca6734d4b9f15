//! Logarithmic axes with ticks that can be read: 1, 2 and 5 of each decade, or decades alone where there are many.

/// Decades up to which every digit is shown, up to which those three, and up to which each decade.
const ONE: f32 = 0.9;
const FEW: f32 = 2.5;
const MANY: f32 = 9.0;

/// A logarithmic axis: where it begins and ends, and its ticks and the thin lines between them.
pub struct Axis {
    pub low: f32,
    pub high: f32,
    pub ticks: Vec<f32>,
    pub lines: Vec<f32>,
}

impl Axis {
    /// From `low` to `high`, with the ticks between them.
    pub fn between(low: f32, high: f32) -> Self {
        let mut axis = Self::holding([low, high].into_iter());
        let inside = |value: &f32| (low..=high).contains(value);
        axis.ticks.retain(inside);
        axis.lines.retain(inside);
        Self { low, high, ..axis }
    }

    /// An axis that holds these values, which are above zero.
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

/// A count with its thousands apart.
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

/// A share as a tick says it.
pub fn percent(share: &f32) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        return "0 %".into();
    }
    let digits = (-(percent.abs().log10() + 1e-3).floor()).max(0.0) as usize;
    if digits == 0 { format!("{} %", count(&percent)) } else { format!("{percent:.digits$} %") }
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
