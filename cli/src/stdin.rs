//! Access to standard input, which only one argument of a command line may use.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use super::errors::Failure;

/// True if an argument already uses standard input.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Returns standard input for the first argument that needs it, and a failure for every further
/// argument.
pub(super) fn take() -> Result<io::Stdin, Failure> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(Failure::invalid(
            "two arguments read standard input, `-`; it can be read once, so give one of them a file",
        ));
    }
    Ok(io::stdin())
}
