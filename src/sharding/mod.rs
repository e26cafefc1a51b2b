//! Shardings: which part of an array lies on which device.
//!
//! A [`Sharding`] is valid by construction, whether it comes from an `xla.OpSharding`, from XLA's or Shardy's text, or from
//! boxes. It prints as XLA prints it:
//!
//! ```
//! use stridec::{shape::Shape, sharding::Sharding};
//! let columns_first: Sharding = "{devices=[4]<=[2,1,2]T(2,1,0)}".parse()?;
//! assert_eq!(columns_first.to_string(), "{devices=[4]<=[2,2]T(1,0)}");
//!
//! let named: Sharding = "{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}".parse()?;
//! let shape: Shape = "f32[12,30]".parse()?;
//! let placement = named.place(&shape, None)?;
//! assert_eq!(placement.tile_shape(), [6, 8]);
//! assert_eq!(placement.tile(7).unwrap().to_string(), "[6,12)×[24,30)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A dimension of size `d` in `t` tiles has tiles of `s = ⌈d / t⌉`, and tile `i` is `[min(i·s, d), min((i+1)·s, d))`: the last
//! tile that has elements may be partial, and those after it are empty. So XLA places them (`TileOffsetForDevice` and
//! `TileLimitForDevice` in `xla/hlo/ir/hlo_sharding.cc`). Devices are numbers in the order of the device assignment.
//!
//! Blocks may be dealt out to the tiles in turn instead, as `ScaLAPACK` lays a matrix out, which XLA has no notation for: see
//! [`Sharding::cyclic`].
//!
//! Nothing here takes more time or memory than the text or the bytes of a sharding do, whatever the numbers in them; see
//! [`MAX_LISTED_DEVICES`] and [`MAX_RANGES`] for the exceptions.

mod boxes;
mod cuts;
mod digits;
mod error;
mod from_proto;
mod kind;
mod mesh;
mod named;
mod placement;
mod print;
mod ranges;
mod region;
mod text;
mod tile_box;
mod tiling;
mod to_proto;

pub use error::ShardingError;
pub use kind::{NotWhole, Sharding};
pub(crate) use placement::coordinates;
pub use placement::{Holders, Placement};
pub(crate) use ranges::Ranges;
pub use region::Region;
pub use text::parse_shardy;
pub use tile_box::TileBox;

/// How many devices a sharding may have that must be listed one by one although it came as an iota: because its copies
/// are not in an order that a transposition can express.
pub const MAX_LISTED_DEVICES: u64 = 1 << 20;

/// How many ranges of indices the devices of a sharding may have in all, where blocks are dealt out to them.
pub const MAX_RANGES: u64 = 1 << 24;

#[cfg(test)]
mod tests;
