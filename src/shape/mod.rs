//! XLA's description of a tensor: [`ElementType`], [`Shape`] and [`Layout`], with their text and
//! their protos.
//!
//! Shapes come from untrusted files, messages and texts. They are checked once, in this module, so
//! that all other code can rely on them: a [`Shape`] is always valid, regardless of the way in
//! which it was created. In the text `bf16[16,256]{1,0:T(8,128)(2,1)}`, `bf16` is the type, and 16
//! and 256 are the extents. The braces contain the layout: dimension 1 is the most minor, tiles of
//! 8 by 128 elements are contiguous, and so are tiles of 2 by 1 inside them.
//!
//! ```
//! use stridec::shape::Shape;
//! let shape: Shape = "bf16[16,256]{1,0:T(8,128)(2,1)}".parse()?;
//! assert_eq!(Shape::decode(&shape.encode()), Ok(shape));
//! # Ok::<(), stridec::shape::ParseError>(())
//! ```

mod convert;
mod count;
mod dimension_number;
mod element_type;
mod error;
mod field_path;
mod float;
mod layout;
pub(crate) mod limits;
mod padding;
pub(crate) mod queries;
#[allow(clippy::module_inception)]
mod shape;
mod strided;
mod text;
#[cfg(feature = "text-protos")]
mod text_protos;
mod validate;
mod wire;

pub(crate) use count::{Count, width};
pub(crate) use dimension_number::{dimension_number, dimension_numbers, permutation, signed};
pub use element_type::ElementType;
pub use error::ShapeError;
pub use field_path::FieldPath;
pub(crate) use float::FloatFormat;
pub use layout::{
    DimLevelType, Format, Layout, PaddingValue, Sparse, SplitConfig, Tile, TileDimension,
};
pub(crate) use limits::{MAX_DEPTH, MAX_SHAPES, MAX_TILES};
pub use shape::{Dimension, Shape};
pub use strided::StridedShape;
pub(crate) use text::ShapeCursor;
pub use text::{Notation, ParseError, parse_leaf_path};
#[cfg(feature = "text-protos")]
pub use text_protos::{from_json, from_textproto, to_json, to_json_with_zeros, to_textproto};
pub(crate) use wire::decode_unlimited;
pub use wire::{MAX_INPUT_BYTES, decode};

/// The maximum rank of an array.
pub const MAX_RANK: usize = 64;
