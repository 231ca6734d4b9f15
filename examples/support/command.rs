//! The common parts of the programs `paper` and `train_lm`: exit status, checks of file names, and progress.

// Neither program uses all of it.
#![allow(dead_code)]

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The reason why a program ended early.
#[derive(Debug)]
pub enum Failure {
    /// It was used wrongly: exit status 2.
    Usage(String),
    /// It failed: exit status 1.
    Failed(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The result of a part of a program.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Prints why a program failed, if it did, and returns its exit status.
pub fn finish(program: &str, result: Outcome) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => {
            eprintln!("{program}: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            eprintln!("{program}: {message}\n\nFor more information, try '--help'.");
            ExitCode::from(2)
        }
    }
}

/// Returns a file's name without its folders.
pub fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// An option and the file that it names.
pub type File<'a> = (&'static str, &'a Path);

/// Returns the file of an option that may be absent.
pub fn given<'a>(option: &'static str, path: &'a Option<impl AsRef<Path>>) -> Option<File<'a>> {
    path.as_ref().map(|path| (option, path.as_ref()))
}

/// Refuses, before any work, to write a file that is read.
pub fn expect_apart<'a>(
    outputs: impl IntoIterator<Item = File<'a>>,
    inputs: impl IntoIterator<Item = File<'a>, IntoIter: Clone>,
) -> Outcome {
    let inputs = inputs.into_iter();
    let is_same = |a: &Path, b: &Path| matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
    for (option, output) in outputs {
        if let Some((other, input)) = inputs.clone().find(|(_, input)| is_same(output, input)) {
            let (output, input) = (output.display(), input.display());
            return Err(Failure::Usage(format!("{option} {output} would overwrite {other} {input}")));
        }
    }
    Ok(())
}

/// The output of a program: results on standard output; on standard error a bar over a known count, or a line for each
/// stage if that is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    stage: Mutex<String>,
    /// Records the results in tests.
    recorded: Option<Mutex<String>>,
}

impl Progress {
    /// Makes a bar without a stage.
    pub fn new() -> Self {
        let bar = if io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{spinner} {msg:38} [{bar:24}] {pos} of {len}, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, stage: Mutex::default(), recorded: None }
    }

    /// Removes the bar and writes a result. A reader that stops early (`| head`) is not a failure.
    pub fn print(&self, text: &str) -> Outcome {
        self.bar.finish_and_clear();
        if let Some(Ok(mut recorded)) = self.recorded.as_ref().map(Mutex::lock) {
            recorded.push_str(text);
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Begins a stage of unknown length.
    pub fn stage(&self, stage: &str) {
        self.count(stage, 0, 0);
    }

    /// Shows the progress of a stage.
    pub fn count(&self, stage: &str, done: usize, of: usize) {
        // A lock fails only if its holder panicked; then there is nothing to show.
        let Ok(mut current) = self.stage.lock() else { return };
        if *current != stage {
            stage.clone_into(&mut current);
            self.bar.reset_elapsed();
            self.bar.set_message(stage.to_owned());
            if self.bar.is_hidden() {
                eprintln!("{stage}");
            }
        }
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
    }

    /// Shows the intermediate result of a stage, beside the bar.
    pub fn message(&self, message: &str) {
        self.bar.set_message(message.to_owned());
    }

    /// Prints a line above the bar.
    pub fn line(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Runs a program, and returns its output.
#[cfg(test)]
pub fn printed(run: impl FnOnce(&Progress) -> Outcome) -> Outcome<String> {
    let progress = Progress { bar: ProgressBar::hidden(), stage: Mutex::default(), recorded: Some(Mutex::default()) };
    run(&progress)?;
    Ok(progress.recorded.unwrap().into_inner().unwrap())
}

/// A folder in which tests run a program.
#[cfg(test)]
pub struct Folder(tempfile::TempDir);

#[cfg(test)]
impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Splits a command line into words, after a program name; `@` stands for this folder.
    pub fn arguments(&self, line: &str) -> Vec<String> {
        let folder = format!("{}/", self.0.path().display());
        ["program"].into_iter().chain(line.split_whitespace()).map(|word| word.replace('@', &folder)).collect()
    }

    /// Returns the exit status and the message of a failed run, without the path of this folder.
    pub fn failure(&self, result: Outcome<String>) -> (i32, String) {
        let (status, message) = match result.expect_err("the command has to fail") {
            Failure::Failed(message) => (1, message),
            Failure::Usage(message) => (2, message),
        };
        (status, message.replace(&format!("{}/", self.0.path().display()), ""))
    }
}
