//! Long work beside the interpreter: on threads of its own, without the GIL, shown, and ended by Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Between two looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// The share of the time before a step, that up to its end, and what is done in it.
type Step = (String, usize, usize);

/// Tells what is going on, and ends the work where nobody waits for it any more.
pub struct Watch {
    steps: Sender<Step>,
    is_cancelled: Arc<AtomicBool>,
}

/// The panic payload that ends the work after Ctrl-C: not a panic, so nothing is printed.
struct Cancelled;

impl Watch {
    /// Says what is done, and how many of how many parts of it are finished; of none where that is not known. It does not
    /// return after Ctrl-C.
    pub fn step(&self, what: &str, done: usize, of: usize) {
        if self.is_cancelled.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Cancelled));
        }
        // Nobody listens if the work is no longer waited for.
        let _ = self.steps.send((what.to_owned(), done, of));
    }
}

/// Does work on the pool and waits for it. `progress` is called with each step, here, and Ctrl-C raises KeyboardInterrupt at
/// once; the work itself ends at its next step.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let pool = pool()?;
    let (steps, shown) = channel();
    // One thread uses it at a time; the lock is how the compiler knows.
    let shown = Mutex::new(shown);
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let watch = Watch { steps, is_cancelled: is_cancelled.clone() };
    let (done, outcome) = channel();
    std::thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&watch))));
        let _ = done.send(result);
        // Only now: the end of the steps is the end of the work.
        drop(watch);
    });
    let waited = follow(py, progress, &shown);
    if waited.is_err() {
        is_cancelled.store(true, Ordering::Relaxed);
        waited?;
    }
    match outcome.recv() {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(panic)) => Err(panicked(&panic)),
        Err(_) => Err(PyRuntimeError::new_err("the work ended without a result")),
    }
}

/// Shows steps until the last one.
fn follow(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, steps: &Mutex<Receiver<Step>>) -> PyResult<()> {
    loop {
        let next = py.detach(|| steps.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE));
        py.check_signals()?;
        match (next, progress) {
            (Ok(step), Some(progress)) => drop(progress.call1(step)?),
            (Err(RecvTimeoutError::Disconnected), _) => return Ok(()),
            _ => {}
        }
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    PyRuntimeError::new_err(format!("an error in zhat itself: {}", message.unwrap_or("unknown")))
}

/// The threads that queries are answered on, and the process that they are of.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Returns threads for all cores, as many as RAYON_NUM_THREADS says if it is set. A process that was forked has none of its
/// parent's, and gets its own.
pub fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*kept {
        Some((process, pool)) if *process == std::process::id() => Ok(pool.clone()),
        _ => {
            let pool = ThreadPoolBuilder::new().build().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let pool = Arc::new(pool);
            if let Some((_, parents)) = kept.replace((std::process::id(), pool.clone())) {
                // Dropping it would wait for threads that are not in this process.
                std::mem::forget(parents);
            }
            Ok(pool)
        }
    }
}
