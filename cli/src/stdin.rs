//! Standard input, which only one argument of a command line may name.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use super::errors::Failure;

/// True if an argument has already taken standard input.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Returns standard input, for the one argument that reads it.
pub(super) fn take() -> Result<io::Stdin, Failure> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(Failure::invalid(
            "two arguments read standard input, `-`; it can be read once, so give one of them a file",
        ));
    }
    Ok(io::stdin())
}
