//! The compiler as a service, which answers serialized requests with serialized responses.
//!
//! [`respond`] answers a single request; [`serve`] answers a stream of requests. The C interface
//! and `stridec serve` call these functions.

mod answer;
mod frame;
mod language;
mod respond;
mod serve;

pub use frame::FrameError;
pub use respond::respond;
pub use serve::{ServeError, serve};
