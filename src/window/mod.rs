//! Windows, which say which element of a source is copied to each element of a destination.
//!
//! A [`Window`] maps the indices of the destination to indices of the source, and is independent of
//! memory layouts. In a relayout, each index is mapped to itself. In a slice, there is a start and
//! a step for each dimension. The layouts of source and destination are described in
//! [`stride`](crate::stride).

mod slice;
#[allow(clippy::module_inception)]
mod window;

pub use slice::Slice;
pub use window::{Window, WindowDimension, WindowError};
