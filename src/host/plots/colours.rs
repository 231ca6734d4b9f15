//! Colours of lines: an estimator always has its own, others take what is left.

use plotters::prelude::RGBColor;

/// Estimators and their colours, most of them told apart by the colour-blind too (Okabe and Ito).
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
/// For lines that are no estimator's.
const OTHERS: [RGBColor; 7] = [
    RGBColor(128, 64, 48),
    RGBColor(160, 160, 0),
    RGBColor(0, 80, 64),
    RGBColor(24, 24, 150),
    RGBColor(190, 0, 70),
    RGBColor(120, 230, 140),
    RGBColor(240, 170, 170),
];

/// A colour for each name; none twice before all are used.
pub fn colours<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<RGBColor> {
    let own = |name: &str| ESTIMATORS.iter().find(|(other, _)| *other == name).map(|(_, colour)| *colour);
    let taken: Vec<RGBColor> = names.clone().filter_map(own).collect();
    // Without estimators the lines have the colours that are told apart best.
    let free = OTHERS.into_iter().chain(ESTIMATORS.into_iter().map(|(_, colour)| colour));
    let mut free: Vec<RGBColor> = free.filter(|colour| !taken.contains(colour)).collect();
    if taken.is_empty() {
        free.rotate_left(OTHERS.len());
    }
    let mut next = free.into_iter().cycle();
    names.map(|name| own(name).or_else(|| next.next()).unwrap_or(OTHERS[0])).collect()
}

#[cfg(test)]
mod tests {
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
