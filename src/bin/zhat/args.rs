//! Parses shares, sizes and lists as people write them.

use zhat::host::evaluate::Method;
use zhat::model::Bits;

/// Parses a share, `4%` or `0.04`: above 0, at most 1.
pub fn share(text: &str) -> Result<f32, String> {
    let share = positive(text)?;
    if share <= 1.0 {
        return Ok(share);
    }
    Err(match text.strip_suffix('%') {
        Some(_) => format!("{text} is above 100%"),
        None => format!("{text} is above 1: {text}%, perhaps?"),
    })
}

/// A share that is not all: `90%` or `0.9`.
pub fn level(text: &str) -> Result<f32, String> {
    match share(text)? {
        level if level < 1.0 => Ok(level),
        _ => Err(format!("{text} is all: no set of classes is sure to hold the true one")),
    }
}

/// Parses a share that may be above 100 %, such as an error.
pub fn positive(text: &str) -> Result<f32, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let value = number.trim().parse::<f64>().map_err(|_| format!("\"{text}\" is no share: 4% or 0.04, for example"))?;
    // In f64, so that 10% is the same number as 0.1.
    let share = (value / unit) as f32;
    if share.is_finite() && share > 0.0 { Ok(share) } else { Err(format!("{text} is not above zero")) }
}

/// Parses the value of an activation's step.
pub fn scale(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(scale) if scale.is_finite() && scale > 0.0 => Ok(scale),
        Ok(_) => Err(format!("{text} is not above zero")),
        Err(_) => Err(format!("\"{text}\" is no number")),
    }
}

/// Parses a size: `1MiB`, `512K`, `1.5M`, `100kB` or a number of bytes.
pub fn size(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, f64); 10] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("K", 1024.0),
        ("k", 1024.0),
        ("M", 1_048_576.0),
        ("B", 1.0),
    ];
    let unit = UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (number, factor) = unit.unwrap_or((text, 1.0));
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok((number * factor) as usize),
        _ => Err(format!("\"{text}\" is no size: 1MiB, 512K or 100000, for example")),
    }
}

/// Parses a number of instructions: `50k`, `1.5M` or a plain number.
pub fn instructions(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is no number of instructions: 50k, 1.5M or 50000, for example");
    quantity(text, &[("k", 1e3), ("M", 1e6), ("", 1.0)]).map(|number| number as u64).ok_or_else(wrong)
}

/// Parses a duration, `1ms`, `800us` or `0.5s`, in seconds.
pub fn duration(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\" is no time: 1ms, 800us or 0.5s, for example");
    quantity(text, &[("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("s", 1.0)]).ok_or_else(wrong)
}

/// Parses a clock, `64MHz`, `48000kHz` or `64000000Hz`, in cycles a second.
pub fn frequency(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\" is no clock: 64MHz, for example");
    quantity(text, &[("MHz", 1e6), ("kHz", 1e3), ("GHz", 1e9), ("Hz", 1.0)]).ok_or_else(wrong)
}

/// Parses a number above zero with one of these units.
fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    let value = number.trim().parse::<f64>().ok()? * factor;
    (value.is_finite() && value > 0.0).then_some(value)
}

/// Parses the bits of a weight.
pub fn bits(text: &str) -> Result<Bits, String> {
    match text {
        "8" => Ok(Bits::Eight),
        "4" => Ok(Bits::Four),
        _ => Err("8 or 4".into()),
    }
}

/// Parses `all`, or names separated by commas.
pub fn methods(text: &str) -> Result<Vec<Method>, String> {
    match text {
        "all" => Ok(Method::ALL.to_vec()),
        _ => text.split(',').map(|name| name.trim().parse()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_per_cent_or_fractions() {
        assert_eq!(share("4%"), Ok(0.04));
        assert_eq!(share("10%"), Ok(0.1));
        assert_eq!(share("0.04"), Ok(0.04));
        assert_eq!(share("100 %"), Ok(1.0));
        assert_eq!(share("4"), Err("4 is above 1: 4%, perhaps?".into()));
        for wrong in ["", "%", "-1%", "0", "nan", "x", "101%", "inf"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(positive("150%"), Ok(1.5));
    }

    #[test]
    fn sizes_have_the_units_of_data_sheets() {
        assert_eq!(size("1MiB"), Ok(1 << 20));
        assert_eq!(size("512K"), Ok(512 << 10));
        assert_eq!(size("1.5M"), Ok(3 << 19));
        assert_eq!(size("100kB"), Ok(100_000));
        assert_eq!(size("12345"), Ok(12345));
        for wrong in ["", "MiB", "-1K", "1 potato", "0"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn instructions_times_and_clocks_have_units() {
        assert_eq!(instructions("50k"), Ok(50_000));
        assert_eq!(instructions("1.5 M"), Ok(1_500_000));
        assert_eq!(instructions("64981"), Ok(64_981));
        assert_eq!(duration("1ms"), Ok(1e-3));
        assert_eq!(duration("0.5s"), Ok(0.5));
        assert_eq!(frequency("64MHz"), Ok(64e6));
        for wrong in ["", "k", "-1k", "0", "nan", "1e999", "5 potatoes"] {
            assert!(instructions(wrong).is_err(), "{wrong}");
        }
        assert!(duration("1").is_err() && duration("1min").is_err() && frequency("64").is_err());
    }

    #[test]
    fn weights_have_eight_bits_or_four() {
        assert_eq!((bits("8"), bits("4")), (Ok(Bits::Eight), Ok(Bits::Four)));
        assert!(bits("2").is_err() && bits("").is_err());
    }

    #[test]
    fn estimators_are_named_or_all() {
        assert_eq!(methods("all").map(|all| all.len()), Ok(Method::ALL.len()));
        assert_eq!(methods("exact, mimps"), Ok(vec![Method::Exact, Method::Mimps]));
        assert!(methods("momments").unwrap_err().contains("moments"));
    }
}
