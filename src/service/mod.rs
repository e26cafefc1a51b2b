//! The compiler as a service: it takes serialized requests and returns serialized responses.
//!
//! Programs in other languages use this service through the C interface, or through
//! `stridec serve`, which reads requests from standard input and writes responses to standard
//! output. [`respond`] answers one request, and [`serve`] answers a stream of requests. If a
//! request fails, its response contains the error, and the stream continues.
//!
//! Kernels and programs are saved as the messages of responses.
//! [`Program::encode`](crate::program::Program::encode) writes such a message.
//! [`Program::decode`](crate::program::Program::decode) reads it and proves the kernels again.

mod answer;
mod frame;
mod language;
mod nest;
mod respond;
mod saved;
mod serve;

pub use frame::FrameError;
#[cfg(feature = "capi")]
pub(crate) use respond::answer_request;
pub use respond::respond;
pub use serve::{ServeError, serve};

pub use crate::error::SavedError;
