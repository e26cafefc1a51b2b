//! Standard input, which only one argument of a command line may name.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use super::errors::Failure;

/// True if an argument has taken standard input already.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Returns standard input, or a failure if another argument has taken it already.
pub(super) fn take() -> Result<io::Stdin, Failure> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(Failure::invalid(
            "two arguments read standard input, `-`; it can be read once, so give one of them a file",
        ));
    }
    Ok(io::stdin())
}
