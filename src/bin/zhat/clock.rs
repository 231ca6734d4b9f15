//! The time that is left of something whose parts are known, but not how long they take.
//!
//! With a share f of the work done in t_f seconds, and now t > t_f seconds into the part that ends at the share g,
//!
//! ```text
//! left = max((1 − f)/f · t_f − (t − t_f), (1 − g)/g · t)
//! ```
//!
//! The first is what the parts before it say, counted down. The second holds when this part takes longer than they said:
//! t is then the least that the share g has taken.

/// Below this share, or this time, nothing is said: too little has been seen.
const LEAST_SHARE: f64 = 0.02;
const LEAST_SECONDS: f64 = 0.5;

/// What was seen so far. Times are seconds on any clock.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    began: f64,
    /// What was done then: a run may go on from where another ended.
    first: f64,
    entered: f64,
    from: f64,
    to: f64,
}

impl Clock {
    /// Something begins, of which this share is done.
    pub fn begin(&mut self, done: f64, now: f64) {
        *self = Self { began: now, first: done, entered: now, from: done, to: done };
    }

    /// A part begins, which takes these shares of the whole.
    pub fn enter(&mut self, from: f64, to: f64, now: f64) {
        (self.from, self.to, self.entered) = (from, to.max(from), now);
    }

    /// Seconds left; `None` as long as too little has been seen.
    pub fn left(&self, now: f64) -> Option<f64> {
        let (before, since) = (self.entered - self.began, now - self.began);
        let (done, end) = (self.from - self.first, self.to - self.first);
        if done < LEAST_SHARE || before < LEAST_SECONDS {
            return None;
        }
        let counted_down = (1.0 - self.from) / done * before - (now - self.entered);
        Some(counted_down.max((1.0 - self.to) / end * since).max(0.0))
    }
}

/// `40 s`, `3 min`, `1 h 20 min`: no finer than it is known.
pub fn rough(seconds: f64) -> String {
    let tens = |value: f64| if value < 10.0 { value.ceil() } else { (value / 5.0).ceil() * 5.0 };
    match seconds {
        s if s < 90.0 => format!("{} s", tens(s)),
        s if s < 5400.0 => format!("{} min", tens(s / 60.0)),
        s => {
            let minutes = (s / 600.0).ceil() * 10.0;
            format!("{} h {} min", (minutes / 60.0).floor(), minutes % 60.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_as_long_as_expected_count_down_to_the_second() {
        let mut clock = Clock::default();
        clock.begin(0.0, 100.0);
        assert_eq!(clock.left(105.0), None);
        // A fifth took 10 seconds.
        clock.enter(0.2, 0.6, 110.0);
        assert_eq!(clock.left(110.0), Some(40.0));
        assert_eq!(clock.left(125.0), Some(25.0));
        clock.enter(0.6, 1.0, 130.0);
        assert!((clock.left(140.0).unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_part_that_takes_longer_moves_the_end_and_never_below_what_it_shows() {
        let mut clock = Clock::default();
        clock.begin(0.0, 0.0);
        clock.enter(0.1, 0.5, 1.0);
        // Expected were 4 seconds for this part and 5 behind it.
        assert!((clock.left(1.0).unwrap() - 9.0).abs() < 1e-9);
        assert!((clock.left(20.0).unwrap() - 20.0).abs() < 1e-9);
        let mut last = 0.0;
        for second in 20..100 {
            let left = clock.left(f64::from(second)).unwrap();
            assert!(left >= last);
            last = left;
        }
    }

    #[test]
    fn what_another_run_did_is_not_taken_for_done_in_no_time() {
        let mut clock = Clock::default();
        clock.begin(0.5, 0.0);
        clock.enter(0.75, 0.8, 10.0);
        assert_eq!(clock.left(10.0), Some(10.0));
    }

    #[test]
    fn the_end_is_the_end() {
        let mut clock = Clock::default();
        clock.begin(0.0, 0.0);
        clock.enter(0.9, 1.0, 9.0);
        assert_eq!(clock.left(30.0), Some(0.0));
    }

    #[test]
    fn times_are_no_finer_than_they_are_known() {
        let shown = [0.0, 0.4, 7.2, 42.0, 89.0, 100.0, 3000.0, 5500.0].map(rough);
        assert_eq!(shown, ["0 s", "1 s", "8 s", "45 s", "90 s", "2 min", "50 min", "1 h 40 min"]);
    }
}
