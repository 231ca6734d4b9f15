//! Progress of long work: a bar on a terminal, lines of a log elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use zhat::host::build::Task;
use zhat::host::input::{WriteError, write_atomically};
use zhat::host::make::{Doing, Step};

use super::clock::{Clock, rough};
use super::output::percent;

/// Places of the bar.
const PLACES: f64 = 1000.0;

/// A bar with what is going on and the time left; where standard error is no terminal, lines with the same.
pub struct Progress {
    bar: ProgressBar,
    /// In the place of the bar.
    log: Option<Arc<Mutex<Log>>>,
    /// When it began, and what is known of the time left.
    began: Instant,
    clock: Arc<Mutex<Clock>>,
    /// What the clock runs for.
    whole: Mutex<String>,
}

impl Progress {
    /// Starts a bar on standard error, or a log if that is no terminal.
    pub fn new() -> Self {
        let (began, clock) = (Instant::now(), Arc::new(Mutex::new(Clock::default())));
        let (bar, log) = if std::io::stderr().is_terminal() {
            (bar(began, &clock), None)
        } else {
            (ProgressBar::hidden(), Some(log(began, &clock)))
        };
        Self { bar, log, began, clock, whole: Mutex::default() }
    }

    /// Says what is going on without knowing how long it takes.
    pub fn message(&self, message: &str) {
        self.bar.set_message(message.to_owned());
        self.log(|log, _| message.clone_into(&mut log.stage));
    }

    /// Does something with the log, if there is one, and the seconds since the start.
    fn log(&self, act: impl FnOnce(&mut Log, f64)) {
        if let Some(Ok(mut log)) = self.log.as_ref().map(|log| log.lock()) {
            act(&mut log, self.began.elapsed().as_secs_f64());
        }
    }

    /// Shows a step of building.
    pub fn step(&self, step: Step) {
        self.part("building", &described(&step), step.from.into(), step.to.into());
    }

    /// Says what is going on and how much of it is done.
    pub fn count(&self, what: &str, done: usize, of: usize) {
        let share = |done: usize| done as f64 / of.max(1) as f64;
        self.part(what, what, share(done), share(done + 1).min(1.0));
    }

    /// Says which part of a whole is going on, and from which share of the time to which it is expected to take.
    pub fn part(&self, whole: &str, message: &str, from: f64, to: f64) {
        let now = self.began.elapsed().as_secs_f64();
        // A lock fails only if its holder panicked: then there is nothing to show.
        let (Ok(mut clock), Ok(mut current)) = (self.clock.lock(), self.whole.lock()) else { return };
        if *current != whole {
            whole.clone_into(&mut current);
            clock.begin(from, now);
        }
        clock.enter(from, to, now);
        drop(clock);
        self.bar.set_message(message.to_owned());
        self.bar.set_position((PLACES * from) as u64);
        self.log(|log, _| log.stage = if whole == message { whole.into() } else { format!("{whole}: {message}") });
    }

    /// Removes the bar, or ends the log.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        self.log(|log, _| log.stage.clear());
    }
}

/// What was said of the work on a standard error that is no terminal. Times are seconds since the start.
#[derive(Debug, Default)]
struct Log {
    /// What is going on; empty when nothing is.
    stage: String,
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
    fn line(&mut self, now: f64, left: Option<f64>) -> Option<String> {
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
        let left = left.map_or(String::new(), |left| format!(", about {} left", rough(left)));
        Some(format!("zhat: {time} {}{left}", self.stage))
    }
}

/// A log and a thread that prints its lines, until nobody has the log any more.
fn log(began: Instant, clock: &Arc<Mutex<Clock>>) -> Arc<Mutex<Log>> {
    let log = Arc::new(Mutex::new(Log::default()));
    let (weak, clock) = (Arc::downgrade(&log), Arc::clone(clock));
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let Some(log) = weak.upgrade() else { return };
            let now = began.elapsed().as_secs_f64();
            let left = clock.lock().ok().and_then(|clock| clock.left(now));
            // A lock fails only if its holder panicked: then there is nothing to show.
            if let Some(line) = log.lock().ok().and_then(|mut log| log.line(now, left)) {
                eprintln!("{line}");
            }
        }
    });
    log
}

fn bar(began: Instant, clock: &Arc<Mutex<Clock>>) -> ProgressBar {
    let clock = Arc::clone(clock);
    let left = move |_: &ProgressState, text: &mut dyn Write| {
        let left = clock.lock().ok().and_then(|clock| clock.left(began.elapsed().as_secs_f64()));
        let _ = left.map_or(Ok(()), |left| write!(text, ", about {} left", rough(left)));
    };
    let style = ProgressStyle::with_template("{spinner} {msg:38} [{bar:24}] {elapsed_precise}{left}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(PLACES as u64);
    bar.set_style(style.with_key("left", left).progress_chars("=> "));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Returns what is done in a step of building.
pub fn described(step: &Step) -> String {
    match step.doing {
        Doing::Temperature => "fitting the temperature".into(),
        Doing::Build(task) => named(task),
        Doing::Smaller(plan, task) => {
            let linked = percent(plan.linked);
            format!("leaf {}, {} links at {linked} of the rows: {}", plan.leaf, plan.links, named(task))
        }
        Doing::Work(work, task) => format!("work {:.1} %: {}", work * 100.0, named(task)),
        _ => "measuring".into(),
    }
}

fn named(task: Task) -> String {
    match task {
        Task::Quantise => "quantising".into(),
        Task::Teach => "learning from the queries".into(),
        Task::Try(at, of) => format!("trying settings {at} of {of}"),
        Task::Prove => "measuring intervals".into(),
        _ => "building the index".into(),
    }
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
            Some((second, log.line(second.into(), None)?))
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
    fn a_line_says_the_time_and_what_is_left() {
        let mut log = Log { stage: "building: measuring".into(), ..Log::default() };
        assert_eq!(
            log.line(3_725.9, Some(42.0)).as_deref(),
            Some("zhat: 01:02:05 building: measuring, about 45 s left")
        );
        // Nothing more once it has ended.
        log.stage.clear();
        assert_eq!(log.line(9_999.0, None), None);
    }

    /// The calls that commands make; the bar is hidden where tests run.
    #[test]
    fn what_commands_say_is_what_the_log_shows() {
        let progress = Progress::new();
        let stage = || progress.log.as_ref().map(|log| log.lock().expect("no panic").stage.clone());
        if stage().is_none() {
            return; // On a terminal.
        }
        progress.message("reading");
        assert_eq!(stage().as_deref(), Some("reading"));
        progress.part("building", "measuring intervals", 0.2, 0.4);
        assert_eq!(stage().as_deref(), Some("building: measuring intervals"));
        progress.count("comparing", 3, 10);
        assert_eq!(stage().as_deref(), Some("comparing"));
        progress.finish();
        assert_eq!(stage().as_deref(), Some(""));
    }
}
