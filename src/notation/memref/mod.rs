//! MLIR's `memref`: strides, or the map of a nested tiling.

mod expression;
mod read;
mod write;

pub(super) use read::read;
pub use write::memref;
pub(super) use write::write;
