//! The current date, for stored results.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns today's date as year-month-day, in UTC.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// Formats the date this many days after 1 January 1970.
fn date(mut days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        let known = [(0, "1970-01-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"), (20_088, "2024-12-31")];
        for (days, expected) in known {
            assert_eq!(date(days), expected);
        }
    }
}
