//! The compiler as a service: serialized requests in, serialized responses out.
//!
//! Programs in other languages use stridec as a service: through the C interface, or through
//! `stridec serve`, which answers on its standard output. [`respond`] answers one request, and
//! [`serve`] answers a stream of requests. If a request fails, the response contains the error, and
//! the stream continues.
//!
//! The messages of responses also save kernels and programs:
//! [`Program::encode`](crate::program::Program::encode) writes one, and
//! [`Program::decode`](crate::program::Program::decode) reads it and proves its kernels again.

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
