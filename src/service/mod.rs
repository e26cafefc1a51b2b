//! The compiler as a service: serialized requests in, serialized responses out.
//!
//! Programs in other languages use stridec as a service: through the C interface, or through
//! `stridec serve`, which answers on its standard output. [`respond`] answers one request, and
//! [`serve`] answers a stream of requests. If a request fails, the response contains the error, and
//! the stream continues.

mod answer;
mod frame;
mod language;
mod respond;
mod serve;

pub use frame::FrameError;
#[cfg(feature = "capi")]
pub(crate) use respond::answer_request;
pub use respond::respond;
pub use serve::{ServeError, serve};
