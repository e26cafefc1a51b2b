//! Which element of the source each element of the destination is copied from.
//!
//! A [`Window`] knows nothing about memory. It maps indices to indices: to themselves for a
//! relayout, and with a start and a step in each dimension for a slice. Layouts are a separate
//! matter, the descriptor of each side in [`stride`](crate::stride).

mod slice;
#[allow(clippy::module_inception)]
mod window;

pub use slice::Slice;
pub use window::{Window, WindowDimension, WindowError};
