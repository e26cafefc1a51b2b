//! The map from the elements of a destination to the elements of the source that are copied there.
//!
//! A [`Window`] maps indices to indices and is independent of memory layouts. For a relayout, it
//! maps each index to itself; for a slice, it adds a start and a step in each dimension. The
//! layouts of source and destination are described in [`stride`](crate::stride).

mod slice;
#[allow(clippy::module_inception)]
mod window;

pub use slice::Slice;
pub use window::{Window, WindowDimension, WindowError};
