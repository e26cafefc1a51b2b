//! Plans and runs a reshard from any sharding of an array to any other.
//!
//! [`plan`] lists the regions that devices send to each other. It is a pure function of the two
//! placements, so every device computes the same plan without communication. [`rank_plan`] computes
//! the part of one device, in time proportional to that part. [`simulate`] runs a plan with all
//! devices in one process. Other transports implement [`Engine`].
//!
//! ```
//! use stridec::{reshard::plan, shape::Shape, sharding::Sharding};
//! let shape: Shape = "f32[8192,16384]".parse()?;
//! let rows: Sharding = "{devices=[4,1]<=[4]}".parse()?;
//! let columns: Sharding = "{devices=[1,4]<=[4]}".parse()?;
//! let plan = plan(&shape, &rows.place(&shape, None)?, &columns.place(&shape, None)?)?;
//! assert_eq!(plan.transfers().len(), 12);
//! assert_eq!(plan.transfers()[0].region.to_string(), "[0,2048)×[4096,8192)");
//! assert_eq!(plan.cost(), plan.bounds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who sends each element
//!
//! The tiles of a sharding form a grid, so the overlap of a source tile with the destination's
//! tiles is found one dimension at a time. No pair of devices without a common element is looked
//! at, and no single element. With a cyclic sharding, a region has several ranges in a dimension;
//! it is still one transfer. Elements that a device needs and already has are a copy. All others
//! come from one of the holders of their tile. So the total bytes, and the bytes that each device
//! receives, are the minimum for a plan without forwarding.
//!
//! The destinations of a tile are ordered by tile of the destination, row-major, then by holder.
//! The elements that they need form a sequence of `D` elements, of which each of the `h` holders
//! sends an equal share of `⌈D / h⌉`. A box across the end of a share is split. If the end of a
//! share lies within 1/200 of a share from the edge of a box, or of rows of a box, it moves to that
//! edge, so that most boxes stay whole. The busiest sender is within 1% of its bound.

mod bounds;
mod destinations;
mod engine;
mod error;
mod grid;
mod member;
mod message;
mod offsets;
mod plan;
mod proto;
mod rank;
mod runs;
mod shards;
mod simulate;
mod split;
mod staging;

pub use bounds::Cost;
pub use engine::{Engine, RunError};
pub use error::ReshardError;
pub use member::Member;
pub use plan::{MAX_DEVICES, ReshardPlan, Transfer, plan};
pub use rank::{RankPlan, rank_plan};
pub use runs::Runs;
pub use shards::Shards;
pub use simulate::simulate;
pub use staging::{Round, rounds};
