//! [`Window`]: the logical mapping between the elements of source and destination.

mod slice;
#[allow(clippy::module_inception)]
mod window;

pub use slice::Slice;
pub use window::{Window, WindowDimension, WindowError};
