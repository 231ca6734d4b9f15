//! Shows the progress of long work: a stage and a bar over a known count on a terminal, lines of a log elsewhere.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use zhat::host::build::Stage;
use zhat::host::input::{WriteError, write_atomically};
use zhat::host::make::Step;

use super::output::percent;

/// A bar with the stage that is on; where standard error is no terminal, lines with the same.
pub struct Progress {
    bar: ProgressBar,
    /// In the place of the bar.
    log: Option<Arc<Mutex<Log>>>,
}

impl Progress {
    /// Starts a bar on standard error, or a log if that is no terminal.
    pub fn new() -> Self {
        if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{spinner} {msg:48} [{bar:24}] {elapsed_precise}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar.enable_steady_tick(Duration::from_millis(200));
            return Self { bar, log: None };
        }
        Self { bar: ProgressBar::hidden(), log: Some(log(Instant::now())) }
    }

    /// Begins a stage of unknown length.
    pub fn message(&self, stage: &str) {
        self.show(stage.to_owned(), 0, 0);
    }

    /// Shows a step of building.
    pub fn step(&self, step: Step) {
        let (stage, done, of) = described(step);
        self.show(stage, done, of);
    }

    /// Shows how much of a stage is done.
    pub fn count(&self, stage: &str, done: usize, of: usize) {
        self.show(stage.to_owned(), done, of);
    }

    /// Shows which part of a stage is on, and how much of it is done.
    pub fn part(&self, stage: &str, part: &str, done: usize, of: usize) {
        self.show(format!("{stage}: {part}"), done, of);
    }

    fn show(&self, stage: String, done: usize, of: usize) {
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
        // A lock fails only if its holder panicked: then there is nothing to show.
        if let Some(Ok(mut log)) = self.log.as_ref().map(|log| log.lock()) {
            log.stage.clone_from(&stage);
            log.count = (of > 0).then_some((done, of));
        }
        self.bar.set_message(stage);
    }

    /// Removes the bar, or ends the log.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        self.message("");
    }
}

/// Names a step of building, and tells how many of how many parts are done; of none where that is not known.
pub fn described(step: Step) -> (String, usize, usize) {
    let of_build = |whole: &str, stage: Stage| match stage {
        Stage::Try(at, of) => (format!("{whole}: try {at} of {of}"), at - 1, of),
        stage => (format!("{whole}: {}", named(stage)), 0, 0),
    };
    match step {
        Step::Temperature => ("fitting the temperature".into(), 0, 0),
        Step::Build(stage) => of_build("building", stage),
        Step::Smaller(plan, stage) => {
            let linked = percent(plan.linked);
            of_build(&format!("leaf {}, {} links at {linked} of the rows", plan.leaf, plan.links), stage)
        }
        Step::Work { work, at, of, stage } => {
            (format!("work {:.1} %, try {at} of {of}: {}", work * 100.0, named(stage)), at - 1, of)
        }
        _ => ("measuring".into(), 0, 0),
    }
}

fn named(stage: Stage) -> &'static str {
    match stage {
        Stage::Quantise => "quantising",
        Stage::Cluster => "growing trees",
        Stage::Teach => "learning from the queries",
        Stage::Try(..) => "trying settings",
        Stage::Prove => "measuring intervals",
        _ => "the index",
    }
}

/// What was said of the work on a standard error that is no terminal. Times are seconds since the start.
#[derive(Debug, Default)]
struct Log {
    /// What is going on, and how much of how many is done; empty when nothing is.
    stage: String,
    count: Option<(usize, usize)>,
    /// What the last line said that was going on, and when.
    shown: String,
    last: f64,
}

impl Log {
    /// Work that takes less than this long is not worth a line.
    const SHORT: f64 = 2.0;
    /// Between the lines of stages that follow each other quickly.
    const APART: f64 = 5.0;
    /// No longer without a line.
    const SILENCE: f64 = 30.0;

    /// Returns the next line, if it is time for one: for a new stage, or because there was none for long.
    fn line(&mut self, now: f64) -> Option<String> {
        let wait = match () {
            () if self.stage == self.shown => Self::SILENCE,
            () if self.shown.is_empty() => Self::SHORT,
            () => Self::APART,
        };
        if self.stage.is_empty() || now - self.last < wait {
            return None;
        }
        self.last = now;
        self.stage.clone_into(&mut self.shown);
        let seconds = now as u64;
        let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let done = self.count.map_or(String::new(), |(done, of)| format!(" ({} %)", 100 * done / of));
        Some(format!("zhat: {time} {}{done}", self.stage))
    }
}

/// Starts a log and a thread that prints its lines, until nobody has the log any more.
fn log(began: Instant) -> Arc<Mutex<Log>> {
    let log = Arc::new(Mutex::new(Log::default()));
    let weak = Arc::downgrade(&log);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let Some(log) = weak.upgrade() else { return };
            // A lock fails only if its holder panicked: then there is nothing to show.
            if let Some(line) = log.lock().ok().and_then(|mut log| log.line(began.elapsed().as_secs_f64())) {
                eprintln!("{line}");
            }
        }
    });
    log
}

/// Held while a file is being put in its place: an interrupt waits for it.
static WRITING: Mutex<()> = Mutex::new(());

/// From now on an interrupt says that `path` is as it was, and ends with a status of 1.
pub fn on_interrupt(path: &Path) {
    let shown = path.display().to_string();
    // Without a handler an interrupt ends the program as well, only silently.
    let _ = ctrlc::set_handler(move || {
        let _guard = WRITING.lock();
        eprintln!("\nzhat: interrupted: {shown} is as it was");
        std::process::exit(1);
    });
}

/// Writes a file in one step that no interrupt can cut.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let _guard = WRITING.lock();
    write_atomically(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a log that is asked every second, with the seconds at which they came.
    fn lines(log: &mut Log, seconds: std::ops::Range<u32>, stage: impl Fn(u32) -> String) -> Vec<(u32, String)> {
        let line = |second: u32| {
            log.stage = stage(second);
            Some((second, log.line(second.into())?))
        };
        seconds.filter_map(line).collect()
    }

    #[test]
    fn a_stage_that_takes_long_has_a_line_at_least_every_half_minute() {
        let found = lines(&mut Log::default(), 0..1200, |second| format!("building: part {}", second / 500));
        let mut last = 0;
        for (second, line) in &found {
            assert!(second - last <= 30, "nothing between {last} s and {second} s");
            assert!(line.starts_with("zhat: 00:") && !line.contains(char::is_control), "{line:?}");
            last = *second;
        }
        assert!(last >= 1170);
        // Each stage has its line soon after it begins.
        for (second, part) in [(2, 0), (500, 1), (1000, 2)] {
            let soon = found.iter().find(|(at, _)| *at >= second).expect("a line");
            assert!(soon.0 <= second + 5 && soon.1.ends_with(&format!("building: part {part}")), "{soon:?}");
        }
    }

    #[test]
    fn stages_that_follow_each_other_quickly_share_lines_and_short_work_has_none() {
        let found = lines(&mut Log::default(), 0..100, |second| format!("tuning: {second}"));
        assert!((15..=21).contains(&found.len()), "{found:?}");
        assert_eq!(lines(&mut Log::default(), 0..2, |_| "reading".into()), []);
        assert_eq!(lines(&mut Log::default(), 0..100, |_| String::new()), []);
    }

    #[test]
    fn a_line_says_the_time_and_what_is_done() {
        let mut log = Log { stage: "building: try 3 of 5".into(), count: Some((2, 5)), ..Log::default() };
        assert_eq!(log.line(3_725.9).as_deref(), Some("zhat: 01:02:05 building: try 3 of 5 (40 %)"));
        // Nothing more once it has ended.
        log.stage.clear();
        assert_eq!(log.line(9_999.0), None);
    }

    /// The calls that commands make; the bar is hidden where tests run.
    #[test]
    fn what_commands_say_is_what_the_log_shows() {
        let progress = Progress::new();
        let shown =
            || progress.log.as_ref().map(|log| log.lock().map(|log| (log.stage.clone(), log.count)).expect("no panic"));
        if shown().is_none() {
            return; // On a terminal.
        }
        let is_shown = |stage: &str, count| assert_eq!(shown(), Some((stage.to_owned(), count)));
        progress.message("reading");
        is_shown("reading", None);
        progress.step(Step::Build(Stage::Try(2, 5)));
        is_shown("building: try 2 of 5", Some((1, 5)));
        progress.step(Step::Build(Stage::Prove));
        is_shown("building: measuring intervals", None);
        progress.step(Step::Work { work: 0.04, at: 3, of: 5, stage: Stage::Finish });
        is_shown("work 4.0 %, try 3 of 5: the index", Some((2, 5)));
        progress.count("comparing", 3, 10);
        is_shown("comparing", Some((3, 10)));
        progress.finish();
        is_shown("", None);
    }
}
