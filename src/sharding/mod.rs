//! Shardings: the assignment of the parts of an array to devices.
//!
//! A large array is often divided among devices, and frameworks describe the division in different
//! forms. A [`Sharding`] is built from an `xla.OpSharding`, from XLA's or Shardy's text, or from a
//! box for each device. Applied to a shape, a sharding gives a [`Placement`], the indices on each
//! device. From two placements, [`reshard`](crate::reshard) plans the messages that change one into
//! the other. A sharding is valid by construction, and prints in XLA's notation:
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
//! In this module, a *tile* is the part of an array that lies on one device; the tiles of a layout
//! are unrelated. A dimension of size `d` that is divided into `t` tiles has tiles of `s = ⌈d / t⌉`
//! coordinates, and tile `i` is `[min(i·s, d), min((i+1)·s, d))`. For example, 30 columns over 4
//! devices are divided into 8, 8, 8 and 6. The last nonempty tile may therefore be partial, and any
//! tiles after it are empty. This is XLA's rule (`TileOffsetForDevice` and `TileLimitForDevice` in
//! `xla/hlo/ir/hlo_sharding.cc`). Devices are numbered in the order of the device assignment.
//!
//! A cyclic sharding cuts the array into blocks and assigns them to the tiles round-robin, as
//! `ScaLAPACK` does; see [`Sharding::cyclic`]. A sharding may also list the part of each device,
//! with several ranges in each dimension; see [`Sharding::regions`]. XLA has no notation for these
//! two kinds of shardings.
//!
//! The time and memory for a sharding are limited by the length of its text or bytes, regardless of
//! the numbers in it. There are two exceptions. If a sharding needs a list of devices, the list has
//! at most 2^20 entries. In a cyclic sharding, or in one that lists parts, all devices together
//! have at most 2^24 ranges of indices.

mod cuts;
mod device_regions;
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
pub use placement::Placement;
pub(crate) use placement::{Holders, coordinates};
pub(crate) use ranges::Ranges;
pub use region::Region;
pub use text::parse_shardy;
pub use tile_box::TileBox;

/// The maximum length of a list of devices to which an iota is expanded. An iota is a sequence of
/// device ids that is reshaped and transposed. It must be expanded to a list if no transposition
/// expresses the canonical order of the devices.
pub(crate) const MAX_LISTED_DEVICES: u64 = 1 << 20;

/// The maximum total number of index ranges on all devices, in a cyclic sharding or in one that
/// lists parts. This limits the memory and the time of the planner.
pub(crate) const MAX_RANGES: u64 = 1 << 24;

#[cfg(test)]
mod tests;
