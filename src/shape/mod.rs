//! What a tensor is: [`ElementType`], [`Shape`] and [`Layout`], XLA's notation for them, and the protos.

mod element_type;
mod layout;
#[allow(clippy::module_inception)]
mod shape;
mod shim;

pub use element_type::ElementType;
pub use layout::{
    DimLevelType, Format, Layout, PaddingValue, Sparse, SplitConfig, Tile, TileDimension,
};
pub use shape::{Dimension, Shape, ShapeError};

/// The greatest rank that stridec accepts.
pub const MAX_RANK: usize = 64;
