//! Progress of long work: a bar on a terminal, nothing elsewhere.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use zhat::host::build::Stage;
use zhat::host::io::{WriteError, write_atomically};
use zhat::host::make::Step;

/// A bar with the stage and the time left.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar on standard error, if that is a terminal.
    pub fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{spinner} {msg:38} [{bar:24}] {elapsed} (left: {eta})")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Says what is going on without knowing how long it takes.
    pub fn message(&self, message: &str) {
        self.0.set_message(message.to_owned());
    }

    /// Shows a step of building.
    pub fn step(&self, step: Step) {
        match step {
            Step::Temperature => self.message("fitting the temperature"),
            Step::Build(stage) => self.stage("", stage),
            Step::Smaller(plan, stage) => {
                self.stage(&format!("leaf {}, {} links: ", plan.leaf, plan.links), stage);
            }
            Step::Work(work, stage) => self.stage(&format!("work {:.1} %: ", work * 100.0), stage),
            _ => self.message("measuring"),
        }
    }

    fn stage(&self, prefix: &str, stage: Stage) {
        match stage {
            Stage::Quantise => {
                self.0.set_position(0);
                self.message(&format!("{prefix}quantising"));
            }
            Stage::Try(at, of) => {
                // The last build with what was chosen is as long as a try.
                self.0.set_length(of as u64 + 1);
                self.0.set_position(at as u64 - 1);
                self.message(&format!("{prefix}trying settings {at} of {of}"));
            }
            _ => {
                self.0.set_position(self.0.length().unwrap_or(1).saturating_sub(1));
                self.message(&format!("{prefix}building the index"));
            }
        }
    }

    /// Says what is going on and how much of it is done.
    pub fn count(&self, what: &str, done: usize, of: usize) {
        // Not for every query: setting the message takes a lock.
        if done <= 1 || self.0.length() != Some(of as u64) {
            self.0.set_length(of as u64);
            self.message(what);
        }
        self.0.set_position(done as u64);
    }

    /// Prints a line above the bar; without a bar, to standard error.
    pub fn line(&self, line: &str) {
        if self.0.is_hidden() {
            eprintln!("{line}");
        } else {
            self.0.println(line);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
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
