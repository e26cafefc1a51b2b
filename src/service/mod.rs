//! The compiler as a service: serialized requests in, serialized responses out.
//!
//! [`respond`] answers one request, and [`serve`] a stream of them. The C interface and `stridec
//! serve` call these two functions.

mod answer;
mod frame;
mod language;
mod respond;
mod serve;

pub use frame::FrameError;
pub use respond::respond;
pub use serve::{ServeError, serve};
