//! `stridec serve`: answers a stream of requests on stdin with a stream of responses on stdout.

use std::io;

use stridec::service::{self, ServeError};

use super::errors::{Exit, Failure};

pub(super) fn serve() -> Result<(), Failure> {
    // Do not add buffers here, because `serve` has its own and flushes them when no other answer is
    // ready.
    match service::serve(io::stdin(), io::stdout().lock()) {
        Ok(_) => Ok(()),
        Err(error @ ServeError::Framing { .. }) => Err(Failure::invalid(error.to_string())),
        Err(error) => Err(Failure::new(Exit::Failed, error.to_string())),
    }
}
