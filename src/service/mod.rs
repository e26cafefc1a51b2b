//! The compiler as a service: serialized requests in, serialized responses out.
//!
//! Programs in other languages use stridec in this way, through the C interface, or through
//! `stridec serve`, which answers on its standard output. [`respond`] answers one request;
//! [`serve`] answers a stream of them. A request that fails is answered by a message with the
//! error, and the next one is read.

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
