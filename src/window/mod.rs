//! [`Window`], which maps each element of the destination to an element of the source.

mod slice;
#[allow(clippy::module_inception)]
mod window;

pub use slice::Slice;
pub use window::{Window, WindowDimension, WindowError};
