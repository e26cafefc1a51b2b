//! The exit of the interpreter. After the exit has begun, a thread that attaches to Python is ended
//! or hangs, depending on the version of Python. Therefore no thread of this module attaches from
//! then on.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use pyo3::{prelude::*, types::PyCFunction};

/// True after the interpreter has begun to exit.
static EXITING: AtomicBool = AtomicBool::new(false);
/// The number of threads that are attached to Python, or about to attach, in order to drop a value.
static DROPPING: AtomicUsize = AtomicUsize::new(0);
/// The longest time to wait for other threads. After a fork, the child process has the count of the
/// parent's threads but not the threads themselves.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Registers a function with `atexit`. After Python has called it, [`drop_attached`] leaks its
/// values.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    let exit = PyCFunction::new_closure(py, Some(c"exit"), None, |arguments, _| {
        EXITING.store(true, SeqCst);
        arguments.py().detach(|| {
            let start = Instant::now();
            while DROPPING.load(SeqCst) > 0 && start.elapsed() < LONGEST_WAIT {
                thread::sleep(Duration::from_millis(1));
            }
        });
    })?;
    py.import("atexit")?.call_method1("register", (exit,))?;
    Ok(())
}

/// Drops a value that holds Python objects, on any thread. If the interpreter is exiting, the value
/// is leaked, and its memory is freed when the process ends.
pub(crate) fn drop_attached<T>(value: T) {
    DROPPING.fetch_add(1, SeqCst);
    let value = std::mem::ManuallyDrop::new(value);
    if !EXITING.load(SeqCst) {
        let _ = Python::try_attach(|_| drop(std::mem::ManuallyDrop::into_inner(value)));
    }
    DROPPING.fetch_sub(1, SeqCst);
}
