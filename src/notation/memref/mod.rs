//! MLIR's `memref`, with strides, or with an affine map for tiles.

mod expression;
mod read;
mod write;

pub(super) use read::read;
pub use write::memref;
pub(super) use write::write;
