//! The end of the interpreter. A thread that attaches to Python after it has begun is ended, or
//! hangs: that depends on the version of Python. So nothing here attaches from then on.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use pyo3::{prelude::*, types::PyCFunction};

/// True from the moment at which the interpreter begins to exit.
static EXITING: AtomicBool = AtomicBool::new(false);
/// The number of threads that are attached, or are about to attach, to drop a value.
static DROPPING: AtomicUsize = AtomicUsize::new(0);
/// The longest wait for other threads. A child process inherits the count by a fork, but not the
/// threads.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Registers a function with `atexit` that makes [`drop_attached`] leak its values from then on.
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
/// is leaked: its memory ends with the process.
pub(crate) fn drop_attached<T>(value: T) {
    DROPPING.fetch_add(1, SeqCst);
    let value = std::mem::ManuallyDrop::new(value);
    if !EXITING.load(SeqCst) {
        let _ = Python::try_attach(|_| drop(std::mem::ManuallyDrop::into_inner(value)));
    }
    DROPPING.fetch_sub(1, SeqCst);
}
