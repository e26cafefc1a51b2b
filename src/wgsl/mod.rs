//! The kernel and its text.

mod kernel;

pub use kernel::{Binding, CopyRegion, Dispatch, Kernel};
