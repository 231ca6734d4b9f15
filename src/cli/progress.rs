//! Progress of long work: a bar on a terminal, nothing elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use zhat::host::build::Task;
use zhat::host::io::{WriteError, write_atomically};
use zhat::host::make::{Doing, Step};

use super::clock::{Clock, rough};
use super::output::percent;

/// Places of the bar.
const PLACES: f64 = 1000.0;

/// A bar with what is going on and the time left.
pub struct Progress {
    bar: ProgressBar,
    /// When it began, and what is known of the time left.
    began: Instant,
    clock: Arc<Mutex<Clock>>,
    /// What the clock runs for.
    whole: Mutex<String>,
}

impl Progress {
    /// A bar on standard error, if that is a terminal.
    pub fn new() -> Self {
        let (began, clock) = (Instant::now(), Arc::new(Mutex::new(Clock::default())));
        let bar = if std::io::stderr().is_terminal() { bar(began, &clock) } else { ProgressBar::hidden() };
        Self { bar, began, clock, whole: Mutex::default() }
    }

    /// Says what is going on without knowing how long it takes.
    pub fn message(&self, message: &str) {
        self.bar.set_message(message.to_owned());
    }

    /// Shows a step of building.
    pub fn step(&self, step: Step) {
        let message = match step.doing {
            Doing::Temperature => "fitting the temperature".into(),
            Doing::Build(task) => named(task),
            Doing::Smaller(plan, task) => {
                let linked = percent(plan.linked);
                format!("leaf {}, {} links at {linked} of the rows: {}", plan.leaf, plan.links, named(task))
            }
            Doing::Work(work, task) => format!("work {:.1} %: {}", work * 100.0, named(task)),
            _ => "measuring".into(),
        };
        self.part("building", &message, step.from.into(), step.to.into());
    }

    /// Says what is going on and how much of it is done.
    pub fn count(&self, what: &str, done: usize, of: usize) {
        let share = |done: usize| done as f64 / of.max(1) as f64;
        self.part(what, what, share(done), share(done + 1).min(1.0));
    }

    /// Says which part of a whole is going on, and from which share of the time to which it is expected to take.
    pub fn part(&self, whole: &str, message: &str, from: f64, to: f64) {
        if self.bar.is_hidden() {
            return;
        }
        let now = self.began.elapsed().as_secs_f64();
        // A lock fails only if its holder panicked: then there is nothing to show.
        let (Ok(mut clock), Ok(mut current)) = (self.clock.lock(), self.whole.lock()) else { return };
        if *current != whole {
            whole.clone_into(&mut current);
            clock.begin(from, now);
        }
        clock.enter(from, to, now);
        drop(clock);
        self.message(message);
        self.bar.set_position((PLACES * from) as u64);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
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
